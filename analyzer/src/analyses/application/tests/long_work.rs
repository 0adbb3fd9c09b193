//! Whose long requests the others of a thread waited behind.

use std::net::{IpAddr, Ipv4Addr};

use super::{MS, turnaround};
use crate::analyses::application::{LongWork, Serving, answer};
use crate::facts::{ConnectionId, Facts};

/// One thread of :80 serves 10.0.0.2, whose six requests take `long` ms each, one a second, and 10.0.0.3 and 10.0.0.4, of whose requests of 0.1 ms one in
/// five comes while it is at work on these.
fn facts(long: i64) -> Facts {
    let mut f = Facts::empty();
    for n in 0..3u8 {
        let mut c = crate::testing::tcp::connection(n.into());
        (c.sport, c.dport) = (80, 1000);
        c.daddr = Some(IpAddr::from(Ipv4Addr::new(10, 0, 0, 2 + n)));
        c.bytes_in = 33 * 6;
        crate::testing::tcp::born(&mut f, c, 3);
    }
    let mut add = |c: u32, ready: i64, read: i64, answered: i64| add(&mut f, c, ready, read, answered);
    for second in 0..6i64 {
        let at = second * 1000 * MS;
        add(0, at, at, at + long * MS);
        for c in [1u32, 2] {
            for n in 0..5i64 {
                let after = at + (300 + 100 * n + i64::from(c)) * MS;
                match n {
                    0 => add(
                        c,
                        at + MS,
                        at + (long + i64::from(c)) * MS,
                        at + (long + i64::from(c)) * MS + MS / 10,
                    ),
                    _ => add(c, after, after, after + MS / 10),
                }
            }
        }
    }
    f
}

/// A request of connection `c` that the thread answered, running since it was readable.
fn add(f: &mut Facts, c: u32, ready: i64, read: i64, answered: i64) {
    let mut t = turnaround(0, 1, "epoll_wait");
    t.connection = ConnectionId(c);
    (t.ready_ns, t.read_ns, t.send_ns) = (Some(ready), read, answered);
    (t.split.running_ns, t.split.asleep_ns) = (answered - ready, 0);
    f.turnarounds.push(t);
}

fn of(mut f: Facts) -> Serving {
    f.turnarounds.sort_by_key(|t| (t.connection, t.send_ns));
    let [one] = answer(&f).findings().unwrap().serving.clone().try_into().unwrap();
    one
}

fn serving(long: i64) -> Serving {
    of(facts(long))
}

/// What is said where so many requests of 10.0.0.2 more were answered.
fn with(more: &[(i64, i64, i64)]) -> Option<LongWork> {
    let mut f = facts(240);
    for (ready, read, answered) in more {
        add(&mut f, 0, *ready, *read, *answered);
    }
    of(f).mostly
}

#[test]
fn a_clients_long_requests_are_named() {
    let w = serving(240).mostly.unwrap();
    assert_eq!((w.of.as_str(), w.requests, w.p50_ns), ("10.0.0.2", 6, 240 * MS));
    assert_eq!((w.every_ns, w.bytes), (Some(1000 * MS), Some(33)));
    assert!(w.share > 0.99 && w.running > 0.99);
    assert_eq!(
        crate::analyses::verdict::long_work(&w),
        ", 100 % of it 6 requests of 10.0.0.2 (p50 240.00 ms each, in 100 % of which it ran, one every 1.000 s, on connections with 33 bytes a request)"
    );
}

#[test]
fn requests_that_are_hardly_longer_are_not() {
    // Below what is called long; and work that is as long as others' is each one's wait.
    assert_eq!(serving(0).mostly, None);
    let mut f = Facts::empty();
    for n in 0..2u8 {
        let mut c = crate::testing::tcp::connection(n.into());
        c.daddr = Some(IpAddr::from(Ipv4Addr::new(10, 0, 0, 2 + n)));
        crate::testing::tcp::born(&mut f, c, 3);
    }
    for n in 0..20 {
        let one = turnaround(n, 30 * MS, "");
        let mut other = turnaround(n, 60 * MS, "");
        (other.connection, other.read_ns) = (ConnectionId(1), other.start_ns() + 30 * MS);
        f.turnarounds.extend([one, other]);
    }
    f.turnarounds.sort_by_key(|t| (t.connection, t.send_ns));
    let serving = answer(&f).findings().unwrap().serving.clone();
    assert!(serving[0].behind_ns > 0);
    assert_eq!(serving[0].mostly, None);
}

#[test]
fn an_address_of_many_short_requests_is_not() {
    // Of seven short ones and six long ones the median is short.
    let short = |n: i64| (900 * MS + n * MS, 900 * MS + n * MS, 900 * MS + n * MS + MS / 10);
    let more: Vec<_> = (0..7).map(short).collect();
    assert_eq!(with(&more), None);
    let w = with(more.get(..5).unwrap()).unwrap();
    assert_eq!((w.requests, w.p50_ns), (6, 240 * MS));
}

#[test]
fn figures_are_of_the_work_that_others_waited_for() {
    // Eight that it left open while it answered another one, and one that nobody waited behind.
    let mut f = facts(240);
    for n in 0..8i64 {
        let at = (910 + 4 * n) * MS;
        add(&mut f, 0, at, at, at + 2 * MS);
        add(&mut f, 1, at + MS, at + MS, at + MS + MS / 10);
    }
    add(&mut f, 0, 5950 * MS, 5950 * MS, 5970 * MS);
    let w = of(f).mostly.unwrap();
    assert_eq!((w.requests, w.p50_ns, w.every_ns), (6, 240 * MS, Some(1000 * MS)));
}

#[test]
fn it_ran_between_read_and_answer() {
    let mut f = facts(240);
    for t in f.turnarounds.iter_mut().filter(|t| t.connection == ConnectionId(0)) {
        // It lay unread for 60 ms, in which the thread may have run, and ran for 180 ms in all.
        t.ready_ns = Some(t.read_ns - 60 * MS);
        (t.split.running_ns, t.split.asleep_ns) = (180 * MS, 120 * MS);
    }
    let w = of(f).mostly.unwrap();
    assert_eq!(w.running, 0.5);
    let said = crate::analyses::verdict::long_work(&w);
    assert!(said.contains(", in at least 50 % of which it ran,"), "{said}");
    let said = crate::analyses::verdict::long_work(&LongWork { running: 0.988, ..w });
    assert!(said.contains(", in at least 98 % of which it ran,"), "{said}");
}

#[test]
fn a_threads_only_address_has_no_others() {
    let mut f = facts(240);
    for c in &mut f.connections {
        c.daddr = Some(IpAddr::from(Ipv4Addr::new(10, 0, 0, 2)));
    }
    let one = of(f);
    assert!(one.behind_ns > 0);
    assert_eq!(one.mostly, None);
}
