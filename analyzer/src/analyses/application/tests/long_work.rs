//! Whose long requests the others of a thread waited behind.

use std::net::{IpAddr, Ipv4Addr};

use super::{MS, turnaround};
use crate::analyses::application::{Serving, answer};
use crate::facts::{ConnectionId, Facts};

/// One thread of :80 serves 10.0.0.2, whose six requests take `long` ms each, one a second, and 10.0.0.3 and 10.0.0.4, of whose requests of 0.1 ms one in
/// five comes while it is at work on these.
fn serving(long: i64) -> Serving {
    let mut f = Facts::empty();
    for n in 0..3u8 {
        let mut c = crate::testing::tcp::connection(n.into());
        (c.sport, c.dport) = (80, 1000);
        c.daddr = Some(IpAddr::from(Ipv4Addr::new(10, 0, 0, 2 + n)));
        c.bytes_in = 33 * 6;
        crate::testing::tcp::born(&mut f, c, 3);
    }
    let mut add = |c: u32, ready: i64, read: i64, answered: i64| {
        let mut t = turnaround(0, 1, "epoll_wait");
        t.connection = ConnectionId(c);
        (t.ready_ns, t.read_ns, t.send_ns) = (Some(ready), read, answered);
        (t.split.running_ns, t.split.asleep_ns) = (answered - ready, 0);
        f.turnarounds.push(t);
    };
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
    f.turnarounds.sort_by_key(|t| (t.connection, t.send_ns));
    let [one] = answer(&f).findings().unwrap().serving.clone().try_into().unwrap();
    one
}

#[test]
fn a_clients_long_requests_are_named() {
    let w = serving(240).mostly.unwrap();
    assert_eq!((w.of.as_str(), w.requests, w.p50_ns), ("10.0.0.2", 6, 240 * MS));
    assert_eq!((w.every_ns, w.bytes), (Some(1000 * MS), Some(33)));
    assert!(w.share > 0.99 && w.running > 0.99);
    assert_eq!(
        crate::analyses::verdict::long_work(&w),
        ", 100 % of it 6 requests of 10.0.0.2 (p50 240.00 ms each, in 100 % of which it ran, one each 1.000 s, of 33 bytes)"
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
