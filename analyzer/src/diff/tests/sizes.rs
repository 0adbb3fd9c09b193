//! How much each answer has: single answers by hand, and a real recording whose answers are larger and slower.

use super::samples::{facts, of};
use crate::diff::servers::sizes::{self, Sizes};
use crate::diff::sides::options::Recording;
use crate::diff::values::moves;
use crate::diff::{Diff, Outcome};
use crate::facts::{ConnectionId, Facts};
use crate::ingest::GapRow;
use crate::reconstruct::application::tables::ResponseRow;
use crate::reconstruct::receive::tables::{RxEnd, RxRow};

const MS: i64 = 1_000_000;
const SERVER: &str = "10.78.1.2:7000";

fn like() -> ResponseRow {
    facts("rpc/rpc.nmb").responses.remove(0)
}

/// Clients 10.0.0.1, .2, ... ask 10.0.0.9:80 each 10 ms on one connection each, and get answers of these sizes in two units.
fn asked(like: &ResponseRow, clients: &[&[u32]]) -> Facts {
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(100_000 * MS));
    for (c, sizes) in clients.iter().enumerate() {
        let mut row = crate::testing::tcp::connection(c as u32);
        row.saddr = Some(std::net::Ipv4Addr::new(10, 0, 0, 1 + c as u8).into());
        row.daddr = Some(std::net::Ipv4Addr::new(10, 0, 0, 9).into());
        (row.sport, row.dport) = (40_000, 80);
        let connection = row.connection;
        crate::testing::tcp::born(&mut f, row, 2);
        for (n, bytes) in sizes.iter().enumerate() {
            let send_ns = (10 + 10 * n as i64) * MS;
            f.responses.push(ResponseRow {
                connection,
                send_ns,
                ready_ns: Some(send_ns + MS),
                read_ns: send_ns + MS,
                complete_ns: Some(send_ns + 2 * MS),
                overlap: false,
                confidence: crate::Confidence::Strong,
                ..like.clone()
            });
            for (at, bytes) in [(MS, 100.min(*bytes)), (2 * MS, bytes.saturating_sub(100))] {
                f.rx.push(RxRow {
                    connection: Some(connection),
                    start_ns: send_ns + at,
                    bytes: Some(bytes),
                    end: RxEnd::Read,
                    confidence: crate::Confidence::Certain,
                    ..RxRow::default()
                });
            }
        }
        closed(&mut f, c as u32, 100_000);
    }
    f
}

fn closed(f: &mut Facts, c: u32, ms: i64) {
    f.tcp_states.push(crate::testing::tcp::state(c, 8, ms * MS));
}

fn found(before: &Facts, after: &Facts) -> Vec<Sizes> {
    let side = |f| Recording::all(&[f], &[], None);
    sizes::of(&[before, after].map(|f| moves::of(&side(f), false)))
}

fn words(before: &Facts, after: &Facts) -> Vec<String> {
    found(before, after).iter().map(|s| s.words(true)).collect()
}

#[test]
fn each_answer_has_so_many_times_as_much() {
    let like = like();
    let f = |clients: &[&[u32]]| asked(&like, clients);
    let (small, large) = (f(&[&[25_300; 12]]), f(&[&[110_000; 11]]));
    let said = "each answer from 10.0.0.9:80 has 110.0 kB where it had 25.3 kB (4.3 times as much, n 12 -> 11)";
    assert_eq!(words(&small, &large), [said]);
    let back = "each answer from 10.0.0.9:80 has 25.3 kB where it had 110.0 kB (23 % of that, n 11 -> 12)";
    assert_eq!(words(&large, &small), [back]);
    assert_eq!(words(&small, &f(&[&[37_000; 12]])), [""; 0]);
    assert!(found(&small, &f(&[&[38_000; 12]]))[0].grown());
    // Too few; names that are pseudonyms.
    assert_eq!(words(&small, &f(&[&[110_000; 9]])), [""; 0]);
    let side = |f| Recording::all(&[f], &[], None);
    assert_eq!(sizes::of(&[&small, &large].map(|f| moves::of(&side(f), true))), []);
    // Sizes that differ so much by themselves say nothing of a few; all of them larger do.
    let some = |by: u32| -> Vec<u32> { (0..16).map(|n| (100 + n * n * 400) * by).collect() };
    let moved: Vec<u32> = some(1).iter().map(|v| v * 2).collect();
    assert_eq!(words(&f(&[&some(1)]), &f(&[&moved])), [""; 0]);
    let said = "answers from 10.0.0.9:80 have p50 256.1 kB where they had 25.7 kB (10.0 times as much, n 160 -> 160)";
    let many = |by| some(by).repeat(10);
    assert_eq!(
        words(&f(&[&many(1)]), &f(&[&many(10)])),
        [said.replace("256.1", "257.0")]
    );
}

#[test]
fn of_several_clients_the_one_whose_answers_are_larger_is_named() {
    let like = like();
    let f = |clients: &[&[u32]]| asked(&like, clients);
    let before = f(&[&[25_300; 12], &[800; 40]]);
    let said =
        "each answer from 10.0.0.9:80 to 10.0.0.1 has 110.0 kB where it had 25.3 kB (4.3 times as much, n 12 -> 12)";
    assert_eq!(words(&before, &f(&[&[110_000; 12], &[800; 40]])), [said]);
    // All of them.
    let all = words(&before, &f(&[&[110_000; 12], &[3_200; 40]]));
    assert!(
        all[0].starts_with("answers from 10.0.0.9:80 have p50 3.2 kB"),
        "{all:?}"
    );
    // Few of the client that both have: what another one gets is another's.
    assert_eq!(
        words(&f(&[&[25_300; 12]]), &f(&[&[25_300; 4], &[110_000; 90]])),
        [""; 0]
    );
    // Each as before, and more of the one with larger ones.
    assert_eq!(words(&before, &f(&[&[25_300; 90], &[800; 40]])), [""; 0]);
}

/// What is not wholly known counts nowhere.
#[test]
fn answers_that_are_cut_do_not_count() {
    let like = like();
    let small = asked(&like, &[&[25_300; 10]]);
    let large = || asked(&like, &[&[110_000; 10]]);
    assert_eq!(found(&small, &large()).len(), 1);
    // The last one of a connection that is open.
    let mut open = large();
    open.tcp_states.retain(|s| s.state != 8);
    assert_eq!(found(&small, &open), []);
    // A unit whose length no event states; a loss.
    let mut unknown = large();
    unknown.rx[3].bytes = None;
    assert_eq!(found(&small, &unknown), []);
    // One that may be another connection's.
    let mut weak = large();
    weak.rx[3].confidence = crate::Confidence::Weak;
    assert_eq!(found(&small, &weak), []);
    let mut lost = large();
    lost.gaps.push(GapRow {
        cpu: 0,
        start_ns: Some(21 * MS),
        end_ns: Some(22 * MS),
        lost_events: None,
        cause: "overrun",
    });
    assert_eq!(found(&small, &lost), []);
    // One that is no answer, as it was there before the request.
    let mut overlap = large();
    overlap.responses[2].overlap = true;
    assert_eq!(found(&small, &overlap), []);
}

/// The answers of connection 0 of the rpc sample, `more` times as large and `ns` later.
fn changed(more: u32, requests: u32, ns: i64) -> Facts {
    let mut f = facts("rpc/rpc.nmb");
    let client = |c: ConnectionId, f: &Facts| f.connections[c.0 as usize].dport == 7000;
    for at in 0..f.rx.len() {
        if f.rx[at].connection.is_some_and(|c| client(c, &f)) {
            f.rx[at].bytes = f.rx[at].bytes.map(|b| b * more);
        }
    }
    for at in 0..f.tx.len() {
        if f.tx[at].connection.is_some_and(|c| client(c, &f)) {
            f.tx[at].bytes = f.tx[at].bytes.map(|b| b * requests);
        }
    }
    for at in 0..f.responses.len() {
        if client(f.responses[at].connection, &f) {
            f.responses[at].ready_ns = f.responses[at].ready_ns.map(|t| t + ns);
        }
    }
    f
}

#[test]
fn larger_answers_are_why_they_take_longer() {
    let f = changed(1, 1, 0);
    let said = |d: &Diff| d.verdict.sentence.clone();
    let d = of(&f, &changed(4, 1, 19 * MS));
    let first = format!("Answers from {SERVER} take longer: p50 ");
    assert!(said(&d).starts_with(&first), "{}", said(&d));
    let why = "n 400 -> 400; answers have p50 8.7 kB where they had 2.2 kB (4.0 times as much, n 400 -> 400)";
    assert!(said(&d).contains(why), "{}", said(&d));
    assert!(!d.verdict.lines.iter().any(|l| l.1.contains("answers have")));
    // Requests.
    let d = of(&f, &changed(1, 4, 19 * MS));
    assert!(
        said(&d).contains("n 400 -> 400; requests have p50 2.8 kB where they had "),
        "{}",
        said(&d)
    );
    // Smaller ones are not why they take longer.
    let d = of(&changed(4, 1, 0), &changed(1, 1, 19 * MS));
    assert!(!said(&d).contains("answers have"), "{}", said(&d));
}

/// More bytes alone are no harm: a line, and no verdict.
#[test]
fn larger_answers_alone_are_a_line_and_no_alarm() {
    let d = of(&changed(1, 1, 0), &changed(4, 1, 0));
    assert_ne!(d.verdict.outcome, Outcome::Worse);
    let line = format!("Answers from {SERVER} have p50 8.7 kB where they had 2.2 kB (4.0 times as much, n 400 -> 400)");
    let lines = &d.verdict.lines;
    assert!(lines.contains(&(Outcome::Changed, line)), "{lines:?}");
    let d = of(&changed(1, 1, 0), &changed(1, 1, 0));
    assert!(!d.verdict.lines.iter().any(|l| l.1.contains(" have p50 ")));
}

/// Half of the answers are of another server, whose own have as much as before: they waited in the queue that the larger ones fill.
#[test]
fn others_in_the_same_queue_are_behind_the_larger_ones() {
    let split = |more: u32, ns: i64| {
        let mut f = changed(1, 1, ns);
        let other = ConnectionId(f.connections.len() as u32);
        let client = f.connections.iter().find(|c| c.dport == 7000).unwrap().clone();
        f.connections.push(crate::reconstruct::tcp::tables::ConnectionRow {
            connection: other,
            dport: 7001,
            peer: None,
            ..client.clone()
        });
        let own: Vec<i64> = (f.responses.iter())
            .filter(|r| r.connection == client.connection)
            .map(|r| r.send_ns)
            .collect();
        let odd = |at: i64| own.partition_point(|send| *send <= at) % 2 == 1;
        for r in f
            .responses
            .iter_mut()
            .filter(|r| r.connection == client.connection && odd(r.send_ns))
        {
            r.connection = other;
        }
        f.responses.sort_by_key(|r| (r.connection, r.send_ns));
        for r in f.rx.iter_mut().filter(|r| r.connection == Some(client.connection)) {
            match odd(r.start_ns) {
                true => r.connection = Some(other),
                false => r.bytes = r.bytes.map(|b| b * more),
            }
        }
        for x in f.xmits.iter_mut() {
            x.qdisc_ns = x.qdisc_ns.map(|q| q + ns);
        }
        f
    };
    let d = of(&split(1, 0), &split(4, 19 * MS));
    let said = &d.verdict.sentence;
    let (first, then) = (
        said.find(&format!("Answers from {SERVER} take longer")),
        said.find("Answers from 10.78.1.2:7001 take longer"),
    );
    assert!(first < then && first.is_some(), "{said}");
    let behind = format!("behind the larger answers from {SERVER} (inferred)");
    assert_eq!(said.matches(&behind).count(), 1, "{said}");
    assert!(said.find(&behind) > then, "{said}");
    // As large as before: nobody is behind them.
    let d = of(&split(1, 0), &split(1, 19 * MS));
    assert!(
        !d.verdict.sentence.contains("behind the larger"),
        "{}",
        d.verdict.sentence
    );
}

/// A server whose clients are elsewhere tells it by what it sends.
#[test]
fn a_server_alone_tells_it_too() {
    let side = |bytes: u32| {
        let mut f = facts("rpc/rpc.nmb");
        f.responses.clear();
        let server = f.connections.iter().position(|c| c.sport == 7000).unwrap();
        f.connections[server].peer = None;
        let id = f.connections[server].connection;
        for t in f.tx.iter_mut().filter(|t| t.connection == Some(id)) {
            t.bytes = t.bytes.map(|b| b * bytes);
        }
        f
    };
    let said = words(&side(1), &side(2));
    assert!(
        said[0].starts_with(&format!("answers from {SERVER} have p50 4.4 kB")),
        "{said:?}"
    );
}
