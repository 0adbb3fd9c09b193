//! What was asked in vain: openings that fail, messages without an answer, and where nothing else can be compared.

use super::samples::{facts, of};
use super::stopped::{END, MS, all, asked, open, opening, servers};
use crate::diff::Diff;
use crate::diff::DiffOptions;
use crate::diff::Failing;
use crate::diff::Outcome;
use crate::diff::compare;
use crate::diff::servers::stopped;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::ResponseRow;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};
use crate::reconstruct::tcp::states::FIN_WAIT1;
use crate::reconstruct::transmit::tables::TxKind;

const SERVER: ([u8; 4], u16) = ([10, 78, 1, 2], 7000);

/// Openings to the server of `rpc` at even times.
fn opens(f: &Facts, n: u32, end: OpenEnd) -> Vec<OpenRow> {
    let (from, to) = (f.capture.start_ns.unwrap(), f.capture.end_ns.unwrap());
    let one = |at: u32| OpenRow {
        to: Some((SERVER.0.into(), SERVER.1)),
        ..open(0, from + (to - from) / i64::from(n) * i64::from(at), end, 0)
    };
    (0..n).map(one).collect()
}

/// As where the server's host has no such server any more: SYNs, and RSTs that are no connection's.
fn dead(end: Option<OpenEnd>) -> Facts {
    let mut f = facts("rpc/rpc.nmb");
    let opens = end.map_or_else(Vec::new, |end| opens(&f, 40, end));
    f.opens.extend(opens);
    f.rx.iter_mut().for_each(|r| r.connection = None);
    f.tx.clear();
    f.responses.clear();
    f.turnarounds.clear();
    f
}

#[test]
fn a_server_that_is_gone_is_worse_though_the_traffic_is_another() {
    let before = facts("rpc/rpc.nmb");
    let d = of(&before, &dead(Some(OpenEnd::Refused)));
    let v = &d.verdict;
    assert_eq!(v.outcome, Outcome::Worse, "{}", v.sentence);
    let said = "After, 10.78.1.2:7000 answered nothing: 400 answers before, 0 after; 40 of 41 openings of connections to it failed (40 refused).";
    assert!(v.sentence.starts_with(said), "{}", v.sentence);
    let said = "Worse in 1 of what was measured. Nothing else is comparable: most of the traffic is of another kind";
    assert!(v.sentence.contains(said), "{}", v.sentence);
    assert!(d.metrics.is_empty());
    // Nobody asks: that is said, and no verdict.
    let d = of(&before, &dead(None));
    let v = &d.verdict;
    assert_eq!(v.outcome, Outcome::NotComparable);
    assert!(
        v.sentence.starts_with("Not comparable. Most of the traffic"),
        "{}",
        v.sentence
    );
    assert!(
        v.sentence.contains("After, 10.78.1.2:7000 answered nothing"),
        "{}",
        v.sentence
    );
    // With events lost nothing is looked for.
    let mut lost = dead(Some(OpenEnd::Refused));
    lost.capture.lost_events = lost.capture.total_events / 50;
    let d = of(&before, &lost);
    assert_eq!((d.verdict.outcome, d.stopped.len()), (Outcome::NotComparable, 0));
}

/// Beside the real ones so many connections to the server on which a message waits 100 ms, until its client closes.
fn given_up(n: u32, bytes: u32) -> Facts {
    let mut f = facts("rpc/rpc.nmb");
    let tx = f.tx.iter().find(|t| t.kind == TxKind::Tcp).unwrap().clone();
    let (from, to) = (f.capture.start_ns.unwrap(), f.capture.end_ns.unwrap());
    for at in 0..n {
        let id = f.connections.len() as u32;
        let mut row = crate::testing::tcp::connection(id);
        (row.saddr, row.sport) = (Some([10, 78, 1, 1].into()), 50_000 + at as u16);
        (row.daddr, row.dport) = (Some(SERVER.0.into()), SERVER.1);
        crate::testing::tcp::born(&mut f, row, 2);
        let mut t = tx.clone();
        t.start_ns = from + (to - from - 110 * MS) / i64::from(n) * i64::from(at);
        (t.connection, t.bytes) = (Some(ConnectionId(id)), Some(bytes));
        f.tcp_states
            .push(crate::testing::tcp::state(id, FIN_WAIT1, t.start_ns + 100 * MS));
        f.tx.push(t);
    }
    f
}

fn unanswered(d: &Diff) -> Option<(f64, f64, Outcome)> {
    let r = d.rates.iter().find(|r| r.metric.starts_with("app.unanswered"))?;
    Some((r.before.of, r.after.of, r.outcome))
}

/// The same with its answers at even times.
fn even(mut f: Facts) -> Facts {
    let (from, to) = (f.capture.start_ns.unwrap(), f.capture.end_ns.unwrap());
    let client = |r: &&mut ResponseRow| r.connection == ConnectionId(0);
    for (at, r) in f.responses.iter_mut().filter(client).enumerate() {
        let by = from + (to - from) / 400 * at as i64 - r.send_ns;
        r.send_ns += by;
        r.read_ns += by;
        r.ready_ns = r.ready_ns.map(|t| t + by);
        r.complete_ns = r.complete_ns.map(|t| t + by);
    }
    f
}

#[test]
fn messages_that_are_given_up_are_a_rate() {
    let before = even(facts("rpc/rpc.nmb"));
    let given_up = |n, bytes| even(given_up(n, bytes));
    let d = of(&before, &given_up(60, 100));
    assert_eq!(unanswered(&d), Some((0.0, 60.0, Outcome::Worse)), "{:?}", d.withheld);
    let said =
        "Messages to 10.78.1.2:7000 that got no answer, and were given up or closed upon: 0 of 400 -> 60 of 460.";
    assert!(d.verdict.sentence.contains(said), "{}", d.verdict.sentence);
    let back = of(&given_up(60, 100), &before);
    assert_eq!(unanswered(&back), Some((60.0, 0.0, Outcome::Better)));
    // As many on both sides; few, which chance explains; and none, which is no test.
    let same = of(&given_up(60, 100), &given_up(60, 100));
    assert_eq!(unanswered(&same).unwrap().2, Outcome::Same);
    assert_eq!(unanswered(&of(&before, &given_up(2, 100))).unwrap().2, Outcome::Same);
    assert_eq!(unanswered(&of(&before, &before)), None);
    // Far smaller than any that is answered: an acknowledgement.
    assert_eq!(unanswered(&of(&before, &given_up(60, 1))), None);
}

/// Messages without an answer are no good news even where chance may have made them, as answers that come in bursts let it.
#[test]
fn many_messages_in_vain_are_no_good_news() {
    let v = of(&facts("rpc/rpc.nmb"), &given_up(60, 100)).verdict;
    let said =
        "Not judged, though much more frequent: app.unanswered[10.78.1.2:7000] 0.0 % of units -> 13.0 % of units";
    assert!(v.sentence.contains(said), "{}", v.sentence);
    assert!(v.outcome == Outcome::Worse || v.reserved, "{v:?}");
}

/// Who asks a question, and acknowledges each answer; the last acknowledgement waits for nothing.
fn acknowledged(connections: u32, answers: i64) -> Facts {
    let mut f = asked(&vec![(answers, 0); connections as usize]);
    let acks: Vec<_> = f.rx.iter().map(|r| (r.connection, r.start_ns + MS)).collect();
    let like = f.tx[0].clone();
    for (connection, at) in acks {
        let mut t = like.clone();
        (t.connection, t.start_ns, t.bytes) = (connection, at, Some(60));
        f.tx.push(t);
    }
    f
}

#[test]
fn acknowledgements_are_no_requests() {
    let (before, after) = (acknowledged(12, 40), acknowledged(12, 1));
    let s = &all(&before, &after)[0];
    assert_eq!((s.after.unanswered, s.after.mute, s.worse()), (0, 12, None));
    let said = "After, 10.0.0.9:80 answered hardly anything: 480 answers before, 12 after; the last message on 12 connections to it got no answer, as others like it get none";
    assert_eq!(s.sentence(), said);
    // Its own requests still wait in vain.
    let hangs = asked(&[(1, 4_000 * MS); 12]);
    assert_eq!(all(&before, &hangs)[0].after.unanswered, 12);
}

fn refused(connections: std::ops::Range<u32>, end: OpenEnd, ms: i64) -> Vec<OpenRow> {
    let one = |c: u32| {
        let at = (END - 400 * MS) / 300 * i64::from(c);
        OpenRow {
            from: Some(([10, 0, 0, 1].into(), 0)),
            end_ns: at + ms * MS,
            ..open(c, at, end, 0)
        }
    };
    connections.map(one).collect()
}

#[test]
fn an_opening_is_on_the_devices_of_its_way() {
    let before = asked(&[(100, 0); 5]);
    let dev = vec![
        before.tx[0].dev.text().into_owned(),
        before.rx[0].dev.text().into_owned(),
    ];
    let mut after = asked(&[(0, 0); 40]);
    after.opens = refused(0..40, OpenEnd::Refused, 1);
    let failed = |after: &Facts| {
        let of = servers(&before, after, &dev).stopped;
        (of[0].after.failed_opens(), of[0].worse())
    };
    // Nothing tells the device of a SYN that is refused.
    assert_eq!(failed(&after), (40, Some(true)));
    // What else is between its ends is on another one.
    let mut row = crate::testing::tcp::connection(40);
    (row.saddr, row.daddr) = (Some([10, 0, 0, 1].into()), Some([10, 0, 0, 9].into()));
    after.connections.push(row);
    let mut t = before.tx[0].clone();
    (t.connection, t.dev) = (Some(ConnectionId(40)), crate::name::Name::new(b"other"));
    after.tx.push(t);
    assert_eq!(failed(&after), (0, None));
}

#[test]
fn an_opening_that_is_given_up_after_longer_than_usual_got_no_answer() {
    let mut before = asked(&[(100, 0); 5]);
    before.opens = refused(0..5, OpenEnd::Established, 1);
    let mut after = asked(&[(0, 0); 30]);
    after.opens = refused(0..30, OpenEnd::GivenUp, 300);
    let said = |before: &Facts, after: &Facts| all(before, after)[0].sentence();
    let failed = "After, 10.0.0.9:80 answered nothing: 500 answers before, 0 after; 30 of 30 openings of connections to it failed (30 without an answer)";
    assert_eq!(said(&before, &after), failed);
    assert_eq!(all(&before, &after)[0].worse(), Some(true));
    // So soon that an answer may have been on its way; or nothing tells what is usual.
    after.opens = refused(0..30, OpenEnd::GivenUp, 4);
    let soon = "After, 10.0.0.9:80 answered nothing: 500 answers before, 0 after; 30 openings of connections to it were given up after p50 4.00 ms";
    assert_eq!(said(&before, &after), soon);
    before.opens.clear();
    after.opens = refused(0..30, OpenEnd::GivenUp, 300);
    let unknown = soon.replace("4.00 ms", "300.00 ms");
    assert_eq!(said(&before, &after), unknown);
}

fn failing(before: &Facts, after: &Facts) -> Vec<Failing> {
    servers(before, after, &[]).failing
}

#[test]
fn openings_of_clients_that_keep_their_connections_are_compared() {
    let mut before = asked(&[(100, 0); 8]);
    before.opens = refused(0..8, OpenEnd::Established, 1);
    let mut after = asked(&[(4, 0); 203]);
    after.opens = refused(0..3, OpenEnd::Established, 1);
    after.opens.extend(refused(3..203, OpenEnd::Refused, 1));
    let of = failing(&before, &after);
    assert_eq!(of[0].worse, Some(true));
    let said = "Openings of connections to 10.0.0.9:80 that failed: 0 of 8 -> 200 of 203 (200 refused).";
    assert_eq!(crate::diff::servers::failing::said(&of), [said]);
    assert_eq!(failing(&after, &before)[0].worse, Some(false));
    // All in one moment, or a few of many, may be chance.
    let mut burst = asked(&[(4, 0); 203]);
    burst.opens = after.opens.clone();
    burst.opens.iter_mut().for_each(|o| o.start_ns = MS);
    assert_eq!(failing(&before, &burst)[0].worse, None);
    let mut part = asked(&[(4, 0); 203]);
    part.opens = refused(0..190, OpenEnd::Established, 1);
    part.opens.extend(refused(190..203, OpenEnd::Refused, 1));
    let of = failing(&before, &part);
    assert_eq!(of[0].worse, None);
    assert!(crate::diff::servers::failing::said(&of)[0].contains("not judged"));
    // Where both sides have attempts enough, the rate tells; what it does not call is told where it comes again and again.
    before.opens = refused(0..12, OpenEnd::Established, 1);
    let rated = failing(&before, &after);
    let said = crate::diff::servers::failing::said(&rated);
    assert!(rated[0].rated && rated[0].worse == Some(true));
    assert!(
        said[0]
            .contains("of 10 parts of the time, and in none of the other side's (by itself chance gives that in 1 of"),
        "{said:?}"
    );
    let unrated = |rates: &[crate::diff::judged::rates::Rate], groups| {
        let mut all = rated.clone();
        crate::diff::servers::failing::unrated(&mut all, rates, groups);
        all.len()
    };
    let d = super::samples::of(&opening(200, 0), &opening(200, 2));
    assert!(
        d.rates
            .iter()
            .any(|r| r.metric == "app.failed_opens[10.0.0.9:80]" && r.outcome == Outcome::Worse)
    );
    assert_eq!(
        (unrated(&[], false), unrated(&[], true), unrated(&d.rates, false)),
        (1, 0, 0)
    );
    after.opens.iter_mut().skip(3).for_each(|o| o.start_ns = MS);
    assert_eq!(failing(&before, &after), [], "one burst");
}

/// Openings take 258 ms; after, a third is given up after 250, which nearly is what they take.
#[test]
fn an_opening_that_is_given_up_before_it_can_stand_is_in_vain() {
    let stood = || {
        let mut f = asked(&[(4, 0); 60]);
        f.opens = refused(0..60, OpenEnd::Established, 258);
        for o in &mut f.opens {
            // All along the recording.
            (o.start_ns, o.end_ns) = (o.start_ns * 5, o.end_ns + o.start_ns * 4);
        }
        f
    };
    let (before, mut after) = (stood(), stood());
    for o in after.opens.iter_mut().step_by(3) {
        (o.end, o.end_ns) = (OpenEnd::GivenUp, o.start_ns + 250 * MS);
    }
    let failed = |f: &Facts| {
        let of = |server: &Failing| (server.after.failed_opens(), server.after.opens_given_up);
        failing(&before, f).first().map(of)
    };
    assert_eq!(failed(&after), Some((20, 0)));
    // At once, as of who wants no more.
    let mut soon = asked(&[(4, 0); 60]);
    soon.opens = after.opens.clone();
    let given_up = |o: &&mut OpenRow| o.end == OpenEnd::GivenUp;
    soon.opens
        .iter_mut()
        .filter(given_up)
        .for_each(|o| o.end_ns = o.start_ns + 20 * MS);
    assert_eq!(failed(&soon), None);
    // It raced with another address, which stood.
    let mut races = asked(&[(4, 0); 60]);
    races.opens = after.opens.clone();
    let others = after
        .opens
        .iter()
        .filter(|o| o.end == OpenEnd::GivenUp)
        .map(|o| OpenRow {
            to: Some(([10, 0, 0, 10].into(), 80)),
            end: OpenEnd::Established,
            start_ns: o.start_ns + 200 * MS,
            end_ns: o.start_ns + 230 * MS,
            ..o.clone()
        });
    races.opens.extend(others);
    assert_eq!(failed(&races), None);
}

/// Five services at one port, of which four move.
#[test]
fn several_that_moved_are_one_sentence() {
    let at = |addresses: [u8; 4]| {
        let mut f = asked(&[(50, 0); 4]);
        for (c, last) in f.connections.iter_mut().zip(addresses) {
            c.daddr = Some([10, 0, 0, last].into());
        }
        f
    };
    let (before, after) = (at([11, 12, 13, 14]), at([21, 22, 23, 24]));
    let all = all(&before, &after);
    assert!(all.len() == 8 && all.iter().all(|s| s.moved.len() == 4 && s.worse().is_none()));
    let said = "4 addresses at port 80 answer no more (10.0.0.11, 10.0.0.12 and 2 more), 4 others do, as often all together (10.0.0.21, 10.0.0.22 and 2 more): 200 answers before, 200 after.";
    assert_eq!(stopped::said(&all), (vec![], vec![said.to_owned()]));
    // Who goes on to ask at the old ones finds nobody; now and then is no harm.
    let mut still = at([21, 22, 23, 24]);
    let ask = |n: u32| -> Vec<OpenRow> {
        let to = |o: OpenRow| OpenRow {
            to: Some(([10, 0, 0, 11].into(), 80)),
            ..o
        };
        let all = refused(0..n, OpenEnd::Refused, 1);
        all.into_iter()
            .map(|o| {
                to(OpenRow {
                    connection: Some(ConnectionId(0)),
                    ..o
                })
            })
            .collect()
    };
    let worse = |of: &Facts| {
        let all = super::stopped::all(&before, of);
        all.into_iter()
            .find(|s| s.server.starts_with("10.0.0.11:"))
            .unwrap()
            .worse()
    };
    still.opens = ask(40);
    assert_eq!(worse(&still), Some(true));
    still.opens = ask(5);
    assert_eq!(worse(&still), None);
    // One of two is gone for good: half as many answers are no move.
    let after = at([11, 12, 21, 21]);
    let mut half = at([11, 12, 21, 21]);
    half.responses.retain(|r| r.connection.0 != 3);
    assert_eq!(super::stopped::all(&before, &after).len(), 3);
    assert!(super::stopped::all(&before, &half).iter().all(|s| s.moved.is_empty()));
}

#[test]
fn groups_cannot_tell_it_from_what_varies_between_recordings() {
    let all = [opening(200, 0), opening(200, 0), opening(200, 20), opening(200, 2)];
    let [a, b, c, d] = &all;
    let of = compare(&[a, b], &[c, d], &DiffOptions::groups());
    let said = "these come in bursts, and so few recordings cannot tell that from what varies between them";
    assert!(of.verdict.sentence.contains(said), "{}", of.verdict.sentence);
}
