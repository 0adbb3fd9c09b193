//! A server of which nobody read for a time because all processes that had were gone and their successors had not begun: workers that are replaced all at once.
//!
//! ```text
//! processes A, B, C, D read requests ...  last reads  │ requests wait, their connections stand │ first reads of E, F, G, H ...
//! ```
//! Needs `turnarounds` and `processes`; no lost events. By the process that read each request of one address and port. Told where nobody who read before the pause read after it, and nobody after it had
//! read before. That the former ended is inferred. Must not take for one: a pause in which nobody asked, as where a client is restarted; a server that has a process for each connection.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use rustc_hash::FxHashMap;

use super::sockets::{Role, Socket};
use super::task;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::TurnaroundRow;

/// Shortest pause.
const PAUSE_NS: i64 = 100_000_000;
/// Pauses that are looked at, the longest.
const PAUSES: usize = 8;
/// The longest wait is one part in so many of it at least: else nobody asked meanwhile.
const THROUGH: i64 = 2;
/// Fewest requests that waited for as long as the shortest pause, and that each side read.
const WAITED: usize = 5;
const SIDES: usize = 10;
/// Fewest requests that a process read, on average of all: who serves one each is made for it.
const EACH: usize = 4;

/// A pause of a server.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Replaced {
    /// `address:port`.
    pub server: String,
    /// Last read before it and first read after it, ns since the start of the recording.
    pub pause_ns: (i64, i64),
    /// Requests that were readable before its end, and read behind it, after 100 ms or more.
    pub waited: u64,
    /// The longest of these until they were read, ns.
    pub longest_ns: i64,
    /// Processes that read before it, when the last read of the first of them was, and the name of the last.
    pub before: u64,
    /// See there.
    pub first_left_ns: i64,
    /// See there.
    pub task: String,
    /// Processes that read after it.
    pub after: u64,
    /// `task/thread` that read first behind it.
    pub first: String,
}

/// The one with most requests that waited.
pub(super) fn replaced(facts: &Facts, sockets: &[Socket<'_>]) -> Option<Replaced> {
    if !facts.gaps.is_empty() {
        return None;
    }
    let mut by: BTreeMap<SocketAddr, Vec<&TurnaroundRow>> = BTreeMap::new();
    for s in sockets.iter().filter(|s| s.in_turns && s.role == Role::Server) {
        if let Some(here) = s.local(facts) {
            let of = by.entry(here).or_default();
            of.extend(s.judged_turnarounds().filter(|t| t.pid > 0));
        }
    }
    let one = |(here, mut of): (SocketAddr, Vec<&TurnaroundRow>)| {
        of.sort_by_key(|t| t.read_ns);
        of_server(facts, here, &of)
    };
    by.into_iter().filter_map(one).max_by_key(|r| r.waited)
}

/// Places in the reads behind which none of those that read before reads again: nobody's last read lies behind it.
fn generations(facts: &Facts, of: &[&TurnaroundRow]) -> Vec<usize> {
    let process = |t: &TurnaroundRow| facts.process(t.pid);
    let mut last: FxHashMap<i32, usize> = FxHashMap::default();
    for (nth, t) in of.iter().enumerate() {
        last.insert(process(t), nth);
    }
    // Who serves one each is made for it.
    if last.len().saturating_mul(EACH) > of.len() {
        return vec![];
    }
    let mut furthest = 0;
    let mut ends = vec![];
    for (nth, t) in of.iter().enumerate() {
        furthest = furthest.max(last.get(&process(t)).copied().unwrap_or(nth));
        if furthest == nth {
            ends.push(nth);
        }
    }
    ends
}

/// Of reads in order of time.
fn of_server(facts: &Facts, server: SocketAddr, of: &[&TurnaroundRow]) -> Option<Replaced> {
    let process = |t: &TurnaroundRow| facts.process(t.pid);
    let start = facts.capture.start_ns.unwrap_or(0);
    // A process for each connection comes and goes with its client.
    let mut served: BTreeMap<i32, BTreeSet<ConnectionId>> = BTreeMap::new();
    for t in of {
        served.entry(process(t)).or_default().insert(t.connection);
    }
    let of_one = served.values().filter(|c| c.len() == 1).count();
    if of_one.saturating_mul(2) > served.len() {
        return None;
    }
    let pause = |nth: &usize| {
        let (last, first) = (of.get(*nth)?, of.get(nth.saturating_add(1))?);
        Some(first.read_ns.saturating_sub(last.read_ns)).filter(|ns| *ns >= PAUSE_NS)
    };
    let ends = generations(facts, of).into_iter();
    let mut pauses: Vec<(i64, usize)> = ends.filter_map(|nth| Some((pause(&nth)?, nth))).collect();
    pauses.sort_by_key(|(ns, nth)| (std::cmp::Reverse(*ns), *nth));
    pauses.truncate(PAUSES);
    let told = |(pause_ns, nth): (i64, usize)| {
        let (before, after) = of.split_at_checked(nth.saturating_add(1))?;
        let (last, first) = (before.last()?, after.first()?);
        if before.len() < SIDES || after.len() < SIDES {
            return None;
        }
        let unread = |t: &&TurnaroundRow| t.read_ns.saturating_sub(t.start_ns());
        let waited = after
            .iter()
            .filter(|t| t.start_ns() < first.read_ns && unread(t) >= PAUSE_NS);
        let (n, longest) = (waited.clone().count(), waited.map(unread).max()?);
        if n < WAITED || longest < pause_ns / THROUGH {
            return None;
        }
        let mut lasts: BTreeMap<i32, i64> = BTreeMap::new();
        for t in before {
            lasts.insert(process(t), t.read_ns);
        }
        let news: BTreeSet<i32> = after.iter().map(|t| process(t)).collect();
        Some(Replaced {
            server: server.to_string(),
            pause_ns: (last.read_ns.saturating_sub(start), first.read_ns.saturating_sub(start)),
            waited: n as u64,
            longest_ns: longest,
            before: lasts.len() as u64,
            first_left_ns: lasts.values().min().map_or(0, |ns| ns.saturating_sub(start)),
            task: last.task.text().into_owned(),
            after: news.len() as u64,
            first: task(&first.task, first.pid),
        })
    };
    let all = pauses.into_iter().filter_map(told);
    all.max_by_key(|r| r.waited)
}
