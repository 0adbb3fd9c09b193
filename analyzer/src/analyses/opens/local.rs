//! Programs that found the accept queue of a socket of the host itself (AF_UNIX) full, as a proxy before a program that listens on a socket file: no packet tells of it, and the proxy answers by itself.
//!
//! Needs the calls of `connect`. Which socket file it was no event tells. Calls that were refused, or whose file may not be used, are told of programs that serve somebody alone, and where most
//! of theirs are such: libraries try files that nobody needs.

use std::collections::BTreeMap;

use super::GROUPS;
use super::probers::servers;
use crate::facts::Facts;
use crate::reconstruct::opens::local::LocalConnects;

/// Fewest calls that were refused, or that waited: one alone may have waited for a CPU.
const REFUSED: u64 = 3;
const WAITED: u64 = 3;

/// Calls of one process.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FullQueue {
    /// `task/thread`, or of several threads the name alone.
    pub by: String,
    /// Threads that called.
    pub threads: u64,
    /// Calls that returned.
    pub calls: u64,
    /// Those that failed with EAGAIN: the queue was full.
    pub full: u64,
    /// When, ns since the start of the recording; of very many the first.
    #[serde(skip)]
    pub times: Vec<i64>,
    /// Length of the recording, ns.
    #[serde(skip)]
    pub duration_ns: i64,
    /// First and last of these times, likewise; `None`: there is none.
    pub within_ns: Option<(i64, i64)>,
    /// Those that were refused; 0 where the process serves nobody.
    pub refused: u64,
    /// Those whose file may not be used (EACCES, EPERM), likewise.
    pub denied: u64,
    /// Others that took 100 ms or longer.
    pub waited: u64,
    /// The longest that succeeded, or was ended by a signal or its own time-out.
    pub longest_ns: i64,
}

/// By process, those with most that failed first; only such of which something did.
pub(super) fn full_queues(facts: &Facts) -> Vec<FullQueue> {
    let mut by: BTreeMap<i32, Vec<&LocalConnects>> = BTreeMap::new();
    for row in &facts.local_connects {
        by.entry(facts.process(row.pid)).or_default().push(row);
    }
    let serve = servers(facts);
    let start = facts.capture.start_ns.unwrap_or(0);
    let one = |(process, rows): (i32, Vec<&LocalConnects>)| {
        let sum = |of: fn(&LocalConnects) -> u64| rows.iter().map(|r| of(r)).fold(0, u64::saturating_add);
        let mut times: Vec<i64> = rows
            .iter()
            .flat_map(|r| &r.full_ns)
            .map(|t| t.saturating_sub(start))
            .collect();
        times.sort_unstable();
        let (calls, serves) = (sum(|r| r.calls), serve.contains(&process));
        let most = |n: u64| n >= REFUSED && n.saturating_mul(2) >= calls;
        let theirs = |n: u64| if serves && most(n) { n } else { 0 };
        let first = rows.first()?;
        let task = first.task.text();
        let row = FullQueue {
            by: match rows.len() {
                1 => format!("{task}/{}", first.pid),
                _ => task.into_owned(),
            },
            threads: rows.len() as u64,
            calls,
            full: sum(|r| r.full),
            within_ns: times.first().copied().zip(times.last().copied()),
            times,
            duration_ns: facts.capture.duration_ns,
            refused: theirs(sum(|r| r.refused)),
            denied: theirs(sum(|r| r.denied)),
            waited: sum(|r| r.waited),
            longest_ns: rows.iter().map(|r| r.longest_ns).max().unwrap_or(0),
        };
        (row.full > 0 || row.refused > 0 || row.denied > 0 || row.waited >= WAITED).then_some(row)
    };
    let mut all: Vec<FullQueue> = by.into_iter().filter_map(one).collect();
    all.sort_by_key(|q| std::cmp::Reverse((q.full, q.refused.max(q.denied), q.waited)));
    all.truncate(GROUPS);
    all
}
