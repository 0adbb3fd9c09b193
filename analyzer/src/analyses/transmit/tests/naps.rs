//! A program that sleeps for a time of its own when its socket takes no more.

use crate::analyses::transmit::Naps;
use crate::analyses::transmit::naps::naps;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::transmit::RefusedSend;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};

const MS: i64 = 1_000_000;

/// Each half second a send, acknowledged `acked` ms later, and one right behind it that is refused; the next comes after 500 ms, in this call.
fn facts(acked: i64, call: &str) -> Facts {
    let mut f = Facts::empty();
    f.capture.start_ns = Some(0);
    f.connections = vec![crate::testing::tcp::connection(0)];
    f.connections[0].task = Name::new(b"tv");
    for n in 0..4 {
        let at = (1_000 + 501 * n) * MS;
        f.tx.push(TxRow {
            connection: Some(ConnectionId(0)),
            kind: TxKind::Tcp,
            start_ns: at,
            t_ack_ns: Some(at + acked * MS),
            ..crate::testing::sent()
        });
        f.refused_sends.push(RefusedSend {
            connection: ConnectionId(0),
            pid: 7,
            at_ns: at + MS,
            next_ns: at + 501 * MS,
            slept: (Name::new(call.as_bytes()), 500 * MS),
        });
    }
    f
}

#[test]
fn who_sleeps_while_there_is_room_is_told() {
    let expect = Naps {
        task: "tv/7".into(),
        connection: 0,
        label: crate::analyses::tcp::label(&crate::testing::tcp::connection(0)),
        call: "clock_nanosleep".into(),
        times: 4,
        p50_ns: 500 * MS,
        acked_p50_ns: 40 * MS,
        idle_ns: 4 * 460 * MS,
        within_ns: (1_001 * MS, (1_000 + 501 * 4) * MS),
    };
    assert_eq!(naps(&facts(41, "clock_nanosleep")), Some(expect));
    // The path, or the peer, takes most of that time.
    assert_eq!(naps(&facts(300, "clock_nanosleep")), None);
    // It waits until there is room.
    assert_eq!(naps(&facts(41, "epoll_wait")), None);
    // Never acknowledged.
    let mut f = facts(41, "clock_nanosleep");
    f.tx[0].t_ack_ns = None;
    assert_eq!(naps(&f), None);
    // Of what it sends nothing was ever seen to leave, as where its window was closed before.
    let mut f = facts(41, "clock_nanosleep");
    f.tx.clear();
    assert_eq!(naps(&f), None);
    f = facts(41, "clock_nanosleep");
    f.tx[0].kind = TxKind::TcpUnknown;
    f.tx[0].t_ack_ns = None;
    assert_eq!(naps(&f), None);
    // Twice is no habit.
    let mut f = facts(41, "clock_nanosleep");
    f.refused_sends.truncate(2);
    assert_eq!(naps(&f), None);
}
