//! What does forwarding cost? CPU time that the host's own path from the reception of a packet to the queue of the device that it leaves by (routing, netfilter,
//! bridge) takes for each, by pair of devices, and its share of NET_RX.
//!
//! Needs `forwarded` (analyzer/src/reconstruct/skb/forwarded.rs) and `softirqs`. Only packets of NET_RX runs whose end was seen and whose thread kept the CPU count, and
//! of which hard interrupts took a tenth at most. Not seen: NAPI threads, which are no softirqs; XDP and hardware, which have no skb; what a device does behind its queue.
//! What made it take long no event tells: a packet filter's rules that each packet walks are the usual reason for 0.1 ms and more, and inferred.

use std::collections::BTreeMap;

use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::skb::Forwarded;
use crate::reconstruct::softirq::tables::{NET_RX, SoftirqRow};
use crate::stat::Distribution;

mod costly;
mod step;
#[cfg(test)]
mod tests;

pub(crate) use costly::COSTLY_NS;
pub use costly::{Costly, Pair as CostlyPair};
pub use step::Step;

/// Pairs that are told apart, those with most time.
const PAIRS: usize = 32;
/// Part of a run that hard interrupts may have had: its packets' times are right but for as much.
const INTERRUPTS: i64 = 10;

/// Packets from one device to another.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Pair {
    /// Received on.
    pub from: String,
    /// Queued on.
    pub to: String,
    /// Namespaces that have devices of both names; 0: no list tells.
    pub namespaces: u64,
    /// Of a CPU for each.
    pub time: Distribution,
    /// Share of the time of all NET_RX runs.
    pub share: f64,
    /// When it took longer, where that is clear.
    pub step: Option<Step>,
}

/// The answer.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Forwarding {
    /// Pairs of devices, those with most time first.
    pub pairs: Vec<Pair>,
    /// Pairs beside these.
    pub others: u64,
    /// Packets of runs that do not count.
    pub left_out: u64,
    /// Where it costs much.
    pub costly: Option<Costly>,
}

/// NET_RX runs by CPU, in order.
pub(crate) struct Runs<'f>(BTreeMap<u16, Vec<&'f SoftirqRow>>);

impl<'f> Runs<'f> {
    pub(crate) fn of(facts: &'f Facts) -> Runs<'f> {
        let mut all: BTreeMap<u16, Vec<&SoftirqRow>> = BTreeMap::new();
        for s in facts.softirqs.iter().filter(|s| s.vec == NET_RX) {
            all.entry(s.cpu).or_default().push(s);
        }
        Runs(all)
    }
    /// Whether the time of a packet counts.
    pub(crate) fn counts(&self, f: &Forwarded) -> bool {
        let of = self.0.get(&f.cpu).map_or(&[][..], Vec::as_slice);
        let nth = of.partition_point(|s| s.start_ns <= f.at_ns);
        let Some(run) = nth.checked_sub(1).and_then(|n| of.get(n)) else {
            return false;
        };
        let begins = f.at_ns.saturating_sub(f.ns);
        let inside = run.start_ns <= begins && run.end_ns.is_some_and(|end| f.at_ns <= end);
        let irq_ns = run.irq_ns.unwrap_or(0);
        let ran_ns = run.ran_ns().unwrap_or(0);
        inside && run.confidence.is_solid() && run.preempted.is_none() && irq_ns.saturating_mul(INTERRUPTS) <= ran_ns
    }
    /// Time of all runs that began between two moments.
    fn between_ns(&self, from_ns: i64, to_ns: i64) -> i64 {
        let all = self.0.values().flatten();
        let of = all.filter(|s| s.start_ns >= from_ns && s.start_ns < to_ns);
        of.filter_map(|s| s.ran_ns()).fold(0, i64::saturating_add)
    }
}

/// A packet's time: when it was queued, and how long it took, ns.
type Took = (i64, i64);

/// Asks.
pub fn answer(facts: &Facts) -> Forwarding {
    let runs = Runs::of(facts);
    let mut by: BTreeMap<(Name, Name), Vec<Took>> = BTreeMap::new();
    let mut left_out = 0;
    for f in &facts.forwarded {
        match runs.counts(f) {
            true => by.entry((f.from, f.to)).or_default().push((f.at_ns, f.ns)),
            false => left_out += 1,
        }
    }
    let sum = |of: &[Took]| of.iter().fold(0i64, |sum, t| sum.saturating_add(t.1));
    let mut of: Vec<((Name, Name), Vec<Took>)> = by.into_iter().collect();
    of.sort_by_key(|(_, took)| std::cmp::Reverse(sum(took)));
    let others = of.len().saturating_sub(PAIRS) as u64;
    of.truncate(PAIRS);
    let all_ns = runs.between_ns(i64::MIN, i64::MAX).max(1);
    let pair = |((from, to), took): &((Name, Name), Vec<Took>)| Pair {
        from: from.text().into_owned(),
        to: to.text().into_owned(),
        namespaces: facts.routes.links.with_both(&from.text(), &to.text()),
        time: Distribution::of(took.iter().map(|t| t.1).collect(), 0),
        share: sum(took) as f64 / all_ns as f64,
        step: step::step(took),
    };
    let pairs: Vec<Pair> = of.iter().map(pair).collect();
    let took: Vec<&[Took]> = of.iter().map(|(_, took)| took.as_slice()).collect();
    Forwarding {
        costly: costly::costly(facts, &pairs, &took, &runs),
        pairs,
        others,
        left_out,
    }
}
