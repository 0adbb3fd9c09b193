//! Connections that something on the way forgot while they were idle.

use super::MS;
use crate::analyses::application::gone_idle::gone_idle;
use crate::analyses::application::{GoneIdle, Unanswered};
use crate::analyses::drops::Forgotten;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::tcp::states::{FIN_WAIT1, SYN_SENT};
use crate::reconstruct::transmit::tables::{TxEnd, TxRow};
use crate::testing::tcp::state;

/// Of eight connections to 10.0.0.2:6379 four are used each 300 ms; the other four at 100 ms, and in vain after `silence`.
fn facts(silence: i64) -> (Facts, Vec<Unanswered>) {
    let mut f = Facts::empty();
    f.capture.start_ns = Some(0);
    let sent = |c: u32, at: i64, acked: bool| TxRow {
        connection: Some(ConnectionId(c)),
        start_ns: at * MS,
        t_ack_ns: acked.then_some((at + 1) * MS),
        end: if acked { TxEnd::Acked } else { TxEnd::Open },
        ..crate::testing::sent()
    };
    let mut vain = vec![];
    for c in 0..8u32 {
        let mut row = crate::testing::tcp::connection(c);
        (row.sport, row.dport, row.daddr) = (40_000 + c as u16, 6379, Some([10, 0, 0, 2].into()));
        f.connections.push(row);
        if c < 4 {
            f.tx.extend((0..25).map(|n| sent(c, n * 300, true)));
            continue;
        }
        f.tx.extend([sent(c, 100, true), sent(c, 100 + silence, false)]);
        vain.push(Unanswered {
            connection: c,
            label: format!("10.0.0.1:{} > 10.0.0.2:6379", 40_000 + c),
            task: "pool".into(),
            send_ns: (100 + silence) * MS,
            waited_ns: 2500 * MS,
            until: "closed",
            retransmits: 5,
            others: true,
            patient: false,
            held: None,
            stream: false,
        });
    }
    (f, vain)
}

#[test]
fn what_is_not_acknowledged_after_a_silence_alone() {
    let (f, vain) = facts(5500);
    let expect = GoneIdle {
        to: "10.0.0.2:6379".into(),
        silence: Forgotten {
            connections: 4,
            silent_least_ns: 5500 * MS,
            passed_most_ns: 300 * MS,
        },
    };
    assert_eq!(gone_idle(&f, &vain), Some(expect));
    // Nothing came from there since: its host is gone.
    let (mut f, vain) = facts(5500);
    f.tx.retain(|t| t.start_ns < 5600 * MS || t.t_ack_ns.is_none());
    assert_eq!(gone_idle(&f, &vain), None);
    // Nor is a tenth longer than what passed a time-out of something on the way.
    let (mut f, vain) = facts(1000);
    f.tx.retain(|t| t.connection >= Some(ConnectionId(4)) || t.start_ns % (900 * MS) == 0);
    assert_eq!(gone_idle(&f, &vain), None);
    // A busy one is hit, too: loss. The server closed, or acknowledged: no loss at all.
    let (mut f, mut vain) = facts(5500);
    let mut busy = vain[0].clone();
    (busy.connection, busy.send_ns) = (0, 4200 * MS);
    vain.push(busy);
    f.tx.iter_mut()
        .filter(|t| t.start_ns == 4200 * MS)
        .for_each(|t| t.t_ack_ns = None);
    assert_eq!(gone_idle(&f, &vain), None);
    for change in [
        |u: &mut Unanswered| u.until = "peer_closed",
        |u: &mut Unanswered| u.retransmits = 0,
    ] {
        let (f, mut vain) = facts(5500);
        vain.iter_mut().for_each(change);
        assert_eq!(gone_idle(&f, &vain), None);
    }
    // No longer than others are silent.
    let (f, vain) = facts(250);
    assert_eq!(gone_idle(&f, &vain), None);
}

/// Their program closed them, and their FIN was not acknowledged either: nothing was read from them in the recording.
#[test]
fn what_was_given_up_counts() {
    let closed = |again: u16| {
        let (mut f, _) = facts(5500);
        for c in 0..4 {
            f.tcp_states.push(state(c, SYN_SENT, 0));
        }
        f.tx.retain(|t| t.connection < Some(ConnectionId(4)) || t.start_ns == 5600 * MS);
        for c in 4..8 {
            f.quiet.insert(ConnectionId(c), 100 * MS);
            f.tcp_states.push(state(c, FIN_WAIT1, 7000 * MS));
        }
        for t in f.tx.iter_mut().filter(|t| t.connection >= Some(ConnectionId(4))) {
            (t.retransmits, t.bytes) = (again, Some(100));
        }
        gone_idle(&f, &[])
    };
    let found = closed(5).unwrap();
    assert_eq!(found.to, "10.0.0.2:6379");
    // The list of sockets may be half a second late.
    assert_eq!(
        (found.silence.connections, found.silence.silent_least_ns),
        (4, 5000 * MS)
    );
    // What was sent once may have been answered later.
    assert_eq!(closed(0), None);
}
