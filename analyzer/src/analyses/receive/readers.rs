//! Whose packets took long to be read: the thread and the local end with most of that time.
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

type Task = (Name, i32);

/// The one with most, where that is half of all or more.
fn most<K: Ord + Copy + std::hash::Hash>(of: impl Iterator<Item = (K, i64)>, whole: i64) -> Option<(K, f64)> {
    let mut by: FxHashMap<K, i64> = FxHashMap::default();
    for (k, ns) in of {
        let sum = by.entry(k).or_insert(0);
        *sum = sum.saturating_add(ns);
    }
    let (k, ns) = by.into_iter().max_by_key(|(k, ns)| (*ns, std::cmp::Reverse(*k)))?;
    let share = ns as f64 / whole.max(1) as f64;
    (share >= MOSTLY).then_some((k, share))
}

/// Of all read units: a thread at one end, else a thread or an end, whichever has more.
pub(super) fn reader(facts: &Facts, read: &[&RxRow]) -> Option<Reader> {
    let mut by: FxHashMap<(Task, Option<SocketAddr>), i64> = FxHashMap::default();
    let end = |r: &RxRow| facts.connections.get(r.connection?.0 as usize)?.local();
    let mut whole = 0i64;
    for r in read {
        whole = whole.saturating_add(r.total_ns);
        let of = by.entry(((r.task, r.pid), end(r))).or_insert(0);
        *of = of.saturating_add(r.total_ns);
    }
    let text = |(name, pid): Task| format!("{}/{pid}", name.text());
    let all = || by.iter().map(|(k, ns)| (*k, *ns));
    if let Some(((task, Some(at)), share)) = most(all(), whole) {
        let (task, at) = (text(task), at.to_string());
        return Some(Reader { task, at, share });
    }
    let task = most(all().map(|((task, _), ns)| (task, ns)), whole);
    let ends = all().filter_map(|((_, at), ns)| Some((at?, ns)));
    match (task, most(ends, whole)) {
        (task, Some((at, share))) if task.is_none_or(|t| t.1 < share) => Some(Reader {
            task: String::new(),
            at: at.to_string(),
            share,
        }),
        (task, _) => task.map(|(task, share)| Reader {
            task: text(task),
            at: String::new(),
            share,
        }),
    }
}
