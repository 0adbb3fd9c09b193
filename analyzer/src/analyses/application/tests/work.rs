//! Answers that another client's request ended.

use super::{MS, turnaround};
use crate::analyses::application::ForWork;
use crate::analyses::application::work::for_work;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::thread::Split;

/// On connection `c` by the one thread: read and answered at, ns.
pub(super) fn row(c: u32, read_ns: i64, send_ns: i64) -> TurnaroundRow {
    TurnaroundRow {
        connection: ConnectionId(c),
        pid: 9,
        sender_pid: 9,
        ready_ns: Some(read_ns),
        read_ns,
        send_ns,
        split: Split {
            asleep_ns: send_ns - read_ns,
            ..Split::default()
        },
        ..turnaround(0, MS, "epoll_wait")
    }
}

/// A consumer asks 20 times and has its answer 200 ms later: after `ended` of the times because a producer's request came; `busy` requests of a
/// third one come each second.
fn found(ended: usize, timeout: impl Fn(i64) -> i64, busy: i64) -> Option<ForWork> {
    found_in("epoll_wait", ended, timeout, busy)
}

fn found_in(call: &str, ended: usize, timeout: impl Fn(i64) -> i64, busy: i64) -> Option<ForWork> {
    let mut f = Facts::empty();
    for n in 0..4u32 {
        let mut c = crate::testing::tcp::connection(n);
        (c.sport, c.dport) = (6379, 40_000 + n as u16);
        c.peer = (n == 1).then_some(ConnectionId(3));
        c.task = Name::new(if n == 3 { b"orders" } else { b"redis-server" });
        f.connections.push(c);
    }
    let mut waits = vec![];
    for n in 0..20i64 {
        let at = n * 1000 * MS;
        let came = match (n as usize) < ended {
            true => {
                let came = at + (200 + n) * MS;
                f.turnarounds.push(row(1, came, came + 40_000));
                came
            }
            false => at + timeout(n),
        };
        waits.push(TurnaroundRow {
            asleep_in: Name::new(call.as_bytes()),
            ..row(0, at, came + 60_000)
        });
    }
    f.turnarounds.extend(waits.clone());
    for n in 0..busy * 20 {
        let at = n * 1000 * MS / busy + 100_000;
        f.turnarounds.push(row(2, at, at + 50_000));
    }
    f.turnarounds.sort_by_key(|t| (t.connection, t.send_ns));
    for_work(&f, &waits.iter().collect::<Vec<_>>())
}

#[test]
fn a_consumer_waits_for_what_a_producer_brings() {
    let alike = |_| 500 * MS;
    let expect = ForWork {
        n: 20,
        of: 20,
        client: "orders".into(),
        timeout_ns: None,
    };
    assert_eq!(found(20, alike, 1), Some(expect.clone()));
    // Some end by a time-out.
    let some = ForWork {
        n: 12,
        timeout_ns: Some(500 * MS + 60_000),
        ..expect
    };
    assert_eq!(found(12, alike, 1), Some(some));
}

#[test]
fn what_nobody_is_known_to_have_ended_is_no_such_wait() {
    let alike = |_| 500 * MS;
    // Time-outs alone; two only; the others by something else.
    assert_eq!(found(0, alike, 1), None);
    assert_eq!(found(2, alike, 1), None);
    assert_eq!(found(12, |n| (300 + 30 * n) * MS, 1), None);
    // Asleep by a timer, or in a read of its own.
    assert_eq!(found_in("clock_nanosleep", 20, alike, 1), None);
    assert_eq!(found_in("recvfrom", 20, alike, 1), None);
    // So busy that some request comes within each millisecond.
    assert_eq!(found(20, alike, 900), None);
    // A thread that worked.
    let mut f = Facts::empty();
    f.connections = (0..2).map(crate::testing::tcp::connection).collect();
    let works: Vec<TurnaroundRow> = (0..20i64)
        .map(|n| TurnaroundRow {
            split: Split {
                running_ns: 200 * MS,
                ..Split::default()
            },
            ..row(0, n * 1000 * MS, (n * 1000 + 200) * MS)
        })
        .collect();
    f.turnarounds = works.clone();
    let ended = (0..20i64).map(|n| row(1, (n * 1000 + 200) * MS - 30_000, (n * 1000 + 200) * MS));
    f.turnarounds.extend(ended);
    assert_eq!(for_work(&f, &works.iter().collect::<Vec<_>>()), None);
}
