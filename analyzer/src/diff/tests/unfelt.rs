//! What lies beneath answers that do not take longer, and is little beside them.

use super::samples::{facts, of, planted};
use crate::diff::{Outcome, Rules};
use crate::facts::Facts;
use crate::reconstruct::receive::tables::Stage;

/// Answers that take 5 ms longer, so that 50 us in a stage are a hundredth of them.
fn slow_answers() -> Facts {
    let mut f = facts("rpc/rpc.nmb");
    for r in &mut f.responses {
        r.ready_ns = r.ready_ns.map(|t| t + 5_000_000);
        r.complete_ns = r.complete_ns.map(|t| t + 5_000_000);
    }
    f
}

#[test]
fn what_is_little_beside_the_answers_is_a_difference_and_no_harm() {
    let (before, mut after) = (slow_answers(), slow_answers());
    planted(&mut after, Stage::Copy, 50_000);
    let d = of(&before, &after);
    let m = d.metrics.iter().find(|m| m.metric == "rx.copy").unwrap();
    assert_eq!(
        (d.verdict.outcome, m.outcome),
        (Outcome::Same, Outcome::Changed),
        "{}",
        d.verdict.sentence
    );
    assert!(
        d.verdict.sentence.contains("No difference found in answers."),
        "{}",
        d.verdict.sentence
    );
    let words = "What differs beneath the answers is not felt in them: ";
    assert!(d.verdict.sentence.contains(words), "{}", d.verdict.sentence);
    assert!(
        d.verdict
            .lines
            .iter()
            .any(|(o, l)| *o == Outcome::Changed && l.starts_with("rx.copy ") && l.ends_with("; not felt in answers"))
    );
    // Who names it is told all the same.
    let broken = |rule: &str| rule.parse::<Rules>().unwrap().broken(&d).len();
    assert_eq!(
        (
            broken("worse"),
            broken("changed"),
            broken("rx.copy"),
            broken("rx.p50>20us")
        ),
        (0, 0, 1, 1)
    );
    // Where the answers are as short as that, it is felt; and where it is as long as they are.
    let mut short = facts("rpc/rpc.nmb");
    planted(&mut short, Stage::Copy, 50_000);
    assert_eq!(of(&facts("rpc/rpc.nmb"), &short).verdict.outcome, Outcome::Worse);
    let mut long = slow_answers();
    planted(&mut long, Stage::Copy, 5_000_000);
    assert_eq!(of(&before, &long).verdict.outcome, Outcome::Worse);
}

/// Clients of the server are outside of the recording: what they wait for is not measured, and may be as short as the turnaround.
#[test]
fn beside_turnarounds_of_who_is_asked_from_outside_it_is_felt() {
    let with = |planted_ns: i64| {
        let mut f = slow_answers();
        for c in f.connections.iter_mut().filter(|c| c.sport == 7000) {
            c.peer = None;
        }
        planted(&mut f, Stage::Copy, planted_ns);
        f
    };
    let d = of(&with(0), &with(50_000));
    let m = d.metrics.iter().find(|m| m.metric == "rx.copy").unwrap();
    assert_eq!(
        (d.verdict.outcome, m.outcome),
        (Outcome::Worse, Outcome::Worse),
        "{}",
        d.verdict.sentence
    );
}

#[test]
fn where_no_answers_are_compared_nothing_shows_that_it_is_not_felt() {
    let with = |planted_ns: i64| {
        let mut f = slow_answers();
        f.responses.clear();
        f.turnarounds.clear();
        planted(&mut f, Stage::Copy, planted_ns);
        f
    };
    assert_eq!(of(&with(0), &with(50_000)).verdict.outcome, Outcome::Worse);
}

/// What is little beside what the answers gain takes nothing from it.
#[test]
fn beside_a_far_larger_gain_it_is_not_felt() {
    let mut before = slow_answers();
    for r in &mut before.responses {
        r.ready_ns = r.ready_ns.map(|t| t + 100_000_000);
        r.complete_ns = r.complete_ns.map(|t| t + 100_000_000);
    }
    let mut after = slow_answers();
    planted(&mut after, Stage::Copy, 600_000);
    let copy = |before: &Facts| {
        let d = of(before, &after);
        let m = d.metrics.iter().find(|m| m.metric == "rx.copy").unwrap();
        (d.verdict.outcome, m.outcome)
    };
    assert_eq!(copy(&before), (Outcome::Better, Outcome::Changed));
    assert_eq!(copy(&slow_answers()), (Outcome::Worse, Outcome::Worse));
}
