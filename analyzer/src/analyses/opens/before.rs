//! Attempts of a program that went to another address of that port before, and never since: its name was given another address, or its list of servers another entry.
//!
//! Needs `opens`. Inferred. Must not be said where anybody reached the new end, where several others were left, or where the time since is no longer than between two of the
//! connections before.

use std::collections::BTreeMap;

use crate::facts::Facts;
use crate::reconstruct::opens::tables::{End, OpenEnd, OpenRow};

/// Where it connected before.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Before {
    /// `address:port`
    pub to: String,
    /// Connections that stood.
    pub connections: u64,
    /// When it began to open the last one, ns since the start of the recording.
    pub last_ns: i64,
}

/// Fewest connections before, and fewest attempts since.
const FEWEST: usize = 3;
/// The time since is so many times as long as the longest between two before.
const LONGER: i64 = 2;

/// Of attempts to one end by one process, none of which came to be.
pub(super) fn before(facts: &Facts, attempts: &[&OpenRow]) -> Option<Before> {
    let (first, last) = (attempts.first()?, attempts.last()?);
    let (to, process) = (first.to?, facts.process(first.pid));
    let all_one = attempts.iter().all(|o| facts.process(o.pid) == process);
    if attempts.len() < FEWEST || !all_one || first.pid <= 0 || !facts.gaps.is_empty() {
        return None;
    }
    let theirs = |o: &&OpenRow| o.to.is_some_and(|t| t.1 == to.1 && t != to) && facts.process(o.pid) == process;
    let mut by: BTreeMap<End, Vec<&OpenRow>> = BTreeMap::new();
    for o in facts.opens.iter().filter(theirs) {
        by.entry(o.to?).or_default().push(o);
    }
    // All of them stood, and ended before.
    let left = by.iter().filter(|(_, of)| {
        let stood = of
            .iter()
            .all(|o| o.end == OpenEnd::Established && o.start_ns < first.start_ns);
        let gaps = of.windows(2).map(|w| w[1].start_ns.saturating_sub(w[0].start_ns)).max();
        let since = of.last().map(|o| last.start_ns.saturating_sub(o.start_ns));
        stood && of.len() >= FEWEST && gaps.zip(since).is_some_and(|(g, s)| s > g.saturating_mul(LONGER))
    });
    let left: Vec<_> = left.collect();
    let [(end, of)] = left.as_slice() else { return None };
    Some(Before {
        to: super::end(Some(**end)),
        connections: of.len() as u64,
        last_ns: of.last()?.start_ns.saturating_sub(facts.capture.start_ns.unwrap_or(0)),
    })
}
