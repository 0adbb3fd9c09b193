//! The tests that rules with a size are made of, and their p values adjusted for these alone.
//!
//! Rules are written before the recordings are seen, so the tests that they name are a family of their own: where rules name
//! metrics only, the chance that any of them fails between like and like is at most the level. With `worse` or `changed` beside
//! them all tests count. So they do with one recording a side: what varies between recordings is in no p value then, and a few
//! tests alone, adjusted for a few, would take it for a change (measured: docs/diff.md).

use std::collections::BTreeMap;

use super::{Named, Rule, named};
use crate::diff::{Diff, Metric, Rate, Shift};
use crate::stat::weighted_holm;

/// Adjusted p by metric and percentile (0: a rate).
pub(super) struct Family<'d>(BTreeMap<(&'d str, u64), f64>);

impl<'d> Family<'d> {
    /// Of these rules; empty where all tests of the comparison count.
    pub(super) fn of(rules: &[Rule], diff: &'d Diff) -> Family<'d> {
        let groups = diff.before.len() > 1 && diff.after.len() > 1;
        let all = rules.iter().any(|r| matches!(r, Rule::Worse | Rule::Changed));
        match groups && !all {
            true => Family::alone(rules, diff),
            false => Family(BTreeMap::new()),
        }
    }
    fn alone(rules: &[Rule], diff: &'d Diff) -> Family<'d> {
        let rules: Vec<&Named> = rules
            .iter()
            .filter_map(|r| match r {
                Rule::Of(of) => Some(of),
                _ => None,
            })
            .collect();
        let mut tests: BTreeMap<(&str, u64), (f64, f64)> = BTreeMap::new();
        for rule in rules {
            for (m, s) in shifts(rule, diff) {
                tests.insert((&m.metric, s.percent), (s.p, s.weight));
            }
            for r in rates(rule, diff) {
                tests.insert((&r.metric, 0), (r.p, 1.0));
            }
        }
        let p: Vec<(f64, f64)> = tests.values().copied().collect();
        Family(tests.into_keys().zip(weighted_holm(&p)).collect())
    }
    /// Adjusted p of a percentile.
    pub(super) fn of_shift(&self, m: &Metric, s: &Shift) -> f64 {
        let own = self.0.get(&(m.metric.as_str(), s.percent));
        own.copied().unwrap_or(s.p_adjusted)
    }
    /// Adjusted p of a rate.
    pub(super) fn of_rate(&self, r: &Rate) -> f64 {
        self.0.get(&(r.metric.as_str(), 0)).copied().unwrap_or(r.p_adjusted)
    }
    /// Whether a percentile moved for certain, whatever its size.
    pub(super) fn is_certain(&self, m: &Metric, s: &Shift, level: f64) -> bool {
        match self.0.get(&(m.metric.as_str(), s.percent)) {
            Some(p) => *p <= level && (s.interval.0 > 0 || s.interval.1 < 0),
            None => s.significant,
        }
    }
    /// The same of a rate.
    pub(super) fn is_certain_rate(&self, r: &Rate, level: f64) -> bool {
        let own = self.0.get(&(r.metric.as_str(), 0));
        own.map_or(r.significant, |p| *p <= level)
    }
}

/// Percentiles that a rule names.
pub(super) fn shifts<'d>(rule: &Named, diff: &'d Diff) -> impl Iterator<Item = (&'d Metric, &'d Shift)> {
    let of = diff.metrics.iter().filter(|m| named(&m.metric, &rule.metric));
    of.flat_map(|m| m.shifts.iter().map(move |s| (m, s)))
        .filter(|(_, s)| rule.percent.is_none_or(|p| s.percent == p))
}

/// Rates that a rule names.
pub(super) fn rates<'d>(rule: &Named, diff: &'d Diff) -> impl Iterator<Item = &'d Rate> {
    let of = diff.rates.iter().filter(|r| named(&r.metric, &rule.metric));
    of.filter(|_| rule.percent.is_none())
}
