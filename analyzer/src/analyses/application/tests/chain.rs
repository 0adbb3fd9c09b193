//! What servers behind a server waited for, one after the other.

use super::{MS, SYN_SENT, facts, response, turnaround};
use crate::analyses::application::{Waited, answer};
use crate::analyses::verdict::waited::waited_for;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::Peer;

/// Sockets of 10.0.0.2: the first server's, its client's; then of each server behind one the asking end and the answering one.
const PORTS: [(u16, u16); 6] = [
    (80, 1000),
    (1000, 80),
    (1001, 8080),
    (8080, 1001),
    (1002, 5432),
    (5432, 1002),
];

/// Each fourth of 200 answers of :80 takes 90 ms, in which its thread 7 asks :8080; thread 17 there asks `:to` (connection 4), where thread 27 sleeps.
fn asked(to: u16, second: f64) -> Waited {
    let mut f = facts((0..200).map(|n| (30_000, if n % 4 == 0 { 90 * MS } else { 100_000 })));
    for t in f.turnarounds.clone().iter().filter(|t| t.total_ns() > MS) {
        let (mut from, mut until) = (t.read_ns, t.send_ns);
        for (asks, answers, pid, name, share) in [(2, 3, 7, "app", 0.99), (4, 5, 17, "db", second)] {
            let asleep = ((until - from) as f64 * share) as i64;
            (from, until) = (from + 10_000, from + 10_000 + asleep);
            let mut there = turnaround(0, until - from, "epoll_wait");
            there.connection = ConnectionId(answers);
            (there.pid, there.sender_pid) = (pid + 10, pid + 10);
            (there.task, there.sender) = (Name::new(name.as_bytes()), Name::new(name.as_bytes()));
            (there.ready_ns, there.read_ns, there.send_ns) = (Some(from), from + 1000, until);
            let mut r = response(0, 0, 0);
            (r.connection, r.pid, r.task) = (ConnectionId(asks), pid, Name::new(b"asks"));
            (r.send_ns, r.ready_ns, r.complete_ns) = (from - 5000, Some(until + 5000), Some(until + 5000));
            r.read_ns = until + 6000;
            r.peer = Some(Peer {
                connection: ConnectionId(answers),
                there_ns: 5000,
                turnaround_ns: until - from,
                back_ns: 5000,
            });
            f.responses.push(r);
            f.turnarounds.push(there);
            until -= 10_000;
        }
    }
    f.responses.sort_by_key(|r| (r.connection, r.send_ns));
    f.turnarounds.sort_by_key(|t| (t.connection, t.send_ns));
    let found = |mut f: Facts| {
        for (n, (sport, dport)) in (0u32..).zip(PORTS) {
            let mut c = crate::testing::tcp::connection(n);
            (c.sport, c.dport) = (sport, if dport == 5432 { to } else { dport });
            if sport == 5432 {
                c.sport = to;
            }
            crate::testing::tcp::born(&mut f, c, if n % 2 == 0 && n > 0 || n == 1 { SYN_SENT } else { 3 });
        }
        answer(&f).findings().unwrap().clone()
    };
    let servers = found(f).servers;
    let mut first = servers.into_iter().find(|s| s.server == "10.0.0.2:80").unwrap();
    first.slow.remove(0).waited.unwrap()
}

#[test]
fn the_chain_of_servers_is_followed_to_its_end() {
    let w = asked(5432, 0.99);
    assert_eq!(
        waited_for(&w),
        ", waiting for the answer from 10.0.0.2:8080 (app/17), which waited for that of 10.0.0.2:5432 (db/27 asleep in epoll_wait 100 % of that)"
    );
}

/// The second does something else for more than half of the time.
#[test]
fn what_a_server_did_itself_ends_the_chain() {
    let w = asked(5432, 0.4);
    assert_eq!((w.of.as_str(), w.next), ("10.0.0.2:8080", None));
}

/// Two that ask each other: neither is told twice.
#[test]
fn a_circle_is_told_once() {
    let w = asked(8080, 0.99);
    assert_eq!((w.of.as_str(), w.next), ("10.0.0.2:8080", None));
}

/// A program sends three requests to :8080, 5 ms before the last the first of them, and gets no answer until 10 ms after: how it slept between.
#[test]
fn an_event_loop_waits_from_its_first_request_on() {
    let of = |paused_in: &str| {
        let mut f = facts((0..200).map(|n| (30_000, if n % 4 == 0 { 90 * MS } else { 100_000 })));
        for t in f.turnarounds.clone().iter().filter(|t| t.total_ns() > MS) {
            let mut r = response(0, 0, 0);
            (r.connection, r.pid, r.peer) = (ConnectionId(2), 7, None);
            (r.send_ns, r.ready_ns, r.read_ns) = (t.send_ns - 10 * MS, Some(t.send_ns - MS), t.send_ns - MS);
            (r.sends, r.sending_ns, r.pause_ns) = (3, 70 * MS, 40 * MS);
            r.paused_in = Name::new(paused_in.as_bytes());
            f.responses.push(r);
        }
        f.responses.sort_by_key(|r| (r.connection, r.send_ns));
        for (n, state) in [(0, 3), (1, SYN_SENT), (2, SYN_SENT)] {
            let mut c = crate::testing::tcp::connection(n);
            (c.sport, c.dport) = [(80, 1000), (1000, 80), (1001, 8080)][n as usize];
            crate::testing::tcp::born(&mut f, c, state);
        }
        let servers = answer(&f).findings().unwrap().servers.clone();
        let mut first = servers.into_iter().find(|s| s.server == "10.0.0.2:80").unwrap();
        first.slow.remove(0).waited.map(|w| w.of)
    };
    assert_eq!(of("epoll_wait"), Some("10.0.0.2:8080".into()));
    // Between parts of one request a thread does its own work; so it may where nothing tells.
    assert_eq!(of("clock_nanosleep"), None);
    assert_eq!(of(""), None);
}
