//! A proxy that for some time asks nobody.

use super::{MS, turnaround};
use crate::analyses::application::{ByItself, answer};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::{ResponseRow, TurnaroundRow};

const N: i64 = 400;

/// 400 requests, one each 10 ms: for those of `own` the proxy sends its answer 100 us after it read them, for others it asks a server between.
fn facts(own: impl Fn(i64) -> bool) -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(N * 10 * MS));
    f.capture.duration_ns = N * 10 * MS;
    for (n, (sport, dport, born)) in [(80, 40_000, 3), (50_000, 8080, 2)].into_iter().enumerate() {
        let mut c = crate::testing::tcp::connection(n as u32);
        (c.sport, c.dport, c.born) = (sport, dport, Some(born));
        f.connections.push(c);
    }
    for n in 0..N {
        let at = n * 10 * MS;
        let send_ns = at + if own(n) { 100_000 } else { MS };
        f.turnarounds.push(TurnaroundRow {
            ready_ns: Some(at),
            read_ns: at + 1000,
            send_ns,
            sender: Name::new(b"haproxy"),
            ..turnaround(0, MS, "epoll_wait")
        });
        if !own(n) {
            f.responses.push(ResponseRow {
                pid: 7,
                send_ns: at + 50_000,
                ready_ns: Some(send_ns - 50_000),
                read_ns: send_ns - 40_000,
                complete_ns: Some(send_ns - 50_000),
                peer: None,
                ..super::response(1, 0, 1)
            });
        }
    }
    f
}

fn found(f: &Facts) -> Option<ByItself> {
    answer(f).findings().and_then(|a| a.by_itself.clone())
}

#[test]
fn spells_without_a_question_to_a_server_are_told() {
    let f = facts(|n| (100..150).contains(&n) || (300..340).contains(&n));
    let at = |n: i64| n * 10 * MS + 1000;
    let expect = ByItself {
        task: "haproxy".into(),
        server: "10.0.0.1:80".into(),
        n: 90,
        of: 400,
        p50_ns: Some(100_000),
        spells: vec![(at(100), at(149)), (at(300), at(339))],
        all: 2,
    };
    assert_eq!(found(&f), Some(expect));
    let lines = crate::analyses::answer(&f).verdict;
    let line = lines.iter().find(|l| l.subject == "application").unwrap();
    let said = "haproxy answered by itself 90 of 400 requests to 10.0.0.1:80 (p50 100.0 µs), without asking a server or trying to, all from 1.0 to 1.5 s, 3.0 to 3.4 s";
    assert!(
        line.sentence.to_lowercase().contains(&said.to_lowercase()),
        "{}",
        line.sentence
    );
}

#[test]
fn a_cache_and_a_server_are_no_such_proxies() {
    // Now and then; all the time; for the whole second half.
    assert_eq!(found(&facts(|n| n % 3 == 0)), None);
    assert_eq!(found(&facts(|_| true)), None);
    assert_eq!(found(&facts(|n| n >= 190)), None);
    // A few beside: not only in spells.
    assert_eq!(found(&facts(|n| (100..150).contains(&n) || n % 10 == 3)), None);
    // Requests of another client, for which it never asks.
    let mut other = facts(|n| (100..150).contains(&n));
    let mut c = other.connections[0].clone();
    (c.connection, c.dport) = (ConnectionId(2), 40_001);
    other.connections.push(c);
    let moved = |t: &mut TurnaroundRow| {
        if t.total_ns() < MS {
            t.connection = ConnectionId(2);
        }
    };
    other.turnarounds.iter_mut().for_each(moved);
    other.turnarounds.sort_by_key(|t| t.connection);
    assert_eq!(found(&other), None);
    // It tried to connect each time.
    let mut tried = facts(|n| (100..150).contains(&n));
    for n in 100..150 {
        tried.tx.push(crate::reconstruct::transmit::tables::TxRow {
            connection: Some(ConnectionId(1)),
            pid: 7,
            start_ns: n * 10 * MS + 20_000,
            ..crate::testing::sent()
        });
    }
    assert_eq!(found(&tried), None);
    // It asked by UDP each time.
    for t in &mut tried.tx {
        (t.kind, t.connection) = (crate::reconstruct::transmit::tables::TxKind::Udp, None);
    }
    assert_eq!(found(&tried), None);
}

/// That another of its connections is used between a request and its answer is no question to a server.
#[test]
fn who_asks_nobody_for_the_others_is_no_proxy() {
    let mut f = facts(|n| (100..150).contains(&n));
    // It asks for one in ten.
    f.responses.retain(|r| r.send_ns / (10 * MS) % 10 == 0);
    let mut c = f.connections[0].clone();
    (c.connection, c.dport) = (ConnectionId(2), 40_001);
    f.connections.push(c);
    let beside: Vec<TurnaroundRow> = (f.turnarounds.iter())
        .filter(|t| t.total_ns() >= MS)
        .map(|t| TurnaroundRow {
            connection: ConnectionId(2),
            ready_ns: t.ready_ns.map(|at| at + 100_000),
            read_ns: t.read_ns + 100_000,
            send_ns: t.send_ns + 100_000,
            ..t.clone()
        })
        .collect();
    f.turnarounds.extend(beside);
    assert_eq!(found(&f), None);
    // Two answers, years apart by a broken clock.
    let mut f = facts(|n| (100..150).contains(&n));
    f.turnarounds.truncate(2);
    let late = &mut f.turnarounds[1];
    late.ready_ns = late.ready_ns.map(|at| at + i64::MAX / 8);
    (late.read_ns, late.send_ns) = (late.read_ns + i64::MAX / 8, late.send_ns + i64::MAX / 8);
    assert_eq!(found(&f), None);
}
