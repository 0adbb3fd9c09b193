//! NET_RX runs that were preempted, or waited for a lock: PREEMPT_RT runs softirqs in threads.

use std::collections::BTreeMap;

use crate::explain::{Id, Kind};
use crate::reconstruct::softirq::tables::{NET_RX, SoftirqRow};

/// How many, how long, behind whom.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Preempted {
    /// Runs.
    pub runs: u64,
    /// Of so many runs of NET_RX.
    pub of: u64,
    /// Time that their threads were switched out, ns.
    pub ns: i64,
    /// Of that, while they waited for a lock, ns.
    pub lock_ns: i64,
    /// Most of it in one run, ns.
    pub longest_ns: i64,
    /// That run, of equals the first.
    pub worst: Option<Id>,
    /// Who ran longest meanwhile in the runs with most of the time; `swapper`: nobody.
    pub by: String,
    /// ns of these runs.
    pub by_ns: i64,
}

pub(super) fn preempted(rows: &[SoftirqRow]) -> Option<Preempted> {
    let (mut of, mut runs, mut ns, mut lock_ns) = (0u64, 0u64, 0i64, 0i64);
    let mut longest: Option<(i64, usize)> = None;
    let mut by: BTreeMap<String, i64> = BTreeMap::new();
    for (n, r) in rows.iter().enumerate().filter(|(_, r)| r.vec == NET_RX) {
        of += 1;
        let Some(p) = &r.preempted else { continue };
        runs += 1;
        ns = ns.saturating_add(p.ns);
        lock_ns = lock_ns.saturating_add(p.lock_ns);
        let sum = by.entry(p.by.text().into_owned()).or_default();
        *sum = sum.saturating_add(p.ns);
        if longest.is_none_or(|(most, _)| p.ns > most) {
            longest = Some((p.ns, n));
        }
    }
    let (longest_ns, worst) = longest?;
    // The first of equals.
    let (by, by_ns) = by.into_iter().rev().max_by_key(|(_, ns)| *ns)?;
    Some(Preempted {
        runs,
        of,
        ns,
        lock_ns,
        longest_ns,
        worst: u32::try_from(worst).ok().map(|n| Id::new(Kind::Softirq, n)),
        by,
        by_ns,
    })
}
