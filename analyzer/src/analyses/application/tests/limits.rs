//! Programs that ask only so many at a time.

use super::{MS, SYN_SENT, response, turnaround};
use crate::analyses::application::{Limit, answer};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::Peer;

/// A proxy that takes requests on connection 0 and asks on connection 1: (comes, asks, has the answer), ms; each is answered then.
fn facts(of: &[(i64, i64, i64)]) -> Facts {
    let mut f = Facts::empty();
    for (n, sport, dport, state) in [(0, 80, 1000, 3), (1, 1000, 8080, SYN_SENT)] {
        let mut c = crate::testing::tcp::connection(n);
        (c.sport, c.dport) = (sport, dport);
        crate::testing::tcp::born(&mut f, c, state);
    }
    for (came, asks, has) in of {
        let mut t = turnaround(0, 1, "epoll_wait");
        (t.ready_ns, t.read_ns, t.send_ns) = (Some(came * MS), came * MS, has * MS);
        (t.task, t.sender) = (Name::new(b"haproxy"), Name::new(b"haproxy"));
        f.turnarounds.push(t);
        let mut r = response(0, 0, 1);
        (r.send_ns, r.ready_ns, r.read_ns) = (asks * MS, Some(has * MS), has * MS);
        (r.task, r.peer) = (Name::new(b"haproxy"), None);
        f.responses.push(r);
    }
    f
}

fn proxy(of: &[(i64, i64, i64)]) -> Option<Limit> {
    let mut found = answer(&facts(of)).findings().unwrap().limits.clone();
    assert!(found.len() <= 1);
    found.pop()
}

#[test]
fn two_at_a_time_while_others_wait() {
    // Ten come together each 100 ms; two are asked at a time, 20 ms each.
    let all = rounds();
    let l = proxy(&all).unwrap();
    assert_eq!((l.task.as_str(), l.requests), ("haproxy", 40));
    assert_eq!(l.servers, [("10.0.0.2:8080".to_owned(), 2)]);
    // 0, 0, 20, 20, ... 80, 80 of 20 to 100 ms.
    assert_eq!(l.waited_ns, 40 * MS);
    assert!((l.share - 40.0 / 60.0).abs() < 1e-9, "{}", l.share);
    // Said before what has no name.
    let lines = crate::analyses::answer(&facts(&all)).verdict;
    let line = lines.iter().find(|l| l.subject == "application").unwrap();
    let said = "40 requests waited in haproxy for 40.00 ms each (mean, 67 % of their time there) while it had 2 to 10.0.0.2:8080 under way";
    assert!(line.names_cause && line.headline.contains(said), "{}", line.headline);
}

fn rounds() -> Vec<(i64, i64, i64)> {
    let ten = |round: i64, n: i64| {
        let asks = round * 100 + n / 2 * 20;
        (round * 100, asks, asks + 20)
    };
    (0..4).flat_map(|round| (0..10).map(move |n| ten(round, n))).collect()
}

/// Two containers run a program of one name, the one asks the other: what waits in which nothing tells. And what a program works at itself
/// meanwhile may be what its requests wait for.
#[test]
fn a_name_that_asks_itself_or_works_is_not_told() {
    let limits = |f: &Facts| answer(f).findings().unwrap().limits.len();
    let mut f = facts(&rounds());
    assert_eq!(limits(&f), 1);
    let mut other = crate::testing::tcp::connection(2);
    (other.sport, other.dport) = (8080, 1000);
    f.connections.push(other);
    f.connections[1].peer = Some(ConnectionId(2));
    for (n, task) in [(1, "haproxy"), (2, "api")] {
        f.connections[n].task = Name::new(task.as_bytes());
    }
    assert_eq!(limits(&f), 1);
    f.connections[2].task = Name::new(b"haproxy");
    assert_eq!(limits(&f), 0);
    // Forty milliseconds of waiting each: 19 of work are not it, 21 may be.
    for (ms, expect) in [(19, 1), (21, 0)] {
        let mut f = facts(&rounds());
        for t in &mut f.turnarounds {
            t.split.running_ns = ms * MS;
        }
        assert_eq!(limits(&f), expect, "{ms} ms");
    }
}

#[test]
fn what_could_ask_more_has_no_limit() {
    // Each waits 30 ms in the program itself, and then asks: now few, now many are under way.
    let all: Vec<_> = (0..60)
        .map(|n| (n * n % 97 * 10, n * n % 97 * 10 + 30, n * n % 97 * 10 + 50))
        .collect();
    assert_eq!(proxy(&all), None);
    // Asked at once, as many as come.
    let all: Vec<_> = (0..40).map(|n| (n * 2, n * 2, n * 2 + 20)).collect();
    assert_eq!(proxy(&all), None);
}

/// The same with a connection to a database, 10.0.0.2:5432, for each of both: a thread asks on it, asks 8080, and asks on it again. `other` says which one behind.
fn with_a_database(other: impl Fn(usize) -> bool) -> Facts {
    let mut f = facts(&rounds());
    for n in [2u32, 3] {
        let mut c = crate::testing::tcp::connection(n);
        (c.sport, c.dport) = (2_000 + n as u16, 5432);
        crate::testing::tcp::born(&mut f, c, SYN_SENT);
    }
    let short = MS / 10;
    let mut more = vec![];
    for (n, r) in f.responses.iter_mut().enumerate() {
        let (lane, end) = ((n % 2) as u32, r.read_ns);
        // Threads share both connections.
        r.pid = 100 + (n % 10) as i32;
        let behind = if other(n) { 3 - lane } else { 2 + lane };
        for (connection, from) in [(2 + lane, r.send_ns), (behind, end - short)] {
            let mut q = r.clone();
            q.connection = ConnectionId(connection);
            (q.send_ns, q.ready_ns, q.read_ns) = (from, Some(from + short - 1), from + short - 1);
            more.push(q);
        }
        (r.send_ns, r.ready_ns, r.read_ns) = (r.send_ns + short, Some(end - short - 1), end - short - 1);
    }
    f.responses.extend(more);
    f.responses.sort_by_key(|r| (r.connection, r.send_ns));
    f
}

#[test]
fn what_is_kept_while_somebody_else_is_asked_is_told() {
    let holds = |f: &Facts| {
        answer(f)
            .findings()
            .unwrap()
            .limits
            .first()
            .and_then(|l| l.holds.clone())
    };
    let f = with_a_database(|_| false);
    let h = holds(&f).unwrap();
    assert_eq!(
        (h.asked.as_str(), h.server.as_str()),
        ("10.0.0.2:8080", "10.0.0.2:5432")
    );
    assert_eq!((h.connections, h.requests, h.of), (2, 40, 40));
    let lines = crate::analyses::answer(&f).verdict;
    let line = lines.iter().find(|l| l.subject == "application").unwrap();
    let said = "and all 40 requests to 10.0.0.2:8080 kept one of its 2 connections to 10.0.0.2:5432, which its threads share, idle meanwhile";
    assert!(line.headline.contains(said), "{}", line.headline);
    // Behind it asks on the other one, nearly always.
    assert_eq!(holds(&with_a_database(|n| n % 4 > 0)), None);
    // A thread for each connection: it is a thread that is waited for.
    let mut f = with_a_database(|_| false);
    for r in &mut f.responses {
        r.pid = 100 + r.pid % 2;
    }
    assert_eq!(holds(&f), None);
    // There are more connections than requests at once: another one is free.
    let mut f = with_a_database(|_| false);
    let mut c = crate::testing::tcp::connection(4);
    (c.sport, c.dport) = (2_004, 5432);
    crate::testing::tcp::born(&mut f, c, SYN_SENT);
    for r in f
        .responses
        .iter_mut()
        .filter(|r| r.connection.0 == 2 && r.send_ns > 200 * MS)
    {
        r.connection = ConnectionId(4);
    }
    f.responses.sort_by_key(|r| (r.connection, r.send_ns));
    assert_eq!(holds(&f), None);
}

/// A proxy that answers 200 requests by itself, and fetches for others, eight that come 1 ms apart each 200 ms: all of them at once, and one at a time from 2 s on.
fn since_a_change(at_once_before: bool) -> Facts {
    let eight = |round: i64, n: i64| {
        let came = round * 200 + n;
        let asks = if at_once_before && round < 10 {
            came
        } else {
            round * 200 + n * 24
        };
        (came, asks, asks + 24)
    };
    let mut f = facts(
        &(0..20)
            .flat_map(|round| (0..8).map(move |n| eight(round, n)))
            .collect::<Vec<_>>(),
    );
    let mut c = crate::testing::tcp::connection(2);
    (c.sport, c.dport) = (3000, 80);
    crate::testing::tcp::born(&mut f, c, SYN_SENT);
    for n in 0..200 {
        let mut t = turnaround(0, MS / 10, "epoll_wait");
        let at = n * 20 * MS + 7 * MS;
        (t.ready_ns, t.read_ns, t.send_ns) = (Some(at), at, at + MS / 10);
        (t.task, t.sender) = (Name::new(b"haproxy"), Name::new(b"haproxy"));
        f.turnarounds.push(t);
    }
    for t in &f.turnarounds {
        let (from, took) = (t.ready_ns.unwrap(), t.total_ns());
        let mut r = response(0, 0, took);
        (r.connection, r.send_ns, r.ready_ns) = (ConnectionId(2), from, Some(from + took));
        (r.complete_ns, r.read_ns) = (r.ready_ns, from + took);
        r.peer = r.peer.map(|p| Peer { back_ns: 0, ..p });
        f.responses.push(r);
    }
    f.capture.start_ns = Some(0);
    f.capture.duration_ns = 4_000 * MS;
    f.responses.sort_by_key(|r| (r.connection, r.send_ns));
    f.turnarounds.sort_by_key(|t| (t.connection, t.read_ns));
    f
}

/// Half of the time what was fetched was fetched at once, so nothing is nearly always so.
#[test]
fn a_limit_that_a_change_brought_is_told_from_then_on() {
    let f = since_a_change(true);
    let l = answer(&f).findings().unwrap().limits.first().cloned().unwrap();
    assert_eq!(l.servers, [("10.0.0.2:8080".to_owned(), 1)]);
    assert_eq!(l.since, Some((2_002 * MS, 8)));
    // Ten rounds of 0, 23, 46 ... 161 ms, and a hundred that were in it for 0.1 ms each; but for the first two, of which one had waited for 1 ms.
    assert_eq!(l.requests, 178);
    assert_eq!(l.waited_ns, (10 * 28 * 23 * MS + 100 * MS / 10 - MS) / 178);
    let lines = crate::analyses::answer(&f).verdict;
    let line = lines.iter().find(|l| l.subject == "application").unwrap();
    let said = "while it had 1 to 10.0.0.2:8080 under way from 2.002 s on (up to 8 before), nearly always as many: a limit of its own";
    assert!(line.headline.contains(said), "{}", line.headline);
}

#[test]
fn a_limit_all_along_has_no_begin() {
    let f = since_a_change(false);
    let l = answer(&f).findings().unwrap().limits.first().cloned().unwrap();
    assert_eq!((l.servers[0].1, l.since), (1, None));
}
