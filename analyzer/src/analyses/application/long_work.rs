//! Whose long requests the others of a thread waited behind: one client's command that takes a hundred times as long as all the rest.
//!
//! Needs `turnarounds`, `connections`. Of a thread that serves one request after the other: the address whose work had most of the time in which others lay
//! unread (as in `others`). Told where its requests, by the median of all of them, take many times as long as the thread's requests do: of clients that are alike, each waits for
//! each, and one with few long requests among many short ones is not told from these by its address.

use rustc_hash::FxHashSet;

use super::others::{Behind, Others, Work};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::stat::nearest_rank;

/// Part of the waiting.
const MOSTLY: f64 = 0.5;
const MOST: f64 = 1.05;
/// So many times the thread's median must be the address's.
const TIMES: i64 = 10;
/// Fewest requests of which a period is told.
const PERIOD: usize = 4;

/// Requests of one address that others waited behind.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct LongWork {
    /// Their address.
    pub of: String,
    /// How many of them kept others waiting.
    pub requests: u64,
    /// Share of the time in which others waited.
    pub share: f64,
    /// From their read to their answer, median, ns.
    pub p50_ns: i64,
    /// Least part of that time that the thread ran.
    pub running: f64,
    /// Median time from one to the next, ns; `None`: too few.
    pub every_ns: Option<i64>,
    /// Payload that came on their connections, for each request, bytes; `None`: not known.
    pub bytes: Option<u64>,
}

/// Of the requests that a thread read, and the time that they waited behind others.
pub(super) fn long_work(
    facts: &Facts,
    pid: i32,
    rows: &[&TurnaroundRow],
    others: &Others,
    behind_ns: i64,
) -> Option<LongWork> {
    let Behind { peer, work, ns } = others.during(rows)?;
    let share = ns as f64 / behind_ns.max(1) as f64;
    // More than all of it is of other moments than these waited in.
    if !(MOSTLY..=MOST).contains(&share) || !others.far_longer(pid, peer, TIMES) {
        return None;
    }
    let sum = |ns: fn(&Work) -> i64| work.iter().map(ns).fold(0i64, i64::saturating_add);
    let between = work
        .windows(2)
        .filter_map(|w| w.last()?.read_ns.checked_sub(w.first()?.read_ns));
    let mut between: Vec<i64> = between.collect();
    Some(LongWork {
        of: peer.to_string(),
        requests: work.len() as u64,
        share: share.min(1.0),
        p50_ns: nearest_rank(&mut work.iter().map(Work::ns).collect::<Vec<_>>(), 50)?,
        running: (sum(|w| w.running_ns) as f64 / sum(Work::ns).max(1) as f64).min(1.0),
        every_ns: nearest_rank(&mut between, 50).filter(|_| work.len() >= PERIOD),
        bytes: bytes(facts, &work),
    })
}

/// What came on the connections of these, for each of the requests there.
fn bytes(facts: &Facts, work: &[Work]) -> Option<u64> {
    let of: FxHashSet<ConnectionId> = work.iter().map(|w| w.connection).collect();
    let requests = facts.turnarounds.iter().filter(|r| of.contains(&r.connection)).count() as u64;
    let came = of.iter().filter_map(|c| facts.connections.get(c.0 as usize));
    let came = came.map(|c| c.bytes_in).fold(0, u64::saturating_add);
    came.checked_div(requests).filter(|n| *n > 0)
}
