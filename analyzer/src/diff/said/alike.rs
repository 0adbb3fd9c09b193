//! What is said where no difference was found: answers as they were on both sides, and how small a change would have been seen.

use super::lines::amount;
use super::verdict::{NAMED, NAMED_MOST};
use crate::analyses::verdict::duration;
use crate::diff::judged::{compare::Metric, rates::Rate};
use crate::diff::servers::answers::LEDGER;

/// Servers whose answers are given.
const ANSWERS: usize = 3;

pub(in crate::diff) fn is_total(m: &Metric) -> bool {
    m.which.stage == "total" && m.which.dev.is_none()
}

pub(in crate::diff) fn is_answer(m: &Metric) -> bool {
    m.which.ledger == LEDGER && m.which.stage == "response"
}

/// `Answers from 10.0.0.1:80: p50 1.15 ms -> 1.06 ms (n 374 -> 771).`: those with most answers.
pub(in crate::diff) fn answers_alike(metrics: &[Metric]) -> String {
    let mut all: Vec<&Metric> = metrics.iter().filter(|m| is_answer(m) && !m.unfelt).collect();
    all.sort_by_key(|m| std::cmp::Reverse(m.before.n.saturating_add(m.after.n)));
    let one = |m: &&Metric| {
        let server = m.metric.split_once('[').and_then(|(_, s)| s.strip_suffix(']'));
        let of = server.map_or_else(String::new, |s| format!(" of {s}"));
        let (x, y) = (m.before.p50_ns?, m.after.p50_ns?);
        let n = format!("n {} -> {}", m.before.n, m.after.n);
        Some(format!("Answers{of}: p50 {} -> {} ({n}).", duration(x), duration(y)))
    };
    let all: Vec<String> = all.iter().filter_map(one).take(ANSWERS).collect();
    all.join(" ")
}

/// The smallest changes that would have been seen, of answers, the totals, retransmissions and drops.
pub(in crate::diff) fn seen(metrics: &[Metric], rates: &[Rate]) -> String {
    let of_total = |m: &Metric| {
        let s = m.shifts.first()?;
        let least = s.minimum_detectable?;
        let part = 100.0 * least as f64 / s.before.unsigned_abs().max(1) as f64;
        Some(format!(
            "{} p{} by {} ({part:.0} %)",
            m.metric,
            s.percent,
            duration(least)
        ))
    };
    let of_rate = |r: &Rate| {
        let least = r.minimum_detectable?;
        Some(format!("{} by {}", r.metric, amount(r.kind, least)))
    };
    let answers = metrics.iter().filter(|m| is_answer(m)).filter_map(of_total);
    let totals = answers.chain(metrics.iter().filter(|m| is_total(m)).filter_map(of_total));
    let named = rates.iter().filter(|r| NAMED.iter().any(|n| r.metric.starts_with(n)));
    let all: Vec<String> = totals.chain(named.filter_map(of_rate).take(NAMED_MOST)).collect();
    match all.is_empty() {
        true => "There is no total to say how small a change would have been seen; see each metric.".into(),
        false => format!(
            "A change would have been seen in 8 of 10 cases from: {}.",
            all.join(", ")
        ),
    }
}
