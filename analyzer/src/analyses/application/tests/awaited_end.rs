//! Answers that waited for more than came.

use super::{MS, turnaround};
use crate::analyses::application::{AwaitedEnd, answer};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::{ResponseRow, TurnaroundRow};
use crate::reconstruct::tcp::states::CLOSE_WAIT;
use crate::testing::tcp::state;

/// A front at 10.0.0.1:80 asks 10.0.0.7:8700 by a connection each for five requests, is answered within 3 ms, and answers 3 s later, right behind the FIN of that connection.
fn facts() -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns, f.capture.duration_ns) = (Some(0), Some(60_000 * MS), 60_000 * MS);
    for n in 0..10u32 {
        let mut c = crate::testing::tcp::connection(n);
        (c.sport, c.dport, c.born) = (80, 40_000 + n as u16, Some(3));
        if n >= 5 {
            (c.sport, c.dport, c.born) = (50_000 + n as u16, 8700, Some(2));
            c.daddr = Some([10, 0, 0, 7].into());
        }
        f.connections.push(c);
    }
    for n in 0..5u32 {
        let (at, pid) = (i64::from(n) * 4_000 * MS, 20 + n as i32);
        f.turnarounds.push(TurnaroundRow {
            connection: ConnectionId(n),
            pid,
            sender_pid: pid,
            ready_ns: Some(at),
            read_ns: at,
            send_ns: at + 3_004 * MS,
            ..turnaround(0, 3_004 * MS, "poll")
        });
        f.responses.push(ResponseRow {
            connection: ConnectionId(5 + n),
            pid,
            send_ns: at + MS,
            ready_ns: Some(at + 3 * MS),
            read_ns: at + 3 * MS,
            complete_ns: Some(at + 3 * MS),
            peer: None,
            ..super::response(1, 0, MS)
        });
        f.tcp_states.push(state(5 + n, CLOSE_WAIT, at + 3_003 * MS));
    }
    f
}

fn found(f: &Facts) -> Option<AwaitedEnd> {
    answer(f).findings().and_then(|a| a.awaited_end.clone())
}

#[test]
fn who_waited_for_the_close_is_told() {
    let expect = AwaitedEnd {
        server: "10.0.0.1:80".into(),
        n: 5,
        p50_ns: 3_004 * MS,
        other: "10.0.0.7:8700".into(),
        silent_p50_ns: 3_000 * MS,
        within_ns: (0, 19_004 * MS),
    };
    assert_eq!(found(&facts()), Some(expect));
}

#[test]
fn what_only_meets_a_close_is_not_told() {
    let none = |change: &dyn Fn(&mut Facts)| {
        let mut f = facts();
        change(&mut f);
        assert_eq!(found(&f), None);
    };
    // Two of them; the close is no end of the wait; something came until the end; asked before, or by another thread; most others of its answers took as long without one.
    none(&|f| f.turnarounds.truncate(2));
    none(&|f| f.tcp_states.iter_mut().for_each(|s| s.time_ns -= 500 * MS));
    none(&|f| {
        f.responses
            .iter_mut()
            .for_each(|r| r.complete_ns = r.complete_ns.map(|t| t + 2_900 * MS))
    });
    none(&|f| f.responses.iter_mut().for_each(|r| r.send_ns -= 10 * MS));
    none(&|f| f.responses.iter_mut().for_each(|r| r.pid += 100));
    none(&|f| {
        let more: Vec<TurnaroundRow> = (0..10)
            .map(|n| TurnaroundRow {
                pid: 70,
                sender_pid: 70,
                send_ns: n * 5_000 * MS + 3_500 * MS,
                read_ns: n * 5_000 * MS,
                ready_ns: Some(n * 5_000 * MS),
                ..f.turnarounds[0].clone()
            })
            .collect();
        f.turnarounds.extend(more);
    });
    none(&|f| f.gaps.push(crate::testing::gap(1, 2)));
}
