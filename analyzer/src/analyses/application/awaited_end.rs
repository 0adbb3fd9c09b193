//! Answers that waited for more of another server's answer than came, until that one closed the connection: a length that is too large, an end that is not recognized.
//!
//! ```text
//! front      request read ── asks ────────── asleep ───────────────────── answer sent
//! directory                  └ answer, all of it   ...   asleep   ...  closes (its idle time-out)
//! ```
//! Needs `turnarounds`, `responses`, `tcp_states`. Of an answer whose thread asked another server in its time, had the last byte of what that one sent in the first tenth, and sent its own right behind the FIN of that connection. That it waited for the end is inferred.
//! Must not take for one: what is still sent on until the end, a connection whose close some answers happen to meet.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use rustc_hash::FxHashMap;

use super::sockets::{Role, Socket};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::{ResponseRow, TurnaroundRow};
use crate::reconstruct::tcp::states::CLOSE_WAIT;
use crate::stat::nearest_rank;

/// Shortest answer.
const LEAST_NS: i64 = 500_000_000;
/// From the FIN to its send, at most, ns.
const SOON_NS: i64 = 20_000_000;
/// The other answer was there in the first part in so many of its time.
const EARLY: i64 = 10;
/// Fewest of them; and part of all that took half as long as they, or longer.
const FEWEST: usize = 3;
const MOSTLY: usize = 2;

/// Answers that waited so.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct AwaitedEnd {
    /// `address:port` whose answers they are.
    pub server: String,
    /// How many.
    pub n: u64,
    /// Their time, median, ns.
    pub p50_ns: i64,
    /// `address:port` of the other one.
    pub other: String,
    /// From the last byte of its answer to its FIN, median, ns.
    pub silent_p50_ns: i64,
    /// First answer's begin and last one's end, ns since the start of the recording.
    pub within_ns: (i64, i64),
}

/// One, and for how long the other server was silent.
type Waited<'f> = (&'f TurnaroundRow, i64);

/// The pair of servers with most of them.
pub(super) fn awaited_end(facts: &Facts, sockets: &[Socket<'_>]) -> Option<AwaitedEnd> {
    if !facts.gaps.is_empty() {
        return None;
    }
    // When peers closed connections, and what was asked on these, by the thread that read.
    let closed = facts
        .tcp_states
        .iter()
        .filter(|s| s.kind == "sock" && s.state == CLOSE_WAIT);
    let closed: FxHashMap<ConnectionId, i64> = closed.map(|s| (s.connection, s.time_ns)).collect();
    let mut last: FxHashMap<ConnectionId, &ResponseRow> = FxHashMap::default();
    for r in facts.responses.iter().filter(|r| closed.contains_key(&r.connection)) {
        let of = last.entry(r.connection).or_insert(r);
        if of.send_ns < r.send_ns {
            *of = r;
        }
    }
    let mut by_thread: FxHashMap<i32, Vec<(i64, &ResponseRow)>> = FxHashMap::default();
    for (c, r) in last {
        if let Some(at) = closed.get(&c) {
            by_thread.entry(r.pid).or_default().push((*at, r));
        }
    }
    by_thread
        .values_mut()
        .for_each(|of| of.sort_by_key(|(at, r)| (*at, r.connection)));
    let waited = |t: &TurnaroundRow| -> Option<(SocketAddr, i64)> {
        let of = by_thread.get(&t.sender_pid)?;
        let from = of.partition_point(|(at, _)| *at < t.send_ns.saturating_sub(SOON_NS));
        let near = of.get(from..)?.iter().take_while(|(at, _)| *at <= t.send_ns);
        let early = t.read_ns.saturating_add(t.total_ns() / EARLY);
        let own = |(_, r): &&(i64, &ResponseRow)| {
            r.send_ns >= t.read_ns && r.complete_ns.or(r.ready_ns).is_some_and(|at| at <= early)
        };
        let (at, r) = near.filter(own).last()?;
        let to = facts.connections.get(r.connection.0 as usize)?.remote()?;
        Some((to, at.saturating_sub(r.complete_ns.or(r.ready_ns)?)))
    };
    let mut late: BTreeMap<SocketAddr, Vec<i64>> = BTreeMap::new();
    let mut by: BTreeMap<(SocketAddr, SocketAddr), Vec<Waited<'_>>> = BTreeMap::new();
    for s in sockets.iter().filter(|s| s.in_turns && s.role == Role::Server) {
        let Some(here) = s.local(facts) else { continue };
        for t in s.judged_turnarounds().filter(|t| t.total_ns() >= LEAST_NS) {
            late.entry(here).or_default().push(t.total_ns());
            if let Some((other, silent)) = waited(t) {
                by.entry((here, other)).or_default().push((t, silent));
            }
        }
    }
    let start = facts.capture.start_ns.unwrap_or(0);
    let one = |((here, other), of): ((SocketAddr, SocketAddr), Vec<Waited<'_>>)| {
        let mut took: Vec<i64> = of.iter().map(|w| w.0.total_ns()).collect();
        let mut silent: Vec<i64> = of.iter().map(|w| w.1).collect();
        let (p50, silent) = (nearest_rank(&mut took, 50)?, nearest_rank(&mut silent, 50)?);
        let as_long = late.get(&here)?.iter().filter(|ns| **ns >= p50 / 2).count();
        (of.len() >= FEWEST && of.len().saturating_mul(MOSTLY) >= as_long).then(|| AwaitedEnd {
            server: here.to_string(),
            n: of.len() as u64,
            p50_ns: p50,
            other: other.to_string(),
            silent_p50_ns: silent,
            within_ns: (
                of.iter()
                    .map(|w| w.0.read_ns)
                    .min()
                    .map_or(0, |ns| ns.saturating_sub(start)),
                of.iter()
                    .map(|w| w.0.send_ns)
                    .max()
                    .map_or(0, |ns| ns.saturating_sub(start)),
            ),
        })
    };
    by.into_iter().filter_map(one).max_by_key(|a| a.n)
}
