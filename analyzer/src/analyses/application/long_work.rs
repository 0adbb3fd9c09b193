//! Whose long requests the others of a thread waited behind: one client's command that takes a hundred times as long as all the rest.
//!
//! Needs `turnarounds`, `connections`. Of a thread that serves one request after the other: the address whose work had most of the time in which others lay
//! unread (as in `others`). Told where its requests take many times as long as the thread's requests do: of clients that are alike, each waits for each.

use std::net::IpAddr;

use rustc_hash::FxHashSet;

use super::others::{LONG_NS, Others};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::stat::nearest_rank;

/// Part of the waiting.
const MOSTLY: f64 = 0.5;
/// So many times the median work of the thread.
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
    /// Of that time the thread ran.
    pub running: f64,
    /// Median time from one to the next, ns; `None`: too few.
    pub every_ns: Option<i64>,
    /// Payload that came on their connections, for each request, bytes; `None`: not known.
    pub bytes: Option<u64>,
}

pub(super) fn long_work(facts: &Facts, rows: &[&TurnaroundRow], others: &Others, behind_ns: i64) -> Option<LongWork> {
    let (peer, requests, ns) = others.during(rows)?;
    let share = ns as f64 / behind_ns.max(1) as f64;
    let of = |r: &&&TurnaroundRow| daddr(facts, r.connection) == Some(peer);
    let work = |r: &TurnaroundRow| r.send_ns.saturating_sub(r.read_ns);
    let long: Vec<&TurnaroundRow> = rows.iter().filter(of).copied().filter(|r| work(r) >= LONG_NS).collect();
    let median = |of: &[&TurnaroundRow]| nearest_rank(&mut of.iter().map(|r| work(r)).collect::<Vec<_>>(), 50);
    let (p50_ns, all) = (median(&long)?, median(rows)?);
    if share < MOSTLY || p50_ns < all.saturating_mul(TIMES) {
        return None;
    }
    let sum = |ns: fn(&TurnaroundRow) -> i64| long.iter().fold(0i64, |sum, r| sum.saturating_add(ns(r)));
    let mut starts: Vec<i64> = long.iter().map(|r| r.read_ns).collect();
    starts.sort_unstable();
    let mut between: Vec<i64> = starts
        .windows(2)
        .filter_map(|w| w.last()?.checked_sub(*w.first()?))
        .collect();
    Some(LongWork {
        of: peer.to_string(),
        requests,
        share: share.min(1.0),
        p50_ns,
        running: sum(|r| r.split.running_ns) as f64 / sum(TurnaroundRow::total_ns).max(1) as f64,
        every_ns: nearest_rank(&mut between, 50).filter(|_| starts.len() >= PERIOD),
        bytes: bytes(facts, rows, &long),
    })
}

fn daddr(facts: &Facts, c: ConnectionId) -> Option<IpAddr> {
    facts.connections.get(c.0 as usize)?.daddr
}

/// What came on the connections of these, for each of their requests.
fn bytes(facts: &Facts, rows: &[&TurnaroundRow], long: &[&TurnaroundRow]) -> Option<u64> {
    let of: FxHashSet<ConnectionId> = long.iter().map(|r| r.connection).collect();
    let requests = rows.iter().filter(|r| of.contains(&r.connection)).count() as u64;
    let came = of.iter().filter_map(|c| facts.connections.get(c.0 as usize));
    let came = came.map(|c| c.bytes_in).fold(0, u64::saturating_add);
    came.checked_div(requests).filter(|n| *n > 0)
}
