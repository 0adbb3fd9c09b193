//! Connections that their program closed by itself while it could not send on them: a consumer that reads too slowly, and a limit (redis' output buffer, a queue of
//! messages) or a time-out of the program that ends it.
//!
//! Needs ends of sends (`sock_send_length`, Linux 6.3 or later), `tcp_states` with the thread of each change, `halts`, `connections`.
//!
//! ```text
//! its program   ... sends | refused: the send buffer is full (EAGAIN) | closes, with no send between
//! the peer      reads slowly, reads what was taken before ............................................ | the end
//! ```
//! Must not take for one: a peer that closed or reset first (it gave up a download), a program that ends and takes its sockets with it, sockets near lost events.
//! That a limit is why is inferred. Those that `cut_off` tells, one transfer after the other, are not told twice.

use std::collections::BTreeMap;
use std::net::IpAddr;

use rustc_hash::FxHashMap;

use super::CutOff;
use crate::analyses::application::{task, who_has};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::dispatch::Lost;
use crate::reconstruct::tcp::states::{
    CLOSE, CLOSE_WAIT, CLOSING, ESTABLISHED, FIN_WAIT1, FIN_WAIT2, LAST_ACK, TIME_WAIT,
};
use crate::reconstruct::tcp::tables::StateRow;
use crate::reconstruct::transmit::{Halt, LeftFull, Stage};
use crate::stat::nearest_rank;

/// Shortest time from the refused send to the close, ns: whoever closes at once has something else to end it for.
const LEAST_NS: i64 = 50_000_000;
/// A process that ends so soon before or behind it closed it for that, ns.
const ENDS_NS: i64 = 1_000_000_000;
/// So long before the refused send the peer's window is looked at, too, ns; and the share of the time in which it held the connection.
const BEFORE_NS: i64 = 500_000_000;
const MOSTLY: f64 = 0.5;
/// What is acknowledged so late behind the close was queued yet, ns.
const BEHIND_NS: i64 = 200_000_000;
/// Kept.
const MOST: usize = 10;

/// Connections of one end with one peer's address.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct GivenUpFull {
    /// The end that was closed.
    pub at: String,
    /// `task/thread` that has the first of them.
    pub task: String,
    /// The peer, an address and a port; of several connections the first.
    pub peer: String,
    /// Connections.
    pub connections: u64,
    /// The first of them, in `connections`.
    pub first: u32,
    /// From the last send, which was refused, to the close, median, ns.
    pub full_ns: i64,
    /// From the close until what had been sent was acknowledged, the longest, ns; of one that was not when the recording ended, at least; `None`: of all of them that was
    /// thrown away (a RST), or, where `open`, is not known for lost events.
    pub behind_ns: Option<i64>,
    /// Of one of them that was not so when the recording ended.
    pub open: bool,
    /// The peer's receive window held most of them then.
    pub by_window: bool,
    /// `task/thread` that has the peer's end of the first; empty: not in the recording, or not known.
    pub reader: String,
}

/// One of them.
struct One {
    left: LeftFull,
    closed: i64,
    /// Until it was acknowledged; `None`: a RST ended it.
    behind: Option<i64>,
    /// It was not when the recording ended.
    open: bool,
    by_window: bool,
}

/// By end and peer, most first.
pub(super) fn given_up(facts: &Facts, cut_off: Option<&CutOff>) -> Vec<GivenUpFull> {
    let none = facts.left_full.iter().map(|l| (l.connection, vec![]));
    let mut states: FxHashMap<ConnectionId, Vec<&StateRow>> = none.collect();
    if states.is_empty() {
        return vec![];
    }
    for s in facts.tcp_states.iter().filter(|s| s.kind == "sock") {
        if let Some(of) = states.get_mut(&s.connection) {
            of.push(s);
        }
    }
    let lost = Lost::of(&facts.gaps);
    let mut by: BTreeMap<(String, IpAddr), Vec<One>> = BTreeMap::new();
    for left in &facts.left_full {
        let row = facts.connections.get(left.connection.0 as usize);
        let ends = row.and_then(|c| Some((c.local()?.to_string(), c.remote()?.ip())));
        let one = states.get(&left.connection).and_then(|of| one(facts, &lost, *left, of));
        if let (Some(ends), Some(one)) = (ends, one) {
            by.entry(ends).or_default().push(one);
        }
    }
    let told = |at: &str, peer: IpAddr| cut_off.is_some_and(|c| c.at == at && c.peer == peer.to_string());
    let mut all: Vec<GivenUpFull> = (by.into_iter())
        .filter(|((at, peer), _)| !told(at, *peer))
        .filter_map(|((at, _), of)| group(facts, at, &of))
        .collect();
    all.sort_by_key(|g| std::cmp::Reverse(g.connections));
    all.truncate(MOST);
    all
}

/// What became of one socket, where its own program closed it then.
fn one(facts: &Facts, lost: &Lost, left: LeftFull, states: &[&StateRow]) -> Option<One> {
    let ends = [FIN_WAIT1, CLOSE_WAIT, LAST_ACK, CLOSE];
    let close = states.iter().find(|s| ends.contains(&s.state))?;
    let closed = close.time_ns;
    let process = facts.process(close.pid);
    let own = close.in_task && close.pid > 0 && process == facts.process(left.pid);
    let late = closed.saturating_sub(left.at_ns) >= LEAST_NS;
    let around = (closed.saturating_sub(ENDS_NS), closed.saturating_add(ENDS_NS));
    let ended = facts.ended.within(process, around.0, around.1) == Some(true);
    let by_it = [FIN_WAIT1, CLOSE].contains(&close.state);
    if !(own && late && by_it) || ended || lost.within(left.at_ns, closed) {
        return None;
    }
    // A connect that is given up meets EAGAIN, too.
    let before = states.iter().rev().find(|s| s.time_ns <= left.at_ns);
    if before.is_some_and(|s| s.state != ESTABLISHED) {
        return None;
    }
    let next = states.iter().find(|s| s.time_ns > closed && s.state != CLOSING);
    let end = facts.capture.end_ns.unwrap_or(closed).max(closed);
    let (acked, open) = match (close.state, next.map(|s| (s.state, s.time_ns))) {
        (FIN_WAIT1, Some((FIN_WAIT2 | TIME_WAIT, at))) => (Some(at), false),
        // What was lost may have told of it.
        (FIN_WAIT1, None) => (Some(end).filter(|end| !lost.within(closed, *end)), true),
        _ => (None, false),
    };
    let halts = facts.halts.get(&left.connection);
    // Before the close, or until what was sent had been taken: what waits behind a FIN is not counted as held.
    let held = |from: i64, to: i64| {
        let within = |h: &Halt| h.to.min(to).saturating_sub(h.from.max(from)).max(0);
        let ns = (halts.into_iter().flatten())
            .filter(|h| h.by == Stage::Rwnd)
            .map(within);
        ns.fold(0i64, i64::saturating_add) as f64 >= MOSTLY * to.saturating_sub(from).max(1) as f64
    };
    let until = acked.unwrap_or(closed);
    let by_window = held(left.at_ns.saturating_sub(BEFORE_NS), closed) || held(left.at_ns, until);
    let behind = acked.map(|at| at.saturating_sub(closed));
    // It may have drained since: then it could be sent on.
    if !by_window && behind.is_none_or(|ns| ns < BEHIND_NS) {
        return None;
    }
    Some(One {
        left,
        closed,
        behind,
        open,
        by_window,
    })
}

fn group(facts: &Facts, at: String, of: &[One]) -> Option<GivenUpFull> {
    let first = of.iter().min_by_key(|o| o.closed)?;
    let row = facts.connections.get(first.left.connection.0 as usize)?;
    let mut full: Vec<i64> = of.iter().map(|o| o.closed.saturating_sub(o.left.at_ns)).collect();
    let windows = of.iter().filter(|o| o.by_window).count();
    Some(GivenUpFull {
        at,
        task: task(&row.task, row.pid),
        peer: row.remote()?.to_string(),
        connections: of.len() as u64,
        first: first.left.connection.0,
        full_ns: nearest_rank(&mut full, 50)?,
        behind_ns: of.iter().filter_map(|o| o.behind).max(),
        open: of.iter().any(|o| o.open),
        by_window: windows * 2 > of.len(),
        reader: who_has(facts, row.peer),
    })
}
