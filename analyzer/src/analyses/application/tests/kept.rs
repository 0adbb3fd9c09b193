//! First requests that wait until a thread is free.

use super::{MS, turnaround};
use crate::analyses::application::Kept;
use crate::analyses::application::kept::kept;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::TurnaroundRow;

/// By thread `pid` on connection `c`, ms: readable, read, answered.
fn row(c: u32, pid: i32, ready: i64, read: i64, sent: i64) -> TurnaroundRow {
    TurnaroundRow {
        connection: ConnectionId(c),
        pid,
        sender_pid: pid,
        task: Name::new(b"apache2"),
        ready_ns: Some(ready * MS),
        read_ns: read * MS,
        send_ns: sent * MS,
        ..turnaround(0, MS, "poll")
    }
}

/// Four threads answer at 10 ms on connections that are left as `state` after `idle(n)`; four others' requests, readable at 100 ms, are read `gap` later.
fn found(idle: impl Fn(i64) -> i64, state: i32, gap: i64) -> Option<Kept> {
    let mut f = Facts::empty();
    f.connections = (0..8).map(crate::testing::tcp::connection).collect();
    let mut late = vec![];
    for n in 0..4i64 {
        let (pid, closed) = (20 + n as i32, 10 + idle(n));
        f.turnarounds.push(row(n as u32, pid, 8, 9, 10));
        f.tcp_states
            .push(crate::testing::tcp::state(n as u32, state, closed * MS));
        late.push(row(4 + n as u32, pid, 100, closed + gap, closed + gap + 1));
    }
    f.turnarounds.extend(late.clone());
    kept(&f, &late.iter().collect::<Vec<_>>())
}

#[test]
fn each_thread_kept_its_last_connection() {
    let expect = Kept {
        n: 4,
        of: 4,
        threads: 4,
        task: "apache2".into(),
        kept_ns: 5_001 * MS,
        timeout: true,
    };
    assert_eq!(found(|n| 5_000 + n, 4, 1), Some(expect.clone()));
    // Of all lengths; closed by its clients.
    let no_timeout = |k: Option<Kept>| k.map(|k| (k.n, k.timeout));
    assert_eq!(no_timeout(found(|n| 1_000 + n * 900, 4, 1)), Some((4, false)));
    assert_eq!(no_timeout(found(|n| 5_000 + n, 8, 1)), Some((4, false)));
    // By a RST: whose it was is not told.
    assert_eq!(no_timeout(found(|n| 5_000 + n, 7, 1)), Some((4, false)));
}

#[test]
fn what_was_read_long_after_a_close_did_not_wait_for_it() {
    assert_eq!(found(|n| 5_000 + n, 4, 40), None);
    // A connection that was closed at once; closed before the request came.
    assert_eq!(found(|_| 50, 4, 300), None);
    assert_eq!(found(|_| 85, 4, 10), None);
}
