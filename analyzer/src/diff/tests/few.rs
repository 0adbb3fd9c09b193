//! Answers too few to be compared, and what answers are made of: real rows, some of them left out or later.

use super::samples::{facts, of};
use crate::diff::{Diff, Outcome, Rules};
use crate::facts::{ConnectionId, Facts};
use crate::stat::nearest_rank;

const SERVER: &str = "10.78.1.2:7000";

fn rpc() -> Facts {
    facts("rpc/rpc.nmb")
}

fn is_client(f: &Facts, c: ConnectionId) -> bool {
    f.connections[c.0 as usize].dport == 7000
}

/// With so many answers only, spread over the recording.
fn with(n: usize) -> Facts {
    let mut f = rpc();
    let (mut clients, mut servers) = (0, 0);
    let keep = |at: &mut usize| {
        *at += 1;
        *at % (400 / n) == 1 && *at / (400 / n) < n
    };
    let ports: Vec<u16> = f.connections.iter().map(|c| c.dport).collect();
    let to_server = |c: ConnectionId| ports[c.0 as usize] == 7000;
    f.responses.retain(|r| to_server(r.connection) && keep(&mut clients));
    f.turnarounds.retain(|r| !to_server(r.connection) && keep(&mut servers));
    f
}

fn later(f: &mut Facts, ns: impl Fn(usize) -> i64) {
    for (at, r) in f.responses.iter_mut().enumerate() {
        r.ready_ns = r.ready_ns.map(|t| t + ns(at));
    }
}

fn answers(f: &Facts) -> Vec<i64> {
    let rows = f.responses.iter().filter(|r| is_client(f, r.connection));
    rows.filter_map(|r| Some(r.ready_ns? - r.send_ns)).collect()
}

fn broken(d: &Diff) -> Vec<String> {
    "worse".parse::<Rules>().unwrap().broken(d)
}

#[test]
fn few_answers_are_said_and_no_good_news() {
    let (f, mut slow) = (with(5), with(5));
    later(&mut slow, |_| 54_000_000);
    let d = of(&f, &slow);
    let v = &d.verdict;
    assert!(v.outcome == Outcome::Same && v.reserved, "{v:?}");
    assert_eq!(broken(&d), [] as [String; 0]);
    let start = format!("Answers from {SERVER} are too few to judge (5 and 5): p50 ");
    assert!(v.sentence.starts_with(&start), "{}", v.sentence);
    let end = ", every one after longer than every one before (exact rank test p 0.008, not adjusted). No difference found in what could be compared. ";
    assert!(v.sentence.contains(end), "{}", v.sentence);
    let [few] = &d.few[..] else { panic!("{:?}", d.few) };
    let (mut b, mut a) = (answers(&f), answers(&slow));
    assert_eq!(few.metric, format!("app.response[{SERVER}]"));
    assert_eq!((few.before.n, few.after.n), (5, 5));
    let figures = (few.before.most_ns, few.after.least_ns, few.after.p50_ns);
    assert_eq!(
        figures,
        (
            *b.iter().max().unwrap(),
            *a.iter().min().unwrap(),
            nearest_rank(&mut a, 50).unwrap()
        )
    );
    assert_eq!(few.before.p50_ns, nearest_rank(&mut b, 50).unwrap());
    assert!((few.p.unwrap() - 2.0 / 252.0).abs() < 1e-12);
    // And back.
    let back = of(&slow, &f).verdict.sentence;
    assert!(back.contains("every one after shorter than every one before"), "{back}");
}

#[test]
fn answers_that_overlap_have_both_figures_only_and_one_side_may_have_enough() {
    let (f, mut slow) = (with(5), with(5));
    later(&mut slow, |at| if at == 0 { 0 } else { 54_000_000 });
    let v = of(&f, &slow).verdict;
    assert!(v.reserved && v.sentence.contains(" (5 and 5): p50 "), "{v:?}");
    assert!(
        v.sentence.contains(" (all: ") && !v.sentence.contains("every one"),
        "{v:?}"
    );
    // The slower it gets, the fewer answers there are.
    let all = rpc();
    let v = of(&all, &f).verdict;
    assert!(
        v.reserved && v.sentence.contains("too few to judge (400 and 5): p50 "),
        "{v:?}"
    );
    // What did not move is said and heads nothing.
    let mut worse = with(5);
    super::samples::planted(&mut worse, crate::reconstruct::receive::tables::Stage::Copy, 50_000);
    let v = of(&f, &worse).verdict;
    assert!(
        v.outcome == Outcome::Worse && v.sentence.starts_with("Worse in "),
        "{v:?}"
    );
    assert!(v.sentence.contains("too few to judge (5 and 5)"), "{v:?}");
    later(&mut worse, |_| 54_000_000);
    let v = of(&f, &worse).verdict;
    assert!(
        v.outcome == Outcome::Worse && v.sentence.starts_with("Answers from "),
        "{v:?}"
    );
    // With enough on both sides it is judged, and nothing is said.
    let d = of(&all, &all);
    assert!(d.few.is_empty() && !d.verdict.reserved, "{:?}", d.few);
    assert!(
        d.verdict.sentence.starts_with("No difference found. "),
        "{}",
        d.verdict.sentence
    );
}

/// Every request so much longer unread at the server.
fn unread(f: &mut Facts, ns: i64) {
    let ports: Vec<u16> = f.connections.iter().map(|c| c.dport).collect();
    let to_server = |c: ConnectionId| ports[c.0 as usize] == 7000;
    for t in f.turnarounds.iter_mut().filter(|t| !to_server(t.connection)) {
        (t.read_ns, t.send_ns) = (t.read_ns + ns, t.send_ns + ns);
    }
    for r in f.responses.iter_mut().filter(|r| to_server(r.connection)) {
        r.ready_ns = r.ready_ns.map(|t| t + ns);
        if let Some(p) = &mut r.peer {
            p.turnaround_ns += ns;
        }
    }
}

#[test]
fn what_lies_unread_is_a_metric_and_the_lead_names_the_part_that_grew() {
    let (f, mut slow) = (rpc(), rpc());
    unread(&mut slow, 40_000_000);
    let d = of(&f, &slow);
    let name = format!("app.unread[{SERVER}]");
    let m = d.metrics.iter().find(|m| m.metric == name).unwrap();
    let rows = |f: &Facts| -> Vec<i64> {
        let of_server = f
            .turnarounds
            .iter()
            .filter(|t| !is_client(f, t.connection) && !t.overlap);
        of_server.filter_map(|t| Some(t.read_ns - t.ready_ns?)).collect()
    };
    let (mut b, mut a) = (rows(&f), rows(&slow));
    let s = &m.shifts[0];
    assert_eq!(
        (s.before, s.after, m.outcome),
        (
            nearest_rank(&mut b, 50).unwrap(),
            nearest_rank(&mut a, 50).unwrap(),
            Outcome::Worse
        )
    );
    assert_eq!(s.shift, 40_000_000);
    let told = &d.verdict.sentence;
    assert!(
        told.starts_with(&format!("Answers from {SERVER} take longer: p50 ")),
        "{told}"
    );
    // The same answers by the other columns of their rows.
    let paired: Vec<_> = f
        .responses
        .iter()
        .filter(|r| is_client(&f, r.connection) && !r.overlap)
        .collect();
    let paired: Vec<_> = paired.into_iter().filter_map(|r| r.peer).collect();
    let mean = |sum: i64| crate::analyses::verdict::duration(sum / paired.len() as i64);
    let way = mean(paired.iter().map(|p| p.there_ns + p.back_ns).sum());
    assert!(
        told.contains("; mostly unread at the server: mean ") && told.contains("in the server, from read to send "),
        "{told}"
    );
    assert!(
        told.contains(&format!("the way there and back {way} -> {way})")),
        "{told}"
    );
    let ms = |text: &str| text.strip_suffix(" ms").unwrap().parse::<f64>().unwrap();
    let means = told.split_once("unread at the server: mean ").unwrap().1;
    let (was, is) = means.split_once(" (").unwrap().0.split_once(" -> ").unwrap();
    assert!((ms(is) - ms(was) - 40.0).abs() < 0.011, "{was} {is}");
    // On the way only: another part.
    let mut slow = rpc();
    later(&mut slow, |_| 19_000_000);
    let told = of(&f, &slow).verdict.sentence;
    assert!(told.contains("; mostly the way there and back: mean "), "{told}");
}

#[test]
fn so_few_that_any_order_may_be_chance_are_not_said() {
    let (before, mut after) = (with(2), with(1));
    later(&mut after, |_| 54_000_000);
    let d = of(&before, &after);
    let [few] = &d.few[..] else { panic!("{:?}", d.few) };
    assert!((few.p.unwrap() - 2.0 / 3.0).abs() < 1e-9, "{few:?}");
    let v = &d.verdict;
    assert!(!v.sentence.contains("too few to judge"), "{}", v.sentence);
    assert!(
        v.sentence.starts_with("No difference found in what could be compared."),
        "{}",
        v.sentence
    );
    assert!(v.reserved);
}
