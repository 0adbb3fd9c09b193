//! Requests that a process hands from thread to thread.

use super::{MS, SYN_SENT, exchange, facts, turnaround};
use crate::analyses::application::{Waited, answer};
use crate::analyses::verdict::waited::waited_for;
use crate::facts::ConnectionId;
use crate::name::Name;

/// Each fourth of 200 answers of :80 takes 90 ms, in which thread 7 waits for others; meanwhile thread 70 asks :5432, from `begin` after the read until `end` before the answer,
/// and each `every` ms again.
fn asked(process: i32, between: (i64, i64), every: i64) -> Option<Waited> {
    asked_by(process, between, every, false)
}

/// The same; `busy`: by a thread that is at a request of its own, at :81, all the time.
fn asked_by(process: i32, (begin, end): (i64, i64), every: i64, busy: bool) -> Option<Waited> {
    let mut f = facts((0..200).map(|n| (30_000, if n % 4 == 0 { 90 * MS } else { 100_000 })));
    let mut asked = vec![];
    for t in f.turnarounds.iter_mut().filter(|t| t.total_ns() > MS) {
        t.asleep_in = Name::new(b"unrecorded");
        (t.woken_by, t.woken_by_pid, t.woken_by_ns) = (Name::new(b"worker"), 71, t.asleep_in_ns);
        let (from, until) = (t.read_ns + begin, t.send_ns - end);
        asked.push((from, until));
        if every > 0 {
            asked.extend((-18..19).map(|n| (from + n * every * MS, until + n * every * MS)));
        }
    }
    for (from, until) in asked {
        let (r, mut there) = exchange(from, until, "clock_nanosleep");
        (there.task, there.sender) = (Name::new(b"db"), Name::new(b"db"));
        f.responses.push(r);
        f.turnarounds.push(there);
    }
    if busy {
        let own = f.responses.iter().filter(|r| r.connection == ConnectionId(2));
        let own = own
            .map(|r| (r.send_ns - 100_000, r.read_ns + 100_000))
            .collect::<Vec<_>>();
        f.turnarounds.extend(own.into_iter().map(|(from, until)| {
            let mut t = turnaround(0, until - from, "recvfrom");
            (t.connection, t.pid, t.sender_pid) = (ConnectionId(4), 70, 70);
            (t.ready_ns, t.read_ns, t.send_ns) = (Some(from - 1000), from, until);
            t
        }));
    }
    f.responses.sort_by_key(|r| (r.connection, r.send_ns));
    f.turnarounds.sort_by_key(|t| (t.connection, t.send_ns));
    for (thread, of) in [(7, 7), (71, 7), (70, process)] {
        f.processes.insert(thread, (of, Name::new(b"app")));
    }
    for (n, (sport, dport)) in (0u32..).zip([(80, 1000), (1000, 80), (1001, 5432), (5432, 1001), (81, 1002)]) {
        let mut c = crate::testing::tcp::connection(n);
        (c.sport, c.dport) = (sport, dport);
        crate::testing::tcp::born(&mut f, c, if n == 1 || n == 2 { SYN_SENT } else { 3 });
    }
    let servers = answer(&f).findings().unwrap().servers.clone();
    let mut first = servers.into_iter().find(|s| s.server == "10.0.0.2:80").unwrap();
    first.slow.remove(0).waited
}

#[test]
fn what_another_thread_of_the_process_asked_is_what_it_waited_for() {
    let w = asked(7, (1_000_000, 2_000_000), 0).expect("waited");
    assert!(w.handed && w.ns == 50 * (87 * MS - 1000), "{w:?}");
    assert_eq!(
        waited_for(&w),
        ", while other threads of the process waited (inferred from the times) for the answer from 10.0.0.2:5432 (db/27 asleep in clock_nanosleep 100 % of that)"
    );
}

/// As of threads that are let go at once, some of which wait for a lock.
#[test]
fn what_a_thread_asks_for_its_own_request_is_no_other_ones() {
    assert_eq!(asked_by(7, (1_000_000, 2_000_000), 0, true), None);
}

#[test]
fn another_process_asks_for_itself() {
    assert_eq!(asked(70, (1_000_000, 2_000_000), 0), None);
}

/// As of a lock that its holder's question is in no relation to.
#[test]
fn what_was_asked_before_it_was_read_or_answered_long_before_is_not_it() {
    assert_eq!(asked(7, (-20 * MS, 30 * MS), 0), None);
    assert_eq!(asked(7, (1_000_000, 40 * MS), 0), None);
    assert_eq!(asked(7, (20 * MS, 1_000_000), 0), None);
}

/// The process asks so often that some answer fits at any time.
#[test]
fn where_anything_fits_nothing_is_told() {
    assert_eq!(asked(7, (1_000_000, 2_000_000), 5), None);
}
