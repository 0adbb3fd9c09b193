//! What the probes of `--extra kprobes` add: how full accept queues were, and for how long names were resolved before anybody connected.
//!
//! In: rows of `accept_queues` and `name_lookups`. Limits: a queue's length is known when a connection joins it, and not between; a lookup whose
//! begin or end is not in the recording has no length, and is counted as unknown.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::GROUPS;
use crate::facts::Facts;
use crate::reconstruct::probes::tables::{AcceptRow, LookupRow};
use crate::stat::Distribution;

/// The accept queues of a port.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct AcceptQueue {
    /// `address:port`; empty: not recorded.
    pub at: String,
    /// Listening sockets.
    pub sockets: u64,
    /// Connections that joined.
    pub joined: u64,
    /// Most that waited in one of them, its own newest included.
    pub most: u32,
    /// How many may wait in that one, and one more.
    pub limit: u32,
    /// When that was, ns.
    pub most_ns: i64,
    /// Connections that left no room for the next.
    pub full: u64,
}

/// Calls of getaddrinfo by threads of one name.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Lookups {
    /// Name of the threads; empty: not known.
    pub task: String,
    /// How long they took.
    pub took: Distribution,
    /// Begin of the longest, ns.
    pub slowest_ns: Option<i64>,
    /// Calls that took [`SLOW_NS`] or longer, those among them that were still under way when the recording ended.
    pub slow: u64,
}

/// So long nobody resolves a name whose server answers.
pub const SLOW_NS: i64 = 1_000_000_000;

/// By port; most waiting first, those of one length by address.
pub fn queues(facts: &Facts) -> Vec<AcceptQueue> {
    let mut by: BTreeMap<String, Vec<&AcceptRow>> = BTreeMap::new();
    for row in &facts.probes.accepts {
        by.entry(super::end(row.local)).or_default().push(row);
    }
    let queue = |(at, rows): (String, Vec<&AcceptRow>)| {
        let most = rows.iter().max_by_key(|r| (r.waiting, std::cmp::Reverse(r.time_ns)))?;
        Some(AcceptQueue {
            at,
            sockets: rows.iter().map(|r| r.sk).collect::<BTreeSet<_>>().len() as u64,
            joined: rows.len() as u64,
            most: most.waiting,
            limit: most.limit,
            most_ns: most.time_ns,
            full: rows.iter().filter(|r| r.is_full()).count() as u64,
        })
    };
    let mut queues: Vec<AcceptQueue> = by.into_iter().filter_map(queue).collect();
    queues.sort_by_key(|q| std::cmp::Reverse((q.full, q.most)));
    queues.truncate(GROUPS);
    queues
}

/// By task; the longest first.
pub fn lookups(facts: &Facts) -> Vec<Lookups> {
    let mut by: BTreeMap<String, Vec<&LookupRow>> = BTreeMap::new();
    for row in &facts.probes.lookups {
        by.entry(row.task.text().into_owned()).or_default().push(row);
    }
    // The last one of a thread that never returned: what was cut by another call of the thread has no end at all.
    let end = facts.capture.end_ns.unwrap_or(i64::MIN);
    let last: FxHashMap<i32, Option<i64>> = facts.probes.lookups.iter().map(|r| (r.pid, r.start_ns)).collect();
    let waits = |r: &LookupRow| {
        let open = r.end_ns.is_none() && last.get(&r.pid) == Some(&r.start_ns);
        open && r.start_ns.is_some_and(|start| end.saturating_sub(start) >= SLOW_NS)
    };
    let of = |(task, rows): (String, Vec<&LookupRow>)| {
        let took: Vec<i64> = rows.iter().filter_map(|r| r.took_ns()).collect();
        let slowest = rows.iter().filter(|r| r.took_ns().is_some());
        Lookups {
            task,
            slow: (took.iter().filter(|ns| **ns >= SLOW_NS).count() + rows.iter().filter(|r| waits(r)).count()) as u64,
            slowest_ns: slowest.max_by_key(|r| r.took_ns()).and_then(|r| r.start_ns),
            took: Distribution::of(took.clone(), (rows.len() - took.len()) as u64),
        }
    };
    let mut lookups: Vec<Lookups> = by.into_iter().map(of).collect();
    lookups.sort_by_key(|l| std::cmp::Reverse(l.took.max_ns));
    lookups.truncate(GROUPS);
    lookups
}
