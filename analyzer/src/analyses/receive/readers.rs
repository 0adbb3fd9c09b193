//! Whose packets took long to their reader: the thread and the local end with most of that time.
//!
//! Needs read units of `rx`, `connections`. A server of many threads has no thread with most, but one end.

use std::net::SocketAddr;

use rustc_hash::FxHashMap;

use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::receive::tables::RxRow;

/// Share of all time from which a thread, or an end, is named.
const MOSTLY: f64 = 0.5;

/// Who had most of the time.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Reader {
    /// `task/thread`; empty: several had it.
    pub task: String,
    /// `address:port` of its own end; empty: several, or not known.
    pub at: String,
    /// Share of all units' time, 0 to 1.
    pub share: f64,
}

fn most<K: Ord + Copy>(by: FxHashMap<K, i64>) -> Option<(K, i64)> {
    by.into_iter().max_by_key(|(k, ns)| (*ns, std::cmp::Reverse(*k)))
}

/// Of all read units.
pub(super) fn reader(facts: &Facts, read: &[&RxRow]) -> Option<Reader> {
    let mut tasks: FxHashMap<(Name, i32), i64> = FxHashMap::default();
    let mut ends: FxHashMap<SocketAddr, i64> = FxHashMap::default();
    let mut whole = 0i64;
    let end = |r: &RxRow| {
        let c = facts.connections.get(r.connection?.0 as usize)?;
        Some(SocketAddr::new(c.saddr?.to_canonical(), c.sport))
    };
    for r in read {
        whole = whole.saturating_add(r.total_ns);
        let of = tasks.entry((r.task, r.pid)).or_insert(0);
        *of = of.saturating_add(r.total_ns);
        if let Some(at) = end(r) {
            let of = ends.entry(at).or_insert(0);
            *of = of.saturating_add(r.total_ns);
        }
    }
    let share = |ns: i64| ns as f64 / whole.max(1) as f64;
    let task = most(tasks).filter(|(_, ns)| share(*ns) >= MOSTLY);
    let at = most(ends).filter(|(_, ns)| share(*ns) >= MOSTLY);
    let share = [task.map(|t| t.1), at.map(|a| a.1)]
        .into_iter()
        .flatten()
        .min()
        .map(share)?;
    Some(Reader {
        task: task.map_or_else(String::new, |((name, pid), _)| format!("{}/{pid}", name.text())),
        at: at.map_or_else(String::new, |(at, _)| at.to_string()),
        share,
    })
}
