//! Where forwarding takes so much of the CPUs that it is worth a look.

use super::{Pair as Of, Runs, Took};
use crate::facts::Facts;

/// Median from which a packet is costly, ns: routing, connection tracking and tens of rules take 2 to 30 us on machines of today, with recording.
pub(crate) const COSTLY_NS: i64 = 100_000;
/// Share of a CPU from which it is felt by what else runs there: less is rare packets.
const SHARE: f64 = 0.1;
/// Packets from which their median says something.
const PACKETS: u64 = 100;
/// Pairs that are told.
const TOLD: usize = 2;
/// Begins of steps of several pairs that are one: so many to the recording.
const TOGETHER: i64 = 20;

/// Packets from one device to another that cost much.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Pair {
    /// Received on.
    pub from: String,
    /// Queued on.
    pub to: String,
    /// Namespaces that have devices of both names; 0: no list tells.
    pub namespaces: u64,
    /// Packets, of the time in which it took longer where that is clear.
    pub n: u64,
    /// Their median, ns.
    pub p50_ns: i64,
    /// Median of those at other times, ns.
    pub other_p50_ns: Option<i64>,
}

/// Where it costs much, and when.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Costly {
    /// Pairs, those with most time first.
    pub pairs: Vec<Pair>,
    /// Pairs beside these that cost as much a packet.
    pub others: u64,
    /// From then on, ns since the start of the recording; empty: from its begin on.
    pub from_ns: Option<i64>,
    /// Until then; empty: until its end.
    pub to_ns: Option<i64>,
    /// Share of the time of all NET_RX runs in that time.
    pub share: f64,
    /// Part of one CPU's time.
    pub of_a_cpu: f64,
}

/// The time that the steps of all pairs have in common; `None`: one has none, or another.
fn together(of: &[&Of], duration_ns: i64) -> Option<(Option<i64>, Option<i64>)> {
    let near = |a: Option<i64>, b: Option<i64>| match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.abs_diff(b) <= (duration_ns / TOGETHER).unsigned_abs(),
        _ => false,
    };
    let first = of.first()?.step?;
    let mut when = (first.from_ns, first.to_ns);
    for pair in of {
        let s = pair.step?;
        if !near(s.from_ns, first.from_ns) || !near(s.to_ns, first.to_ns) {
            return None;
        }
        when = (when.0.min(s.from_ns), when.1.max(s.to_ns));
    }
    Some(when)
}

/// Of all pairs, where a packet costs much, together; `took`: their packets.
pub(super) fn costly(facts: &Facts, pairs: &[Of], took: &[&[Took]], runs: &Runs<'_>) -> Option<Costly> {
    let level = |p: &Of| match &p.step {
        Some(s) => (s.n, s.p50_ns),
        None => (p.time.n, p.time.p50_ns.unwrap_or(0)),
    };
    let much = |p: &Of| level(p).0 >= PACKETS && level(p).1 >= COSTLY_NS;
    let (of, took): (Vec<&Of>, Vec<&[Took]>) = (pairs.iter().zip(took)).filter(|(p, _)| much(p)).unzip();
    let duration_ns = facts.capture.duration_ns;
    let when = together(&of, duration_ns);
    let (from, to) = when.unwrap_or((None, None));
    let start_ns = facts.capture.start_ns.unwrap_or(0);
    let end_ns = start_ns.saturating_add(duration_ns);
    let (begin, end) = (from.unwrap_or(start_ns), to.unwrap_or(end_ns));
    let inside = |t: &&Took| from.is_none_or(|f| t.0 >= f) && to.is_none_or(|to| t.0 < to);
    let ns = took.iter().flat_map(|t| t.iter()).filter(inside);
    let ns = ns.fold(0i64, |sum, t| sum.saturating_add(t.1)) as f64;
    let of_a_cpu = ns / end.saturating_sub(begin).max(1) as f64;
    if of.is_empty() || of_a_cpu < SHARE {
        return None;
    }
    let net_rx_ns = runs.between_ns(from.unwrap_or(i64::MIN), to.unwrap_or(i64::MAX));
    let told = |p: &&Of| Pair {
        from: p.from.clone(),
        to: p.to.clone(),
        namespaces: p.namespaces,
        n: level(p).0,
        p50_ns: level(p).1,
        other_p50_ns: p.step.map(|s| s.other_p50_ns),
    };
    Some(Costly {
        pairs: of.iter().take(TOLD).map(told).collect(),
        others: of.len().saturating_sub(TOLD) as u64,
        from_ns: from.map(|ns| ns.saturating_sub(start_ns)),
        to_ns: to.map(|ns| ns.saturating_sub(start_ns)),
        share: ns / net_rx_ns.max(1) as f64,
        of_a_cpu,
    })
}
