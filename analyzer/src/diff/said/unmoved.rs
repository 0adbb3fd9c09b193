//! What is said of answers of which none changed by as much as is called: that no difference was found, or by how much they moved.
//!
//! In: judged metrics. Out: a sentence. What is certain within the recordings and near what is called is told as what it is: one recording a side may
//! differ from the next by as much, and yet "no difference" would be too much said.

use super::lead::{MOST, server};
use crate::analyses::verdict::duration;
use crate::diff::judged::compare::{Metric, Shift};
use crate::diff::said::verdict::Outcome;
use crate::diff::servers::answers::LEDGER;

/// Percent of what is called, from which on it is told that something moved.
const NEAR: u64 = 50;

/// A shift in percent of what is called.
fn part(s: &Shift) -> u64 {
    let part = u128::from(s.shift.unsigned_abs()) * 100 / u128::from(s.threshold.unsigned_abs().max(1));
    u64::try_from(part).unwrap_or(u64::MAX)
}

/// The largest that is certain and near what is called.
fn near(m: &Metric) -> Option<&Shift> {
    let certain = m.shifts.iter().filter(|s| s.significant && part(s) >= NEAR);
    certain.max_by_key(|s| (part(s), s.percent))
}

fn told(m: &Metric) -> Option<String> {
    let near = near(m);
    let s = near.or(m.shifts.first())?;
    let percent = 100.0 / s.before.max(1) as f64;
    let by = |ns: i64| ns as f64 * percent;
    let called = near.map(|s| format!(" ({:+.0} %, called from {:.0} % on)", by(s.shift), by(s.threshold)));
    let called = called.unwrap_or_default();
    let (b, a) = (duration(s.before), duration(s.after));
    Some(format!("{} p{} {b} -> {a}{called}", server(m), s.percent))
}

pub(super) fn sentence(metrics: &[Metric]) -> Option<String> {
    let of = |m: &&Metric| (m.which.ledger, m.which.stage, m.outcome) == (LEDGER, "response", Outcome::Same);
    let same: Vec<&Metric> = metrics.iter().filter(of).take(MOST).collect();
    let words: Vec<String> = same.iter().filter_map(|m| told(m)).collect();
    let what = match same.iter().any(|m| near(m).is_some()) {
        true => "moved, by less than is called worse or better",
        false => "no difference found",
    };
    (!words.is_empty()).then(|| format!("Answers: {what} ({}).", words.join(", ")))
}
