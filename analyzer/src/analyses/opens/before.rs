//! Attempts of a program that went to another address of that port before, and never since: its name was given another address, or its list of servers another entry.
//!
//! Needs `opens`, `connections`. Inferred. Must not be said where anybody reached the new end, where several others were left, where the connections before are still used, were opened at once, or
//! where the time since is no longer than between two of them.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

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
/// What is opened at once is one use: the longest time between two is so long at least, ns.
const APART_NS: i64 = 100_000_000;
/// Ends of a process and a port that are looked at: who has more has a list, of which one that is left says little.
const ENDS: usize = 64;

/// An end of a process.
struct Place {
    end: End,
    connections: usize,
    /// All attempts stood.
    stood: bool,
    /// Begin of the last attempt, and the longest time between two.
    last_ns: i64,
    longest_ns: i64,
    /// The last that is known of its connections.
    used_ns: i64,
}

/// By process and port.
pub(super) struct Places<'f> {
    facts: &'f Facts,
    of: FxHashMap<(i32, u16), Vec<Place>>,
}

impl<'f> Places<'f> {
    pub(super) fn of_all(facts: &'f Facts) -> Places<'f> {
        // Where events were lost what came later may be among them.
        let whole = facts.opens.iter().filter(|o| o.pid > 0 && facts.gaps.is_empty());
        let mut by: BTreeMap<(i32, End), Vec<&OpenRow>> = BTreeMap::new();
        for o in whole {
            if let Some(to) = o.to {
                by.entry((facts.process(o.pid), to)).or_default().push(o);
            }
        }
        let mut of: FxHashMap<(i32, u16), Vec<Place>> = FxHashMap::default();
        for ((process, end), mut rows) in by {
            rows.sort_by_key(|o| o.start_ns);
            let gaps = rows.windows(2).filter_map(|w| match w {
                [a, b] => b.start_ns.checked_sub(a.start_ns),
                _ => None,
            });
            let used = rows
                .iter()
                .filter_map(|o| facts.connections.get(o.connection?.0 as usize));
            let Some(last) = rows.last() else { continue };
            of.entry((process, end.1)).or_default().push(Place {
                end,
                connections: rows.len(),
                stood: rows.iter().all(|o| o.end == OpenEnd::Established),
                last_ns: last.start_ns,
                longest_ns: gaps.max().unwrap_or(0),
                used_ns: used.map(|c| c.last_ns).max().unwrap_or(last.end_ns),
            });
        }
        of.retain(|_, ends| ends.len() <= ENDS);
        Places { facts, of }
    }

    /// Of attempts to one end by one process, none of which came to be.
    pub(super) fn before(&self, attempts: &[&OpenRow]) -> Option<Before> {
        let first = attempts.iter().min_by_key(|o| o.start_ns)?;
        let last = attempts.iter().map(|o| o.start_ns).max()?;
        let (to, process) = (first.to?, self.facts.process(first.pid));
        let all_one = attempts.iter().all(|o| self.facts.process(o.pid) == process);
        if attempts.len() < FEWEST || !all_one {
            return None;
        }
        // The one end that it does not open any more.
        let all = self.of.get(&(process, to.1))?.iter();
        let left: Vec<&Place> = all.filter(|p| p.end != to && p.last_ns < first.start_ns).collect();
        let [one] = left.as_slice() else { return None };
        let since = last.saturating_sub(one.last_ns);
        let long = one.longest_ns >= APART_NS && since > one.longest_ns.saturating_mul(LONGER);
        let unused = one.used_ns < first.start_ns;
        let start = self.facts.capture.start_ns.unwrap_or(0);
        (one.stood && one.connections >= FEWEST && long && unused).then(|| Before {
            to: super::end(Some(one.end)),
            connections: one.connections as u64,
            last_ns: one.last_ns.saturating_sub(start),
        })
    }
}
