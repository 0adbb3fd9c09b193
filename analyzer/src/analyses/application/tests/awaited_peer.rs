//! Answers that waited for a peer to come back.

use super::{MS, turnaround};
use crate::analyses::application::{AwaitedPeer, answer};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::tcp::states::{CLOSE_WAIT, ESTABLISHED};
use crate::testing::tcp::state;

const WALSENDER: i32 = 99;

/// Thread `pid` on connection `c`: read at, answered at (ms), woken by.
fn row(c: u32, pid: i32, (read, sent): (i64, i64), woken_by: i32) -> TurnaroundRow {
    let ns = (sent - read) * MS;
    TurnaroundRow {
        connection: ConnectionId(c),
        pid,
        sender_pid: pid,
        ready_ns: Some(read * MS),
        read_ns: read * MS,
        send_ns: sent * MS,
        woken_by_pid: woken_by,
        woken_by: Name::new(b"postgres"),
        woken_by_ns: if woken_by == 0 { 0 } else { ns - 10_000 },
        ..turnaround(0, ns.max(20_000), "epoll_wait")
    }
}

/// Writers on connections 0 to 3 ask at 5.1 s and are answered at 9.7 s; a reader on 4 all the time; the standby 10.0.0.9 on 5 until 5.0 s, and on 6, by thread 99, from 9.68 s on.
fn facts() -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns, f.capture.duration_ns) = (Some(0), Some(16_000 * MS), 16_000 * MS);
    for n in 0..7u32 {
        let mut c = crate::testing::tcp::connection(n);
        (c.sport, c.dport) = (5432, 40_000 + n as u16);
        if n >= 5 {
            c.daddr = Some([10, 0, 0, 9].into());
        }
        (c.born, c.pid) = (Some(3), 20 + n as i32);
        f.connections.push(c);
    }
    for n in 0..4u32 {
        let at = i64::from(n);
        f.turnarounds
            .push(row(n, 20 + n as i32, (5_100 + at * 50, 9_700 + at), WALSENDER));
    }
    for n in 0..100 {
        f.turnarounds.push(row(4, 24, (4_000 + n * 80, 4_002 + n * 80), 0));
    }
    f.turnarounds.push(row(5, 25, (100, 101), 0));
    f.turnarounds.push(row(6, WALSENDER, (9_690, 9_691), 0));
    f.tcp_states.push(state(5, CLOSE_WAIT, 5_000 * MS));
    f.tcp_states.push(state(6, ESTABLISHED, 9_680 * MS));
    f
}

fn found(f: &Facts) -> Option<AwaitedPeer> {
    answer(f).findings().and_then(|a| a.awaited_peer.clone())
}

#[test]
fn who_came_back_and_woke_them_is_told() {
    let a = found(&facts()).unwrap();
    assert_eq!((a.server.as_str(), a.n, a.longest_ns), ("10.0.0.1:5432", 4, 4_600 * MS));
    assert_eq!((a.within_ns, a.others), ((5_100 * MS, 9_703 * MS), 58));
    assert_eq!((a.woken_by.as_str(), a.peer.as_str()), ("postgres/99", "10.0.0.9"));
    assert_eq!((a.left_ns, a.back_ns), (5_000 * MS, 9_680 * MS));
    let line = crate::analyses::answer(&facts()).verdict;
    let line = line.into_iter().find(|l| l.subject == "application").unwrap();
    let says = "4 answers from 10.0.0.1:5432 took up to 4.600 s and came together at 9.703 s, while 58 others took far less: their threads slept until postgres/99 woke them, which serves 10.0.0.9; that one's connection there had ended at 5.000 s and stood again only at 9.680 s";
    assert!(line.headline.contains(says), "{}", line.headline);
}

#[test]
fn what_only_looks_so_is_not_told() {
    let none = |change: &dyn Fn(&mut Facts)| {
        let mut f = facts();
        change(&mut f);
        assert_eq!(found(&f), None);
    };
    // Two answers; woken at other times; a thread that serves others as well; the peer had been there all along, or never; it left long before, or they asked before that.
    none(&|f| f.turnarounds.retain(|t| t.connection.0 > 1));
    none(&|f| {
        let last = &mut f.turnarounds[3];
        (last.send_ns, last.woken_by_ns) = (last.send_ns + 2_000 * MS, last.woken_by_ns + 2_000 * MS);
    });
    none(&|f| f.turnarounds.push(row(4, WALSENDER, (9_800, 9_801), 0)));
    none(&|f| f.tcp_states.retain(|s| s.connection.0 != 5));
    none(&|f| f.connections[5].daddr = Some([10, 0, 0, 8].into()));
    none(&|f| f.tcp_states[0].time_ns = 3_000 * MS);
    none(&|f| f.tcp_states[0].time_ns = 7_000 * MS);
    // Its new connection is older than their wait.
    none(&|f| f.tcp_states[1].time_ns = 5_050 * MS);
    none(&|f| f.gaps.push(crate::testing::gap(1, 2)));
}
