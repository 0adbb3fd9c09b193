//! Attempts without an answer that came from another address than those of their program before, which came to be: a route with another source, an address that was added.
//!
//! Needs `opens`. Measured; that this is why is inferred. Must not be said where any from the new address came to be there, or one from the old one failed since.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use rustc_hash::FxHashMap;

use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::opens::tables::{End, OpenEnd, OpenRow};

/// Fewest of both.
const FEWEST: usize = 3;

/// From where they came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// All that failed.
    pub now: IpAddr,
    /// Those that came to be before.
    pub before: IpAddr,
    /// How many.
    pub stood: u64,
    /// When the last of them began, ns since the start of the recording.
    pub last_ns: i64,
}

/// All attempts by where they went and whose they were: threads that live for one request are of no known process.
pub(super) struct Sources<'f> {
    facts: &'f Facts,
    of: FxHashMap<(End, Name), Vec<&'f OpenRow>>,
}

impl<'f> Sources<'f> {
    pub(super) fn of_all(facts: &'f Facts) -> Sources<'f> {
        let mut of: FxHashMap<(End, Name), Vec<&OpenRow>> = FxHashMap::default();
        for o in facts.opens.iter().filter(|_| facts.gaps.is_empty()) {
            if let Some(to) = o.to {
                of.entry((to, o.task)).or_default().push(o);
            }
        }
        Sources { facts, of }
    }

    /// Of attempts to one end.
    pub(super) fn source(&self, of: &[&OpenRow]) -> Option<Source> {
        let first = of.iter().min_by_key(|o| o.start_ns)?;
        let from: BTreeSet<IpAddr> = of.iter().filter_map(|o| Some(o.from?.0)).collect();
        let now = from
            .first()
            .copied()
            .filter(|_| from.len() == 1 && of.len() >= FEWEST)?;
        let mut by: BTreeMap<IpAddr, Vec<&OpenRow>> = BTreeMap::new();
        for o in self.of.get(&(first.to?, first.task))? {
            if let Some((from, _)) = o.from {
                by.entry(from).or_default().push(o);
            }
        }
        if by.remove(&now)?.iter().any(|o| o.end == OpenEnd::Established) {
            return None;
        }
        // Others go on; whoever stopped when these began is who has another address since.
        let stopped = |of: &[&OpenRow]| {
            let well = of
                .iter()
                .all(|o| o.end == OpenEnd::Established && o.start_ns < first.start_ns);
            well && of.len() >= FEWEST
        };
        by.retain(|_, of| stopped(of));
        let (before, old) = by.pop_first().filter(|_| by.is_empty())?;
        // Another host's, as far as its addresses are known.
        let space = |of: IpAddr| self.facts.spaces.of_address(of);
        if space(now).zip(space(before)).is_some_and(|(a, b)| a != b) {
            return None;
        }
        let last_ns = old.iter().map(|o| o.start_ns).max()?;
        Some(Source {
            now,
            before,
            stood: old.len() as u64,
            last_ns: last_ns.saturating_sub(self.facts.capture.start_ns.unwrap_or(0)),
        })
    }
}
