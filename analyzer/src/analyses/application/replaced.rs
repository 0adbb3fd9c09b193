//! A server of which nobody read for a time because all processes that had were gone and their successors had not begun: workers that are replaced all at once.
//!
//! ```text
//! processes A, B, C, D read requests ...  last reads  │ requests wait, their connections stand │ first reads of E, F, G, H ...
//! ```
//! Needs `turnarounds` and `processes`; no lost events. By the process that read each request of one address and port. Told where nobody who read before the pause read after it, and nobody after it had
//! read before. That the former ended is inferred. Must not take for one: a pause in which nobody asked; a server that has always a new process for each connection.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use super::sockets::{Role, Socket};
use super::task;
use crate::facts::Facts;
use crate::reconstruct::application::tables::TurnaroundRow;

/// Shortest pause.
const PAUSE_NS: i64 = 100_000_000;
/// Fewest requests that waited through a part of it, and that each side read.
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
    /// Requests that were readable before its end and read behind it.
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
    let mut by: BTreeMap<(IpAddr, u16), Vec<&TurnaroundRow>> = BTreeMap::new();
    for s in sockets.iter().filter(|s| s.in_turns && s.role == Role::Server) {
        let row = facts.connections.get(s.connection.0 as usize);
        if let Some((row, addr)) = row.and_then(|r| Some((r, r.saddr?))) {
            let of = by.entry((addr.to_canonical(), row.sport)).or_default();
            of.extend(s.judged_turnarounds().filter(|t| t.pid > 0));
        }
    }
    let one = |(end, mut of): ((IpAddr, u16), Vec<&TurnaroundRow>)| {
        of.sort_by_key(|t| t.read_ns);
        of_server(facts, SocketAddr::from(end), &of)
    };
    by.into_iter().filter_map(one).max_by_key(|r| r.waited)
}

/// Of reads in order of time.
fn of_server(facts: &Facts, server: SocketAddr, of: &[&TurnaroundRow]) -> Option<Replaced> {
    let process = |t: &TurnaroundRow| facts.process(t.pid);
    let gap = |w: &[&TurnaroundRow]| matches!(w, [a, b] if b.read_ns.saturating_sub(a.read_ns) >= PAUSE_NS);
    let start = facts.capture.start_ns.unwrap_or(0);
    let pauses = of.windows(2).enumerate().filter(|(_, w)| gap(w));
    let told = |(nth, _): (usize, &[&TurnaroundRow])| {
        let (before, after) = of.split_at_checked(nth.saturating_add(1))?;
        let (last, first) = (before.last()?, after.first()?);
        let mut waited = after.iter().filter(|t| t.start_ns() < first.read_ns);
        let longest = waited.clone().map(|t| t.read_ns.saturating_sub(t.start_ns())).max()?;
        let n = waited.by_ref().count();
        if n < WAITED || before.len() < SIDES || after.len() < SIDES {
            return None;
        }
        let mut lasts: BTreeMap<i32, i64> = BTreeMap::new();
        for t in before {
            lasts.insert(process(t), t.read_ns);
        }
        let news: BTreeSet<i32> = after.iter().map(|t| process(t)).collect();
        let apart = news.iter().all(|p| !lasts.contains_key(p));
        let few = lasts.len().saturating_add(news.len()).saturating_mul(EACH) <= of.len();
        (apart && few).then(|| Replaced {
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
    pauses.filter_map(told).max_by_key(|r| r.waited)
}
