//! A service that asks another one far less often per answer, and answers sooner: then what is left of those requests are others, as are the packets that carry them, and their
//! longer times are nobody's harm. And what lies in no stage, where nothing else changed.
//!
//! In: judged metrics and rates, with what their units differ in. Out: the same, with what is worse called changed, where *all* that is worse is of this kind; else
//! nothing is touched, so that no harm of another kind hides behind it.

use super::answers::LEDGER;
use super::asks::Asks;
use super::compare::Metric;
use super::rates::Rate;
use super::verdict::Outcome;

/// Requests per answer, after by before, at most.
const LESS: f64 = 0.5;
/// Ledgers of packets.
const PACKETS: [&str; 2] = ["rx", "tx"];
/// Datagrams and segments for ports that nobody has: who sends them asks nobody here.
const CLOSED_PORTS: &str = "drops.NO_SOCKET";

/// What lies in no stage, alone, is no harm to anyone.
pub(super) fn in_no_stage(metrics: &mut [Metric], rates: &[Rate]) {
    let judged = |r: &Rate| matches!(r.outcome, Outcome::Worse | Outcome::Better);
    let other = |m: &Metric| match m.outcome {
        Outcome::Worse => m.which.stage != "unattributed",
        o => o == Outcome::Better,
    };
    if metrics.iter().any(other) || rates.iter().any(judged) {
        return;
    }
    changed(metrics);
}

/// Calls changed what is worse.
fn changed(metrics: &mut [Metric]) {
    for m in metrics.iter_mut().filter(|m| m.outcome == Outcome::Worse) {
        m.outcome = Outcome::Changed;
        for s in m.shifts.iter_mut().filter(|s| s.outcome == Outcome::Worse) {
            s.outcome = Outcome::Changed;
        }
    }
}

/// Requests that are others.
pub(super) fn moderate(metrics: &mut [Metric], rates: &mut [Rate], asks: &[Asks]) {
    let better = |server: &str| {
        let of = |m: &&Metric| m.which.ledger == LEDGER && m.which.service.as_deref() == Some(server);
        let mut answers = metrics
            .iter()
            .filter(of)
            .filter(|m| m.which.stage == "response")
            .peekable();
        answers.peek().is_some() && answers.all(|m| m.outcome == Outcome::Better)
    };
    let less = asks
        .iter()
        .filter(|x| x.is_said() && x.after.per_answer <= LESS * x.before.per_answer);
    let fewer: Vec<String> = less.filter(|x| better(&x.server)).map(|x| x.asked.clone()).collect();
    if fewer.is_empty() {
        return;
    }
    let mixed = |ledger: &str| metrics.iter().any(|m| m.which.ledger == ledger && m.mix.is_some());
    let packets = PACKETS.iter().any(|l| mixed(l));
    let explained = |m: &Metric| match m.which.ledger {
        LEDGER => m.mix.is_some() && m.which.service.as_ref().is_some_and(|s| fewer.contains(s)),
        "rx" | "tx" => m.mix.is_some(),
        "lifetime" => packets,
        _ => false,
    };
    let worse_rate = |r: &Rate| r.outcome == Outcome::Worse && r.metric != CLOSED_PORTS;
    let worse = |m: &&Metric| m.outcome == Outcome::Worse;
    if !metrics.iter().filter(worse).all(explained) || rates.iter().any(worse_rate) {
        return;
    }
    changed(metrics);
    for r in rates.iter_mut().filter(|r| r.outcome == Outcome::Worse) {
        r.outcome = Outcome::Changed;
    }
}
