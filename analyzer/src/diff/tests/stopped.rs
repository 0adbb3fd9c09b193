//! Servers that answer on one side alone: those that hang, refuse, or are asked no more.

use super::samples::{facts, of};
use crate::diff::Outcome;
use crate::diff::Stopped;
use crate::diff::servers::{Servers, stopped};
use crate::diff::sides::options::Recording;
use crate::diff::values::usual::Usual;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::ResponseRow;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};
use crate::reconstruct::tcp::states::FIN_WAIT1;
use crate::reconstruct::transmit::tables::TxKind;

pub(super) const MS: i64 = 1_000_000;
/// Length of a recording.
pub(super) const END: i64 = 10_000 * MS;

pub(super) fn open(connection: u32, at: i64, end: OpenEnd, syns_again: u32) -> OpenRow {
    OpenRow {
        connection: Some(ConnectionId(connection)),
        from: None,
        to: Some(([10, 0, 0, 9].into(), 80)),
        pid: 7,
        task: Default::default(),
        start_ns: at,
        end_ns: at + MS,
        end,
        error: None,
        message: false,
        syns_again: Some(syns_again),
        confidence: crate::Confidence::Certain,
    }
}

/// Connections to 10.0.0.9:80 with so many answers each, of 10 ms, and then a request so long before the end (0: none) that gets none.
pub(super) fn asked(connections: &[(i64, i64)]) -> Facts {
    let mut like = facts("rpc/rpc.nmb");
    let response = like.responses.remove(0);
    let tx = like.tx.iter().find(|t| t.kind == TxKind::Tcp).unwrap();
    let data = like.rx.iter().find(|r| r.bytes.is_some_and(|n| n > 0)).unwrap();
    let mut f = Facts::empty();
    (f.capture.start_ns, f.capture.end_ns) = (Some(0), Some(END - 1));
    for (c, (answers, late_ns)) in connections.iter().enumerate() {
        let mut row = crate::testing::tcp::connection(c as u32);
        (row.saddr, row.daddr) = (Some([10, 0, 0, 1].into()), Some([10, 0, 0, 9].into()));
        (row.sport, row.dport) = (40_000 + c as u16, 80);
        let connection = row.connection;
        crate::testing::tcp::born(&mut f, row, 2);
        let send = |f: &mut Facts, at: i64| {
            let mut t = tx.clone();
            (t.connection, t.start_ns, t.bytes) = (Some(connection), at, Some(100));
            f.tx.push(t);
        };
        for n in 0..*answers {
            let (send_ns, ready) = ((10 + 40 * n) * MS, (20 + 40 * n) * MS);
            send(&mut f, send_ns);
            let mut r = data.clone();
            (r.connection, r.start_ns) = (Some(connection), ready);
            f.rx.push(r);
            f.responses.push(ResponseRow {
                connection,
                send_ns,
                ready_ns: Some(ready),
                read_ns: ready,
                complete_ns: Some(ready),
                overlap: false,
                confidence: crate::Confidence::Strong,
                ..response.clone()
            });
        }
        if *late_ns > 0 {
            send(&mut f, END - late_ns);
        }
    }
    f
}

/// What is told of servers, with the devices that count.
pub(super) fn servers(before: &Facts, after: &Facts, devices: &[String]) -> Servers {
    let side = |f| Recording::all(&[f], devices, None);
    let (mut b, mut a) = (side(before), side(after));
    let usual = Usual::of(&b, &a);
    b.iter_mut().chain(&mut a).for_each(|r| r.usual = Some(&usual));
    let mut out = Servers::default();
    stopped::fill(&mut out, &b, &a, &mut vec![]);
    out
}

pub(super) fn all(before: &Facts, after: &Facts) -> Vec<Stopped> {
    servers(before, after, &[]).stopped
}

fn words(before: &Facts, after: &Facts) -> Vec<(String, Option<bool>)> {
    all(before, after).iter().map(|s| (s.sentence(), s.worse())).collect()
}

#[test]
fn a_server_that_hangs_is_said_and_worse_where_many_ask_in_vain() {
    let before = asked(&[(100, 0); 5]);
    // Who waits yet may wait for what is to come.
    let waiting = asked(&[(0, 4_000 * MS); 12]);
    assert_eq!(words(&before, &waiting)[0].1, None);
    let given_up = |at: i64| {
        let mut f = asked(&[(0, 4_000 * MS); 12]);
        let closes = (0..12).map(|c| crate::testing::tcp::state(c, FIN_WAIT1, at));
        f.tcp_states.extend(closes);
        f
    };
    let hangs = given_up(END - MS);
    // A goodbye before it closes asks for nothing.
    assert_eq!(words(&before, &given_up(END - 3_999 * MS))[0].1, None);
    let said = "After, 10.0.0.9:80 answered nothing: 500 answers before, 0 after; 12 messages to it got no answer (the longest waited 3.999 s)";
    assert_eq!(words(&before, &hangs), [(said.to_owned(), Some(true))]);
    let back = "Before, 10.0.0.9:80 answered nothing: 0 answers before, 500 after; 12 messages to it got no answer (the longest waited 3.999 s)";
    assert_eq!(words(&hangs, &before), [(back.to_owned(), Some(false))]);
    // One of them is no verdict.
    let one = words(&before, &asked(&[(20, 4_000 * MS)]));
    let said = "After, 10.0.0.9:80 answered hardly anything: 500 answers before, 20 after; 1 message to it got no answer (the longest waited 4.000 s)";
    assert_eq!(one, [(said.to_owned(), None)]);
}

#[test]
fn who_waits_at_the_end_no_longer_than_usual_has_not_asked_in_vain() {
    let before = asked(&[(100, 0); 5]);
    let said = |what: &str| {
        let sentence = format!("After, 10.0.0.9:80 answered nothing: 500 answers before, 0 after; {what}");
        [(sentence, None)]
    };
    let late = asked(&[(0, 15 * MS); 12]);
    let usual = said("it was asked on 12 connections, and none waited longer than is usual");
    assert_eq!(words(&before, &late), usual);
    // Nobody asked; and where as many answers are there, or the other recording is too short for any, nothing is said.
    let nobody = said("no request to it was recorded there");
    assert_eq!(words(&before, &asked(&[])), nobody);
    assert_eq!(words(&before, &before), []);
    assert_eq!(words(&before, &asked(&[(60, 4_000 * MS)])), []);
    let mut short = asked(&[]);
    short.capture.end_ns = Some(END / 100);
    assert_eq!(words(&before, &short), []);
    // A server that is read by other calls speaks, though no answer is told.
    let mut others = before_without_answers();
    assert_eq!(words(&before, &others), []);
    others.rx.clear();
    assert_eq!(words(&before, &others).len(), 1);
}

fn before_without_answers() -> Facts {
    let mut f = asked(&[(100, 0); 5]);
    f.responses.clear();
    f
}

#[test]
fn a_server_that_refuses_is_said_and_so_are_openings_that_failed() {
    let mut before = asked(&[(100, 0); 5]);
    let mut refuses = asked(&[(0, 0); 40]);
    before
        .opens
        .extend((0..5).map(|c| open(c, MS, OpenEnd::Established, 0)));
    // Of one that was given up at once nothing is known.
    refuses
        .opens
        .extend((0..20).map(|c| open(c, MS * i64::from(c), OpenEnd::Refused, 0)));
    refuses
        .opens
        .extend((20..30).map(|c| open(c, MS * i64::from(c), OpenEnd::Waiting, 1)));
    refuses
        .opens
        .extend((30..40).map(|c| open(c, MS * i64::from(c), OpenEnd::GivenUp, 0)));
    let said = "After, 10.0.0.9:80 answered nothing: 500 answers before, 0 after; 30 of 30 openings of connections to it failed (20 refused, 10 without an answer); 10 openings of connections to it were given up after p50 1.00 ms";
    assert_eq!(words(&before, &refuses), [(said.to_owned(), Some(true))]);
}

/// With so many attempts to open a connection, spread over the recording, of which every `nth` is refused (0: none).
pub(super) fn opening(n: u32, nth: u32) -> Facts {
    let mut f = facts("rpc/rpc.nmb");
    let (from, to) = (f.capture.start_ns.unwrap(), f.capture.end_ns.unwrap());
    for at in 0..n {
        let end = match nth {
            0 => OpenEnd::Established,
            nth if at % nth == 0 => OpenEnd::Refused,
            _ => OpenEnd::Established,
        };
        let start = from + (to - from) / i64::from(n) * i64::from(at);
        f.opens.push(open(0, start, end, 0));
    }
    f
}

#[test]
fn openings_that_fail_are_a_rate() {
    let d = of(&opening(200, 0), &opening(200, 2));
    let r = d
        .rates
        .iter()
        .find(|r| r.metric == "app.failed_opens[10.0.0.9:80]")
        .unwrap();
    assert_eq!((r.before.of, r.after.of, r.outcome), (0.0, 100.0, Outcome::Worse));
    assert_eq!(d.verdict.outcome, Outcome::Worse);
    let said = "Openings of connections to 10.0.0.9:80 that failed: 0 of 200 -> 100 of 200.";
    assert!(d.verdict.sentence.starts_with(said), "{}", d.verdict.sentence);
    // As many on both sides.
    let d = of(&opening(200, 2), &opening(200, 2));
    assert_eq!(d.verdict.outcome, Outcome::Same, "{:?}", d.verdict);
}

/// As where the server answers no more from the tenth request of 400 on.
fn hung() -> Facts {
    let mut f = facts("rpc/rpc.nmb");
    let ports: Vec<u16> = f.connections.iter().map(|c| c.dport).collect();
    let client = |c: Option<ConnectionId>| c.is_some_and(|c| ports[c.0 as usize] == 7000);
    let last = f
        .responses
        .iter()
        .filter(|r| client(Some(r.connection)))
        .nth(9)
        .unwrap()
        .read_ns;
    f.responses.retain(|r| r.send_ns < last);
    f.turnarounds.retain(|t| t.send_ns < last);
    f.rx.retain(|r| r.start_ns < last || !client(r.connection));
    let mut asked = 0;
    f.tx.retain(|t| {
        let late = t.start_ns >= last;
        asked += u32::from(late && client(t.connection));
        !late || client(t.connection) && asked <= 1
    });
    f
}

#[test]
fn where_the_only_server_hangs_that_is_no_good_news() {
    let d = of(&facts("rpc/rpc.nmb"), &hung());
    let v = &d.verdict;
    let said = "After, 10.78.1.2:7000 answered hardly anything: 400 answers before, 10 after; 1 message to it got no answer (the longest waited ";
    assert!(v.sentence.contains(said), "{}", v.sentence);
    assert!(
        v.outcome != Outcome::Better && (v.outcome != Outcome::Same || v.reserved),
        "{v:?}"
    );
    assert!(!v.sentence.contains("No difference found. "), "{}", v.sentence);
    assert_eq!(d.stopped.len(), 1);
}

/// One that is asked by another address answers, and is no server that is gone.
#[test]
fn a_service_that_moved_is_said_as_one() {
    let before = asked(&[(100, 0); 5]);
    let mut after = asked(&[(100, 0); 5]);
    for c in &mut after.connections {
        c.daddr = Some("2001:db8::9".parse().unwrap());
    }
    let moved =
        "In place of 10.0.0.9:80 (500 answers before, 0 after) answers [2001:db8::9]:80 (0 answers before, 500 after).";
    assert_eq!(stopped::said(&all(&before, &after)), (vec![], vec![moved.to_owned()]));
    // It is slower.
    let mut slow = after.clone();
    for r in &mut slow.responses {
        r.ready_ns = r.ready_ns.map(|t| t + 30 * MS);
        (r.read_ns, r.complete_ns) = (r.read_ns + 30 * MS, r.ready_ns);
    }
    let said = stopped::said(&all(&before, &slow)).1.remove(0);
    assert!(
        said.ends_with(" 500 after), an answer there p50 10.00 ms -> 40.00 ms."),
        "{said}"
    );
    // Nobody is called worse for the old address, which is looked after yet.
    after
        .opens
        .extend((0..20).map(|c| open(c, MS * i64::from(c), OpenEnd::Refused, 0)));
    let checked = all(&before, &after);
    assert!(checked.len() == 2 && checked.iter().all(|s| s.worse().is_none() && !s.moved.is_empty()));
    after.opens.clear();
    // At another port it is another.
    for c in &mut after.connections {
        c.dport = 81;
    }
    assert_eq!(stopped::said(&all(&before, &after)).1.len(), 2);
    // Which end of an old connection the server is, nobody knows: it may lead there.
    let mut old = asked(&[]);
    let mut row = crate::testing::tcp::connection(0);
    (row.saddr, row.daddr) = (Some([10, 0, 0, 1].into()), Some([10, 0, 0, 9].into()));
    (row.sport, row.dport) = (20_000, 80);
    old.connections.push(row);
    assert_eq!(all(&before, &old).len(), 0);
}
