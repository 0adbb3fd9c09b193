//! What counts more of what is better and worse at once: what users have of it.

use super::answers::LEDGER;
use super::compare::Metric;
use super::verdict::{Judged, Outcome};
use crate::stat::Distribution;

/// What is worse is hardly felt when it is less than one part in so many of what users gain; likewise a stage of its total.
const FAR_MORE: u64 = 10;

fn at(of: &Distribution, percent: u64) -> i64 {
    let ns = match percent {
        50 => of.p50_ns,
        90 => of.p90_ns,
        _ => of.p99_ns,
    };
    ns.unwrap_or(0)
}

/// A stage that changed by a small part of its ledger's total, which did not change.
pub(super) fn small_part(m: &Metric, all: &[Metric]) -> bool {
    let total = all.iter().find(|t| {
        let same = (t.which.ledger, &t.which.dev, &t.which.service) == (m.which.ledger, &m.which.dev, &m.which.service);
        same && t.which.stage == "total" && m.which.stage != "total"
    });
    let Some((total, s)) = total.filter(|t| t.outcome == Outcome::Same).zip(m.telling()) else {
        return false;
    };
    s.shift.unsigned_abs().saturating_mul(FAR_MORE) < at(&total.before, s.percent).unsigned_abs()
}

impl Judged<'_> {
    /// Whether users wait less, nothing that they have is worse, and all that is worse is times that are small beside what they gain.
    pub(super) fn users_gain(&self) -> bool {
        let servers = self.servers;
        let shorter = |m: &&Metric| m.which.ledger == LEDGER && m.outcome == Outcome::Better;
        let metrics = self.metrics.iter().filter(shorter).filter_map(Metric::telling);
        let metrics = metrics.map(|s| s.shift.unsigned_abs());
        let large = servers
            .large
            .iter()
            .filter(|l| !l.worse)
            .map(|l| l.by_ns.unsigned_abs());
        let Some(gain) = metrics.chain(large).max() else {
            return false;
        };
        let called = self.stops(true) > 0
            || !servers.failing.is_empty()
            || servers.paused.iter().any(|p| p.worse)
            || servers.streams.iter().any(|s| s.worse)
            || servers.large.iter().any(|l| l.worse)
            || self.rates.iter().any(|r| r.outcome == Outcome::Worse);
        let small = |m: &Metric| {
            let most = m
                .shifts
                .iter()
                .map(|s| s.shift.max(0).unsigned_abs())
                .max()
                .unwrap_or(0);
            m.which.ledger != LEDGER && most.saturating_mul(FAR_MORE) < gain
        };
        !called && self.metrics.iter().filter(|m| m.outcome == Outcome::Worse).all(small)
    }
}
