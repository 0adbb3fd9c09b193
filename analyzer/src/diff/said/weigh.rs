//! What counts more of what is better and worse at once: what users have of it.

use super::verdict::{Judged, Outcome};
use crate::diff::judged::compare::{Metric, Shift};
use crate::diff::servers::answers::LEDGER;
use crate::stat::Distribution;

/// What is worse is hardly felt when it is less than one part in so many of what users gain; likewise a stage of its total.
const FAR_MORE: u64 = 10;

/// Nor is a time small that is twice as long as before, and so much longer, ns: others than those users may wait for it. But what users gain may be so many times as much, where it is no longer than that, ns.
const GREW_NS: i64 = 1_000_000;
const FARTHEST: u64 = 100;
const SHORT_NS: u64 = 5_000_000;

/// Nor one that is a quarter longer, and so much, ns.
const FELT_NS: i64 = 10_000_000;

/// The address of `address:port`, or of a host.
fn host(of: &str) -> &str {
    match of.rsplit_once(':') {
        Some((host, port)) if port.parse::<u16>().is_ok() && (host.ends_with(']') || !host.contains(':')) => host,
        _ => of,
    }
}

fn at(of: &Distribution, percent: u64) -> i64 {
    let ns = match percent {
        50 => of.p50_ns,
        90 => of.p90_ns,
        _ => of.p99_ns,
    };
    ns.unwrap_or(0)
}

/// A stage that changed by a small part of its ledger's total, which did not change.
pub(in crate::diff) fn small_part(m: &Metric, all: &[Metric]) -> bool {
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
    pub(in crate::diff) fn users_gain(&self) -> bool {
        let servers = self.servers;
        let answers = |m: &&Metric| m.which.is_wait();
        let shorter = self
            .metrics
            .iter()
            .filter(answers)
            .filter(|m| m.outcome == Outcome::Better);
        // Of a few answers only the slowest are shorter.
        let most = |m: &Metric| m.telling().filter(|s| s.percent < 99).map(|s| s.shift.unsigned_abs());
        let metrics = shorter.filter_map(|m| Some((m.which.service.as_deref()?, most(m)?)));
        let large = servers
            .large
            .iter()
            .filter(|l| !l.worse)
            .map(|l| (l.server.as_str(), l.by_ns.unsigned_abs()));
        let gains: Vec<(&str, u64)> = metrics.chain(large).collect();
        if gains.is_empty() {
            return false;
        }
        // What is of one service, or of one host, is weighed with what its own users gain.
        let gain = |m: &Metric| {
            let theirs = |server: &str| m.which.service.as_deref().is_none_or(|s| host(s) == host(server));
            let all = gains.iter().filter(|(server, _)| theirs(server));
            all.map(|(_, ns)| *ns).max().unwrap_or(0)
        };
        let called = self.stops(true) > 0
            || servers.gave_up.iter().any(|g| g.is_worse())
            || servers.detours.iter().any(|d| d.worse)
            || !servers.failing.is_empty()
            || servers.paused.iter().any(|p| p.worse)
            || servers.streams.iter().any(|s| s.worse)
            || servers.large.iter().any(|l| l.worse)
            || self.rates.iter().any(|r| r.outcome == Outcome::Worse);
        let grew = |s: &Shift| {
            (s.shift >= GREW_NS && s.after >= s.before.saturating_mul(2))
                || (s.shift >= FELT_NS && s.shift >= s.before / 4)
        };
        let small = |m: &Metric| {
            let most = m
                .shifts
                .iter()
                .map(|s| s.shift.max(0).unsigned_abs())
                .max()
                .unwrap_or(0);
            let times = match m.shifts.iter().any(grew) {
                true => FARTHEST,
                false => FAR_MORE,
            };
            let short = times == FAR_MORE || most < SHORT_NS;
            m.which.ledger != LEDGER && short && most.saturating_mul(times) < gain(m)
        };
        !called && self.metrics.iter().filter(|m| m.outcome == Outcome::Worse).all(small)
    }
}
