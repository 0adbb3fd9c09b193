//! Whose requests a thread was at work on.

use std::net::{IpAddr, Ipv4Addr};

use super::{MS, turnaround};
use crate::analyses::application::others::Others;
use crate::analyses::application::sockets;
use crate::facts::{ConnectionId, Facts};

fn ip(n: u8) -> IpAddr {
    Ipv4Addr::new(10, 0, 0, n).into()
}

/// One thread serves clients 10.0.0.2, .3, ... on a connection each: (client, ready, read, answered), ms.
fn facts(of: &[(u8, i64, i64, i64)]) -> Facts {
    let mut f = Facts::empty();
    for n in 0..4u8 {
        let mut c = crate::testing::tcp::connection(n.into());
        c.daddr = Some(ip(2 + n));
        crate::testing::tcp::born(&mut f, c, 3);
    }
    for (client, ready, read, answered) in of {
        let mut t = turnaround(0, 1, "epoll_wait");
        t.connection = ConnectionId(u32::from(*client) - 2);
        (t.ready_ns, t.read_ns, t.send_ns) = (Some(ready * MS), read * MS, answered * MS);
        f.turnarounds.push(t);
    }
    f
}

/// While the requests of 10.0.0.4 lay unread.
fn during(f: &Facts) -> Option<(IpAddr, u64, i64)> {
    let unread: Vec<_> = f
        .turnarounds
        .iter()
        .filter(|t| t.connection == ConnectionId(2))
        .collect();
    let (others, waiting) = (Others::of(f, &sockets(f)), unread);
    others.during(&waiting).map(|b| (b.peer, b.work.len() as u64, b.ns))
}

#[test]
fn a_long_command_is_what_others_wait_for() {
    // A command of 100 ms; two that came meanwhile are read after it.
    let f = facts(&[(2, 0, 0, 100), (4, 20, 101, 102), (4, 60, 103, 104)]);
    assert_eq!(during(&f), Some((ip(2), 1, 120 * MS)));
}

#[test]
fn a_request_that_is_left_open_keeps_nobody_waiting() {
    // 10.0.0.2 polls: its answer comes after a second. Between, the thread works 40 ms for 10.0.0.3, and 10.0.0.4 waits for that.
    let f = facts(&[(2, 0, 0, 1000), (3, 100, 100, 140), (4, 110, 141, 142)]);
    assert_eq!(during(&f), Some((ip(3), 1, 30 * MS)));
    // Nothing but the poll: nobody's work is known.
    let f = facts(&[(2, 0, 0, 1000), (4, 110, 141, 142)]);
    assert_eq!(during(&f), None);
}
