//! A CPU that does nothing but receive: NET_RX takes nearly all its time.
//!
//! Needs `softirqs`, `polls`, `rx`. Why it is that one is told only of what is steered there (RPS): the wait for another CPU's NET_RX is a stage of its own.

use std::collections::BTreeMap;

use super::CpuVector;
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::receive::tables::Stage;

/// Share of its time.
const NEARLY_ALL: f64 = 0.9;
/// Shortest time, ns: of less than this nothing is wrong.
const LEAST_NS: i64 = 500_000_000;
/// Share of units that makes them one reader's, or steered.
const MOSTLY: f64 = 0.5;

/// That CPU.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Saturated {
    /// Its number.
    pub cpu: u16,
    /// Share of the recording that it spent in NET_RX.
    pub share: f64,
    /// The largest such share of another CPU; 0: none ran it.
    pub others: f64,
    /// Packets that its polls took, and its time in NET_RX for each of them, ns; where all its polls say how many they took.
    pub each: Option<(u64, i64)>,
    /// Share of the units received on it that came to another CPU and were steered to it (RPS).
    pub steered: f64,
    /// `task/thread` that read most received units, and its share.
    pub reader: Option<(String, f64)>,
}

/// The busiest, where it is one.
pub(super) fn saturated(facts: &Facts, cpus: &[CpuVector]) -> Option<Saturated> {
    let rx = || cpus.iter().filter(|c| c.vector == "NET_RX");
    let busiest = rx().max_by(|a, b| a.share.total_cmp(&b.share))?;
    if busiest.share < NEARLY_ALL || busiest.run.sum_ns < LEAST_NS {
        return None;
    }
    let others = rx().filter(|c| c.cpu != busiest.cpu).map(|c| c.share);
    let polls = facts.polls.iter().filter(|p| p.cpu == busiest.cpu);
    let works = polls.map(|p| u64::try_from(p.work?).ok());
    let packets: Option<u64> = works.sum::<Option<u64>>().filter(|n| *n > 0);
    let on = || facts.rx.iter().filter(|r| r.cpu == busiest.cpu);
    let steered = on().filter(|r| r.stage(Stage::Rps).is_some_and(|ns| ns > 0)).count();
    let share = |n: usize, of: usize| n as f64 / of.max(1) as f64;
    let mut by: BTreeMap<(Name, i32), usize> = BTreeMap::new();
    for r in facts.rx.iter().filter(|r| r.pid > 0) {
        *by.entry((r.task, r.pid)).or_default() += 1;
    }
    let most = by.into_iter().max_by_key(|(who, n)| (*n, std::cmp::Reverse(*who)));
    Some(Saturated {
        cpu: busiest.cpu,
        share: busiest.share,
        others: others.fold(0.0, f64::max),
        each: packets.and_then(|n| Some((n, busiest.run.sum_ns / i64::try_from(n).ok()?))),
        steered: share(steered, on().count()),
        reader: most
            .map(|((task, pid), n)| (format!("{}/{pid}", task.text()), share(n, facts.rx.len())))
            .filter(|(_, share)| *share >= MOSTLY),
    })
}
