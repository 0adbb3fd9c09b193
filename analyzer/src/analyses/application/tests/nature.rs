//! Slow answers that only waited for a server that always takes long.

use super::{MS, SYN_SENT, exchange, facts};
use crate::analyses::application::{Nature, Server, answer};
use crate::name::Name;

/// Of 200 answers of :80 ten take 1.5 s, in which another thread of its process waits for :7000, whose thread sleeps in `call`; and ten take 90 ms for reasons of their own.
fn front(call: &str, own: bool) -> Server {
    let took = move |n: i64| match n % 20 {
        3 => 1_500 * MS,
        9 if own => 90 * MS,
        _ => 100_000,
    };
    let mut f = facts((0..200).map(|n| (30_000, took(n))));
    let long: Vec<(i64, i64)> = (f.turnarounds.iter())
        .filter(|t| t.total_ns() > 1_000 * MS)
        .map(|t| (t.read_ns + MS, t.send_ns - MS))
        .collect();
    for (from, until) in long {
        let (r, mut there) = exchange(from, until, call);
        there.split.asleep_ns = there.total_ns();
        f.responses.push(r);
        f.turnarounds.push(there);
    }
    f.responses.sort_by_key(|r| (r.connection, r.send_ns));
    f.turnarounds.sort_by_key(|t| (t.connection, t.send_ns));
    for thread in [7, 70] {
        f.processes.insert(thread, (7, Name::new(b"app")));
    }
    for (n, (sport, dport)) in (0u32..).zip([(80, 1000), (1000, 80), (1001, 7000), (7000, 1001)]) {
        let mut c = crate::testing::tcp::connection(n);
        (c.sport, c.dport) = (sport, dport);
        crate::testing::tcp::born(&mut f, c, if n == 1 || n == 2 { SYN_SENT } else { 3 });
    }
    let servers = answer(&f).findings().unwrap().servers.clone();
    servers.into_iter().find(|s| s.server == "10.0.0.2:80").unwrap()
}

#[test]
fn what_waits_for_a_long_poll_is_set_apart() {
    let s = front("clock_nanosleep", true);
    let took = 1_500 * MS + 50_000;
    let expect = Nature {
        of: "10.0.0.2:7000".into(),
        n: 10,
        p50_ns: took,
        max_ns: took,
        all: 10,
        all_p50_ns: 1_498 * MS - 1_000,
    };
    assert_eq!(s.nature, [expect]);
    // What is left is slow for itself.
    assert_eq!(
        (s.response.n, s.slow[0].n, s.slow[0].p50_ns),
        (190, 10, 90 * MS + 50_000)
    );
}

#[test]
fn what_works_or_is_all_that_is_slow_is_not() {
    assert_eq!(front("futex", true).nature, []);
    let s = front("clock_nanosleep", false);
    assert_eq!((s.nature.len(), s.slow[0].n), (0, 10));
}
