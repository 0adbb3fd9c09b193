//! Clients that always wait long, beside others that do not.

use std::net::IpAddr;

use super::{MS, response, turnaround};
use crate::analyses::application::{Server, answer};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::Peer;

/// Two clients ask one server for two seconds, the first each 5 ms, the second each 20 ms; `far` says where the second one's n-th answer was: there, in the
/// server, back, ms; its round trip takes `rtt_us` by TCP.
fn server(far: impl Fn(i64) -> (i64, i64, i64), call: &str, rtt_us: u32) -> Server {
    server_of(4, far, call, rtt_us)
}

/// The same, where the second asks each time that the first has asked so often.
fn server_of(each: i64, far: impl Fn(i64) -> (i64, i64, i64), call: &str, rtt_us: u32) -> Server {
    let mut f = Facts::empty();
    for n in 0..4u32 {
        let mut c = crate::testing::tcp::connection(n);
        let client = n / 2;
        let (a, b) = (IpAddr::from([10, 0, 0, 1 + client as u8]), IpAddr::from([10, 0, 0, 9]));
        let (ours, state) = if n % 2 == 1 {
            ((a, 1000), super::SYN_SENT)
        } else {
            ((b, 80), 3)
        };
        let theirs = if n % 2 == 1 { (b, 80) } else { (a, 1000) };
        (c.saddr, c.sport, c.daddr, c.dport) = (Some(ours.0), ours.1, Some(theirs.0), theirs.1);
        crate::testing::tcp::born(&mut f, c, state);
    }
    let mut sample = crate::testing::tcp::sample(3, 0);
    sample.srtt_us = rtt_us;
    f.tcp_samples.push(sample);
    for n in 0..400i64 {
        for (client, (there, turn, back)) in [(0u32, (0, 2, 0)), (1, far(n / each))] {
            if client == 1 && n % each > 0 {
                continue;
            }
            let [there, turn, back] = [there, turn, back].map(|ms| ms * MS + 10_000);
            let at = n * 5 * MS;
            let mut r = response(0, there, turn);
            (r.connection, r.send_ns) = (ConnectionId(client * 2 + 1), at);
            let ready = at + there + turn + back;
            (r.ready_ns, r.complete_ns, r.read_ns) = (Some(ready), Some(ready), ready + 1_000);
            r.peer = Some(Peer {
                connection: ConnectionId(client * 2),
                there_ns: there,
                turnaround_ns: turn,
                back_ns: back,
            });
            f.responses.push(r);
            let mut t = turnaround(0, turn, call);
            t.connection = ConnectionId(client * 2);
            (t.ready_ns, t.read_ns, t.send_ns) = (Some(at + there), at + there + 1_000, at + there + turn);
            f.turnarounds.push(t);
        }
    }
    f.responses.sort_by_key(|r| (r.connection, r.send_ns));
    f.turnarounds.sort_by_key(|t| (t.connection, t.read_ns));
    answer(&f).findings().unwrap().servers[0].clone()
}

#[test]
fn who_is_far_away_makes_nobody_slow() {
    let s = server(|n| (20 + n % 3, 2, 20), "epoll_wait", 40_000);
    assert_eq!((s.response.n, s.apart.len()), (400, 1), "{s:?}");
    let far = &s.apart[0];
    assert_eq!(
        (far.client.as_str(), far.n, far.p50_ns),
        ("10.0.0.2", 100, 43 * MS + 30_000)
    );
    assert!(
        (far.there - 0.49).abs() < 0.01 && (far.back - 0.46).abs() < 0.01,
        "{far:?}"
    );
    assert_eq!(far.rtt_ns, Some(40 * MS));
    // A way that is long by no round trip is held by somebody.
    assert_eq!(server(|n| (20 + n % 3, 2, 20), "epoll_wait", 300).apart, []);
    // What is left is alike.
    assert!(s.slow.iter().all(|slow| slow.max_ns < 3 * MS), "{:?}", s.slow);
}

#[test]
fn who_asks_for_what_takes_long_is_told_apart_unless_something_holds_him() {
    let work = |n: i64| (0, 90 + n % 7, 0);
    let s = server(work, "epoll_wait", 300);
    assert_eq!(s.apart.iter().map(|a| a.n).collect::<Vec<_>>(), [100]);
    assert!(s.apart[0].server > 0.99 && s.apart[0].parts[0].call.as_deref() == Some("epoll_wait"));
    // In state D, or in no recorded call, they wait for something.
    for call in [
        crate::reconstruct::thread::UNINTERRUPTIBLE,
        crate::reconstruct::thread::UNRECORDED,
    ] {
        let s = server(work, call, 300);
        assert_eq!((s.apart.len(), s.response.n), (0, 500), "{call}");
    }
    // Now and then, or not alike, is not always.
    for far in [
        |n: i64| (0, if n % 5 == 0 { 90 } else { 2 }, 0),
        |n: i64| (0, 20 + n, 0),
    ] {
        assert_eq!(server(far, "epoll_wait", 300).apart, []);
    }
    // Since the middle of the recording: of the first half its answers are as quick as others'.
    assert_eq!(
        server(|n| (0, if n < 50 { 2 } else { 90 }, 0), "epoll_wait", 300).apart,
        []
    );
}

#[test]
fn a_few_answers_that_take_seconds_at_rest_are_told_apart() {
    let polls = |n: i64| (0, 1_500 + 300 * (n % 3), 0);
    let of = |far: &dyn Fn(i64) -> (i64, i64, i64), call| {
        let s = server_of(80, far, call, 300);
        let apart: Vec<(u64, i64)> = s.apart.iter().map(|a| (a.n, a.max_ns)).collect();
        (apart, s.response.n)
    };
    assert_eq!(of(&polls, "epoll_wait"), (vec![(5, 2_100 * MS + 30_000)], 400));
    // At work, or on a lock; one that is quick; none so long; one far longer; on the way.
    for call in ["recvfrom", crate::reconstruct::thread::UNRECORDED] {
        assert_eq!(of(&polls, call), (vec![], 405), "{call}");
    }
    assert_eq!(of(&|n| (0, if n == 2 { 2 } else { 1_500 }, 0), "epoll_wait").1, 405);
    assert_eq!(of(&|n| (0, 700 + n, 0), "epoll_wait").1, 405);
    assert_eq!(of(&|n| (0, if n == 2 { 9_000 } else { 1_500 }, 0), "epoll_wait").1, 405);
    assert_eq!(of(&|_| (750, 2, 750), "epoll_wait").1, 405);
}

/// The slow ones of one client that has no quick ones are its alone, though what they waited for is not known; not where it has quick ones too.
#[test]
fn slow_answers_of_one_client_say_so() {
    let slow = |far: &dyn Fn(i64) -> (i64, i64, i64)| {
        let s = server_of(80, far, crate::reconstruct::thread::UNRECORDED, 300);
        s.slow.first().map(|s| (s.n, s.client.clone()))
    };
    let polls = |n: i64| (0, 1_500 + 300 * (n % 3), 0);
    assert_eq!(slow(&polls), Some((5, Some("10.0.0.2".into()))));
    assert_eq!(slow(&|n| (0, if n == 2 { 2 } else { 1_500 }, 0)), Some((4, None)));
}
