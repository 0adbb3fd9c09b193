//! Processes of a server that are all replaced at once.

use super::{MS, turnaround};
use crate::analyses::application::{Replaced, answer};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::TurnaroundRow;

/// Read by thread `pid` at so many ms, readable so many before.
fn row(c: u32, pid: i32, read: i64, unread: i64) -> TurnaroundRow {
    TurnaroundRow {
        connection: ConnectionId(c),
        pid,
        sender_pid: pid,
        task: Name::new(b"gunicorn"),
        sender: Name::new(b"gunicorn"),
        ready_ns: Some((read - unread) * MS),
        read_ns: read * MS,
        send_ns: (read + 2) * MS,
        ..turnaround(0, 2 * MS, "epoll_wait")
    }
}

/// A request each 10 ms, a connection each: four processes read them until 5 s, `after` from 6 s on; those of the time between wait.
fn facts(after: [i32; 2]) -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns, f.capture.duration_ns) = (Some(0), Some(10_000 * MS), 10_000 * MS);
    for n in 0..1_000u32 {
        let mut c = crate::testing::tcp::connection(n);
        (c.sport, c.dport, c.born) = (8000, 40_000 + n as u16, Some(3));
        f.connections.push(c);
        let at = i64::from(n) * 10;
        f.turnarounds.push(match at {
            ..5_000 => row(n, 100 + (n % 4) as i32, at, 0),
            5_000..6_000 => row(n, after[(n % 2) as usize], 6_000 + at % 100, 6_000 + at % 100 - at),
            _ => row(n, after[(n % 2) as usize], at, 0),
        });
    }
    f
}

fn found(f: &Facts) -> Option<Replaced> {
    answer(f).findings().and_then(|a| a.replaced.clone())
}

#[test]
fn a_pause_between_two_generations_is_told() {
    let r = found(&facts([200, 201])).unwrap();
    let expect = Replaced {
        server: "10.0.0.1:8000".into(),
        pause_ns: (4_990 * MS, 6_000 * MS),
        waited: 100,
        longest_ns: 1_000 * MS,
        before: 4,
        first_left_ns: 4_960 * MS,
        task: "gunicorn".into(),
        after: 2,
        first: "gunicorn/200".into(),
    };
    assert_eq!(r, expect);
    let line = crate::analyses::answer(&facts([200, 201])).verdict;
    let line = line.into_iter().find(|l| l.subject == "application").unwrap();
    let says = "nobody read requests to 10.0.0.1:8000 from 4.990 s to 6.000 s, while 100 requests waited there, up to 1.000 s: of the 4 processes that had read there (gunicorn, the first until 4.960 s) none did after it, and of the 2 that did then (the first gunicorn/200) none had before";
    assert!(line.headline.contains(says), "{}", line.headline);
}

#[test]
fn a_pause_of_the_same_processes_is_none() {
    // One of them goes on; nobody waited; each process reads one request, as where a server forks for each.
    assert_eq!(found(&facts([200, 103])), None);
    let mut f = facts([200, 201]);
    f.turnarounds.retain(|t| t.read_ns == t.start_ns());
    assert_eq!(found(&f), None);
    let mut f = facts([200, 201]);
    for (n, t) in f.turnarounds.iter_mut().enumerate() {
        t.pid = 1_000 + n as i32;
    }
    assert_eq!(found(&f), None);
    // A database has a process for each connection: its client was restarted, and asks again when it is there.
    let mut f = facts([200, 201]);
    for (n, t) in f.turnarounds.iter_mut().enumerate() {
        (t.connection, t.pid) = (ConnectionId(n as u32 / 10), 1_000 + n as i32 / 10);
    }
    assert_eq!(found(&f), None);
    // All that waited came just before its end.
    let mut f = facts([200, 201]);
    for t in f.turnarounds.iter_mut().filter(|t| t.read_ns > t.start_ns()) {
        t.ready_ns = Some(t.read_ns - 3 * MS);
    }
    assert_eq!(found(&f), None);
    let mut f = facts([200, 201]);
    f.gaps.push(crate::testing::gap(1, 2));
    assert_eq!(found(&f), None);
}
