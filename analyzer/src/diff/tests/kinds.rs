//! Mixtures of requests: one server's answers, planted by their bytes and times.

use super::samples::{facts, of};
use crate::diff::judged::compare::Metric;
use crate::diff::judged::kinds::moderate;
use crate::diff::values::moves::Moves;
use crate::diff::{DiffOptions, Outcome};

pub(super) const MS: i64 = 1_000_000;
pub(super) const SERVER: &str = "10.0.0.2:80";

/// 400 answers in turns: of each twenty so many are of the slow kind (200 bytes), and the others (100 bytes) take 1 ms.
pub(super) fn answers(slow: i64, slow_ns: i64, answer: i64) -> Vec<Moves> {
    let one = |n: i64| {
        let of_slow = n % 20 < slow;
        let ns = if of_slow {
            slow_ns + n * 7919 % 400 * 100
        } else {
            MS + n * 7919 % 400 * 100
        };
        Moves {
            at_ns: n * 10 * MS,
            response_ns: Some(ns),
            call_ns: Some(ns),
            turnaround_ns: None,
            server: SERVER.into(),
            client: [10, 0, 0, 1].into(),
            request: Some(if of_slow { 200 } else { 100 }),
            answer: Some(if of_slow { answer } else { 1_000 }),
            whole_ns: Some(ns),
        }
    };
    (0..400).map(one).collect()
}

/// Its p90, called so.
pub(super) fn metric(before: i64, after: i64) -> Metric {
    let f = facts("rpc/rpc.nmb");
    let d = of(&f, &f);
    let mut m = d.metrics.into_iter().find(|m| m.which.stage == "response").unwrap();
    m.which.service = Some(SERVER.into());
    m.outcome = if after > before {
        Outcome::Worse
    } else {
        Outcome::Better
    };
    m.shifts.retain(|s| s.percent == 90);
    let s = &mut m.shifts[0];
    (s.before, s.after, s.shift, s.outcome) = (before, after, after - before, m.outcome);
    m
}

fn judged(before: Vec<Moves>, after: Vec<Moves>, (p, q): (i64, i64)) -> (Outcome, Option<(bool, String)>) {
    let mut metrics = [metric(p, q)];
    let said = moderate(&mut metrics, &[before, after], &DiffOptions::default());
    (
        metrics[0].outcome,
        said.first().map(|k| (k.mixture, k.sentence.clone())),
    )
}

#[test]
fn more_of_the_slow_kind_is_no_slower_kind() {
    let (few, many) = (answers(1, 100 * MS, 5_000), answers(5, 100 * MS, 5_000));
    let (outcome, said) = judged(few.clone(), many.clone(), (MS, 100 * MS));
    let (mixture, words) = said.unwrap();
    assert_eq!((outcome, mixture), (Outcome::Changed, true), "{words}");
    let start = "Requests to 10.0.0.2:80 are of another mixture (of 200 bytes 5 % -> 25 %, which take p50 100.02 ms";
    assert!(words.starts_with(start), "{words}");
    assert!(
        words.contains("): those of each size are answered as quickly as before, of one mixture p90 100."),
        "{words}"
    );
    // And fewer of them are none that became quicker.
    let (outcome, said) = judged(many, few, (100 * MS, MS));
    assert_eq!((outcome, said.map(|s| s.0)), (Outcome::Changed, Some(true)));
}

#[test]
fn what_has_no_counterpart_is_left_out_and_counted() {
    let mut after = answers(5, 100 * MS, 5_000);
    after.extend(answers(0, MS, 0).into_iter().take(2).map(|m| Moves {
        request: Some(900),
        ..m
    }));
    let (outcome, said) = judged(answers(1, 100 * MS, 5_000), after, (MS, 100 * MS));
    let words = said.unwrap().1;
    assert!(
        outcome == Outcome::Changed && words.ends_with("; 0 before and 2 after have no counterpart and are left out"),
        "{words}"
    );
    // All of another size: nothing can be told.
    let other = answers(5, 100 * MS, 5_000).into_iter().map(|m| Moves {
        request: Some(5_000 + 50 * (m.at_ns / MS / 10)),
        ..m
    });
    let (outcome, said) = judged(answers(1, 100 * MS, 5_000), other.collect(), (MS, 100 * MS));
    assert_eq!((outcome, said), (Outcome::Worse, None));
}

/// A release sends another text of a query: of 140 bytes in place of 100, eight of twenty requests, each answered after so many ns.
fn released(of: Vec<Moves>, ns: i64) -> Vec<Moves> {
    let one = |m: Moves| match m.at_ns / MS / 10 % 20 {
        12.. => Moves {
            request: Some(140),
            response_ns: Some(ns + m.response_ns.unwrap() - MS),
            ..m
        },
        _ => m,
    };
    of.into_iter().map(one).collect()
}

#[test]
fn what_is_left_out_of_the_longer_side_must_not_be_what_is_slow() {
    // All that is slow is of the new text.
    let before = answers(1, 100 * MS, 5_000);
    let (outcome, said) = judged(before.clone(), released(before.clone(), 100 * MS), (MS, 100 * MS));
    assert_eq!((outcome, said), (Outcome::Worse, None));
    // The new text is as quick as the old one, and there is more of the slow kind.
    let more = released(answers(5, 100 * MS, 5_000), MS);
    let (outcome, said) = judged(before.clone(), more.clone(), (MS, 100 * MS));
    let words = said.unwrap().1;
    assert!(
        outcome == Outcome::Changed && words.ends_with("; 0 before and 160 after have no counterpart and are left out"),
        "{words}"
    );
    // The other way what is left out of the longer side is before.
    let (outcome, _) = judged(more, before.clone(), (100 * MS, MS));
    assert_eq!(outcome, Outcome::Changed);
    let (outcome, said) = judged(released(before.clone(), 100 * MS), before, (100 * MS, MS));
    assert_eq!((outcome, said), (Outcome::Better, None));
}

#[test]
fn what_is_left_of_a_shift_and_no_little_stays_worse_however_few_there_are() {
    // Fifteen slow ones before, and each takes 60 ms longer after: two fifths of the shift.
    let mut before = answers(1, 100 * MS, 5_000);
    before.truncate(300);
    let (outcome, said) = judged(before.clone(), answers(5, 160 * MS, 5_000), (MS, 160 * MS));
    let (mixture, words) = said.unwrap();
    assert_eq!((outcome, mixture), (Outcome::Worse, false), "{words}");
    assert!(
        words.starts_with("a part of it is another mixture of requests: of one mixture p90 100.")
            && words.contains(" ms -> 160."),
        "{words}"
    );
    // Less than the threshold of a p90 is little.
    let (outcome, said) = judged(before, answers(5, 140 * MS, 5_000), (MS, 140 * MS));
    assert_eq!((outcome, said.map(|s| s.0)), (Outcome::Changed, Some(true)));
}

#[test]
fn a_kind_that_is_slower_is_named() {
    let (before, after) = (answers(5, 100 * MS, 5_000), answers(5, 300 * MS, 5_000));
    let (outcome, said) = judged(before.clone(), after.clone(), (100 * MS, 300 * MS));
    let (mixture, words) = said.unwrap();
    assert_eq!((outcome, mixture), (Outcome::Worse, false), "{words}");
    assert!(words.starts_with("it is in requests of 200 bytes: p50 100.02 ms -> 300.02 ms, n 100 -> 100; the others are as quick as before"), "{words}");
    // Slower and more often asked for: it stays worse.
    let (outcome, said) = judged(answers(1, 100 * MS, 5_000), after, (MS, 300 * MS));
    assert_eq!((outcome, said.map(|s| s.0)), (Outcome::Worse, Some(false)));
    // The same requests with larger answers, which the other side has not, are no other kind.
    let same = |of: Vec<Moves>| {
        of.into_iter()
            .map(|m| Moves {
                request: Some(100),
                ..m
            })
            .collect::<Vec<_>>()
    };
    let larger = same(answers(5, 100 * MS, 500_000));
    assert_eq!(
        judged(same(answers(1, 100 * MS, 5_000)), larger, (MS, 100 * MS)).0,
        Outcome::Worse
    );
}
