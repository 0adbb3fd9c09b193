use std::collections::BTreeMap;

use super::*;
use crate::facts::ConnectionId;
use crate::testing::rows::turnaround;
use crate::testing::tcp::connection;
use crate::tests::{facts, sample};

const MS: i64 = 1_000_000;

fn rows(f: &Facts) -> BTreeMap<(String, String), ClientRow> {
    let key = |r: &ClientRow| {
        (
            r.client.map_or_else(String::new, |c| c.to_string()),
            r.server.to_string(),
        )
    };
    clients(f).into_iter().map(|r| (key(&r), r)).collect()
}

/// 400 requests of 200 + (n x 37 mod 1000) bytes and answers of 300 + (n x 53 mod 4000), over one connection both ends of which are recorded; the
/// server slept before 40 of them (truth.csv): its stopwatch says for how long.
#[test]
fn requests_of_a_real_recording_are_counted_once() {
    let f = facts("rpc/rpc.nmb");
    let all = rows(&f);
    assert_eq!(all.len(), 1, "{all:?}");
    let r = &all[&("10.78.1.1".to_owned(), "10.78.1.2:7000".to_owned())];
    assert_eq!((r.of.requests.len(), r.of.answered(), r.of.by_server), (400, 400, 0));
    assert_eq!((r.of.connections, r.of.opened, r.of.reset), (1, 1, 0));
    assert_eq!((r.of.failed.len(), r.of.overlaps, r.slow), (0, 0, 0));
    assert_eq!(r.of.task.text(), "python3");
    let asked: u64 = (0..400).map(|n| 200 + n * 37 % 1000).sum();
    let answered: u64 = (0..400).map(|n| 300 + n * 53 % 4000).sum();
    assert_eq!((r.of.bytes_asked, r.of.bytes_answered), (Some(asked), Some(answered)));
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../sample-data/rpc/truth.csv");
    let text = std::fs::read_to_string(dir).unwrap();
    let slept = text.lines().skip(1).map(|l| {
        let cells: Vec<i64> = l.split(',').map(|c| c.parse().unwrap()).collect();
        cells[3] - cells[2]
    });
    let mut slept: Vec<i64> = slept.collect();
    assert_eq!(slept.len(), 40);
    slept.sort_unstable();
    // The slowest 20 of 400 are the longest 20 sleeps, and some of the machine's.
    let near = |ns: Option<i64>, sleep: i64| (0..3 * MS).contains(&(ns.unwrap() - sleep));
    assert!(near(r.max_ns, slept[39]), "{:?} {}", r.max_ns, slept[39]);
    assert!(near(r.p95_ns, slept[19]), "{:?} {}", r.p95_ns, slept[19]);
    assert!(r.p50_ns.unwrap() < 5 * MS, "{:?}", r.p50_ns);
    assert_eq!((r.slow_from_ns, r.first_slow_after_ns), (Some(100 * MS), None));
}

#[test]
fn seconds_sum_to_the_whole() {
    let f = facts("rpc/rpc.nmb");
    let seconds = by_second(&f);
    assert_eq!(seconds.iter().map(|s| s.requests).sum::<u64>(), 400);
    assert_eq!(seconds.iter().map(|s| s.answered).sum::<u64>(), 400);
    let start = f.capture.start_ns.unwrap();
    for s in &seconds {
        let of = f.responses.iter().filter(|r| r.connection == ConnectionId(0));
        let of = of.filter(|r| (r.send_ns - start) / 1_000_000_000 == s.second);
        let longest = of.clone().filter_map(|r| Some(r.ready_ns? - r.send_ns)).max();
        assert_eq!((s.requests, s.max_ns), (of.count() as u64, longest), "{s:?}");
    }
    let longest = seconds.iter().filter_map(|s| s.max_ns).max();
    assert_eq!(longest, clients(&f)[0].max_ns);
}

/// The client's socket is somebody else's: what is left is the server's view, without the way, and its client's address.
#[test]
fn where_the_client_is_not_recorded_its_server_tells() {
    let mut f = facts("rpc/rpc.nmb");
    let seen = rows(&f).into_values().next().unwrap();
    let client = ConnectionId(0);
    f.responses.retain(|r| r.connection != client);
    f.turnarounds.retain(|r| r.connection != client);
    f.opens.clear();
    f.connections[1].peer = None;
    // Number 0 stays, as numbers are places, but as a socket of nobody.
    (f.connections[0].saddr, f.connections[0].daddr) = (None, None);
    let all = rows(&f);
    let r = &all[&("10.78.1.1".to_owned(), "10.78.1.2:7000".to_owned())];
    assert_eq!((all.len(), r.of.requests.len(), r.of.by_server), (1, 400, 400));
    assert_eq!((r.of.by_client, r.of.task.is_empty(), r.of.opened), (false, true, 1));
    assert_eq!(
        (r.of.bytes_asked, r.of.bytes_answered),
        (seen.of.bytes_asked, seen.of.bytes_answered)
    );
    assert!(r.max_ns < seen.max_ns && r.p50_ns < seen.p50_ns);
}

/// By the client's own list: plan, port and error of each attempt.
#[test]
fn attempts_are_counted_as_their_program_counted_them() {
    let f = crate::analyze(&sample("opens/opens.nmb"), &Default::default());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../sample-data/opens/truth.csv");
    let text = std::fs::read_to_string(path).unwrap();
    let mut truth: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        // Where there is no route no event tells whereto.
        let n = truth.entry(format!("10.80.2.1:{}", cells[1])).or_default();
        match cells[0] {
            "stands" | "kept" | "sent again" => n.0 += 1,
            "refused" | "no answer" | "no port" => n.1 += 1,
            "reset" => (n.0, n.2) = (n.0 + 1, n.2 + 1),
            "no route" => {}
            other => panic!("{other}"),
        }
    }
    truth.retain(|_, n| *n != (0, 0, 0));
    let told = rows(&f).into_iter().map(|((client, server), r)| {
        assert_eq!(client, "10.80.1.1", "{server}");
        (server, (r.of.opened, r.of.failed.len() as u64, r.of.reset))
    });
    assert_eq!(told.collect::<BTreeMap<_, _>>(), truth);
}

/// Two clients of a server, of which one waited once for 120 ms where all others took 1 ms; an answer of a server that always takes 50 ms is not
/// slow with 200.
#[test]
fn slow_is_by_the_server_and_says_when() {
    let mut f = Facts::empty();
    f.capture.start_ns = Some(1_000);
    for (n, (client, port)) in [(1u8, 80), (2, 80), (1, 81)].into_iter().enumerate() {
        let mut c = connection(n as u32);
        (c.saddr, c.sport, c.daddr, c.dport) = (
            Some([10, 0, 0, 9].into()),
            port,
            Some([10, 0, 0, client].into()),
            40_000,
        );
        f.connections.push(c);
    }
    let mut turn = |c: u32, at_ms: i64, took_ms: i64| {
        let at = 1_000 + at_ms * MS;
        f.turnarounds.push(turnaround(c, 7, (at, at + took_ms * MS)));
    };
    (0..10).for_each(|n| turn(0, n * 300, 1));
    (0..10).for_each(|n| turn(1, n * 300 + 100, if n == 4 { 120 } else { 1 }));
    (0..10).for_each(|n| turn(2, n * 300, if n == 4 { 200 } else { 50 }));
    let all = rows(&f);
    let of = |client: &str, server: &str| &all[&(client.to_owned(), server.to_owned())];
    let (fast, waited, always) = (
        of("10.0.0.1", "10.0.0.9:80"),
        of("10.0.0.2", "10.0.0.9:80"),
        of("10.0.0.1", "10.0.0.9:81"),
    );
    assert_eq!((fast.slow, waited.slow, always.slow), (0, 1, 0));
    assert_eq!(
        (waited.slow_from_ns, always.slow_from_ns),
        (Some(100 * MS), Some(250 * MS))
    );
    assert_eq!(
        (waited.first_slow_after_ns, waited.last_slow_after_ns),
        (Some(1_300 * MS), Some(1_300 * MS))
    );
    let seconds = by_second(&f);
    let of_waited = seconds.iter().filter(|s| s.client == waited.client);
    let told: Vec<_> = of_waited
        .map(|s| (s.second, s.requests, s.max_ns.unwrap() / MS))
        .collect();
    assert_eq!(told, [(0, 3, 1), (1, 4, 120), (2, 3, 1)]);
}

/// A view that nobody asks for costs nothing, and has its columns all the same.
#[test]
fn the_views_are_made_when_they_are_asked_for() {
    let f = facts("rpc/rpc.nmb");
    let tables = f.tables();
    let view = tables.iter().find(|t| t.name() == "clients").unwrap();
    let columns = view.columns();
    let cell = |name: &str| view.cell(0, columns.iter().position(|c| c.name == name).unwrap());
    assert_eq!(view.len(), 1);
    assert_eq!(cell("server"), crate::table::Cell::str("10.78.1.2:7000"));
    assert_eq!(cell("requests"), crate::table::Cell::U64(400));
    assert_eq!(cell("unanswered"), crate::table::Cell::U64(0));
    assert_eq!(view.cell(1, 0), crate::table::Cell::Null);
}

/// Each response of the client says the same ends as its server's turnaround.
#[test]
fn both_ends_call_client_and_server_alike() {
    let f = facts("rpc/rpc.nmb");
    let tables = f.tables();
    let ends = |view: &str, names: [&str; 2]| {
        let t = tables.iter().find(|t| t.name() == view).unwrap();
        let at = |name: &str| t.columns().iter().position(|c| c.name == name).unwrap();
        let of = (0..t.len()).map(|row| names.map(|n| format!("{:?}", t.cell(row, at(n)))));
        of.collect::<std::collections::BTreeSet<_>>()
    };
    let text = |end: &str| format!("{:?}", crate::table::Cell::str(end.to_owned()));
    let (client, server) = (text("10.78.1.1:41276"), text("10.78.1.2:7000"));
    let one = std::collections::BTreeSet::from([[client.clone(), server.clone()]]);
    assert_eq!(ends("responses", ["client", "server"]), one);
    assert_eq!(ends("turnarounds", ["client", "server"]), one);
    // A socket's own end and its peer: both ways, and empty where no socket is known.
    let both = [[client.clone(), server.clone()], [server, client]];
    let of = ends("rx", ["local", "peer"]);
    assert!(both.iter().all(|b| of.contains(b)), "{of:?}");
    let none = format!("{:?}", crate::table::Cell::Null);
    assert!(
        of.iter()
            .all(|e| both.contains(e) || *e == [none.clone(), none.clone()]),
        "{of:?}"
    );
}
