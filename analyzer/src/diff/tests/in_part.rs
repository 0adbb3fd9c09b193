//! Answers of a server that both sides have, where most of the traffic of one side is of another kind.

use super::samples::{facts, of};
use crate::diff::{Diff, Outcome};
use crate::facts::Facts;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};

const IN_PART: &str =
    "compared are only answers of servers that both sides have, and whether servers answer and openings get through";

/// A real recording of round trips, with so many large datagrams beside them, each answer so much later.
fn beside(datagrams: u32, later_ns: i64) -> Facts {
    let mut f = facts("rpc/rpc.nmb");
    let start = f.capture.start_ns.unwrap();
    for n in 0..datagrams {
        f.tx.push(TxRow {
            kind: TxKind::Udp,
            bytes: Some(60_000),
            start_ns: start + i64::from(n) * 1_000,
            ..crate::testing::rows::sent()
        });
    }
    for r in &mut f.responses {
        r.ready_ns = r.ready_ns.map(|at| at + later_ns);
        (r.read_ns, r.peer) = (r.read_ns + later_ns, None);
    }
    f
}

fn said(d: &Diff) -> (Outcome, &str) {
    (d.verdict.outcome, &d.verdict.sentence)
}

#[test]
fn answers_are_compared_and_nothing_else_is() {
    let (quiet, slow) = (beside(0, 0), beside(2_000, 10_000_000));
    let d = of(&quiet, &slow);
    let (outcome, sentence) = said(&d);
    assert!(
        outcome == Outcome::Worse
            && sentence.starts_with("Answers from 10.78.1.2:7000 take longer: ")
            && sentence.contains(IN_PART),
        "{sentence}"
    );
    assert!(
        d.metrics
            .iter()
            .all(|m| m.metric.starts_with("app.") && m.metric.contains('['))
    );
    assert!(d.rates.iter().all(|r| r.metric.starts_with("app.")));
    assert_eq!(d.breakdowns.len(), 0);
    assert!(
        d.withheld
            .iter()
            .any(|w| w.metric == "all but answers and openings by server")
    );
}

#[test]
fn that_nothing_else_was_compared_is_said_of_no_difference_too() {
    let d = of(&beside(0, 0), &beside(2_000, 0));
    let (outcome, sentence) = said(&d);
    assert!(
        outcome == Outcome::Same
            && d.verdict.reserved
            && sentence.starts_with("No difference found in what could be compared.")
            && sentence.contains(IN_PART),
        "{sentence}"
    );
}

/// Without an answer that both sides have nothing is compared, and no list of one is filled.
#[test]
fn without_answers_nothing_is() {
    let of_other = |mut f: Facts| {
        f.responses.clear();
        f.turnarounds.clear();
        f
    };
    let d = of(&of_other(beside(0, 0)), &of_other(beside(2_000, 0)));
    let (outcome, sentence) = said(&d);
    assert!(
        outcome == Outcome::NotComparable
            && sentence.starts_with("Not comparable. Most of the traffic is of another kind"),
        "{sentence}"
    );
    assert!(d.metrics.is_empty() && d.asks.is_empty() && d.few.is_empty());
    assert!(
        d.withheld
            .iter()
            .all(|w| w.metric == "all" || w.metric.starts_with("app.")),
        "{:?}",
        d.withheld
    );
}
