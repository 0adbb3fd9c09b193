//! Requests that a client sent over a connection while answers to earlier ones were still on their way over it: answers come in the order of their requests, so these wait for
//! all that was written before, however quick the server is.
//!
//! ```text
//! server  written ─ 3 MB ─────────────────────────────────────┐ (its own answer is written behind that)
//! client  arrived ──── so far ───┼── left when it asks ───────┤ not before all of that arrived
//!                               asks                          └ wait_ns
//! ```
//! Needs `rx` and `tx` of both ends: what the server had written and the client had not got when it sent. Who asks one after the other has all of the answer then. That answers
//! come in order is inferred: a protocol with several streams in one connection (HTTP/2) may put them in between. Must not take for requests what such a client sends of itself
//! (window updates): their sizes must be those of most requests that were sent while nothing was on its way.

use rustc_hash::{FxHashMap, FxHashSet};

use super::sockets::{Role, Socket};
use super::waited::server;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::transmit::tables::TxKind;
use crate::stat::nearest_rank;

/// Least that was on its way, bytes, and a request's size, at most.
const LEFT: u64 = 65_536;
const REQUEST: u32 = 4_096;
/// Less than that on its way is nothing: bytes whose rows come a little late.
const QUIET: u64 = 4_096;
/// Fewest such requests, spells of them, and requests at other times.
const REQUESTS: usize = 5;
const SPELLS: u64 = 2;
const OTHERS: usize = 20;
/// Least time that their median waits, ns, and times the usual answer.
const WAIT_NS: i64 = 5_000_000;
const TIMES: i64 = 5;

/// Such requests of one connection.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct OneLine {
    /// The client's ends.
    pub label: String,
    /// Task and thread of the client.
    pub task: String,
    /// The server, as its clients call it.
    pub server: String,
    /// Such requests, and all send calls of this connection.
    pub requests: u64,
    /// As said.
    pub of: u64,
    /// Times at which something was on its way and they were sent, apart from one another.
    pub spells: u64,
    /// What was on its way when they were sent, median, bytes.
    pub left_bytes: u64,
    /// Until all of that had arrived, median and longest, ns.
    pub wait_ns: i64,
    /// As said.
    pub wait_max_ns: i64,
    /// Speed of what was on its way, Mbit/s.
    pub mbit_per_s: f64,
    /// Median answer of this connection's other requests, ns.
    pub usual_ns: i64,
    /// Median answer of the server's other connections, ns; `None`: it has none in this recording.
    pub others_ns: Option<i64>,
}

/// A send call: when, and its bytes.
type Call = (i64, u32);
/// Bytes by time: (when, all until then).
type Sum = Vec<(i64, u64)>;

fn summed(mut of: Vec<(i64, u32)>) -> Sum {
    of.sort_unstable();
    let mut all = 0u64;
    let sum = |(at, bytes): (i64, u32)| {
        all = all.saturating_add(bytes.into());
        (at, all)
    };
    of.into_iter().map(sum).collect()
}

/// Bytes until a time.
fn until(sum: &Sum, at: i64) -> u64 {
    let before = sum.partition_point(|s| s.0 <= at).checked_sub(1);
    before.and_then(|n| sum.get(n)).map_or(0, |s| s.1)
}

/// When so many had come.
fn reached(sum: &Sum, bytes: u64) -> Option<i64> {
    sum.get(sum.partition_point(|s| s.1 < bytes)).map(|s| s.0)
}

/// The connection with most of such waits.
pub(super) fn one_line(facts: &Facts, sockets: &[Socket<'_>]) -> Option<OneLine> {
    // What was lost of one end alone would be on its way for ever.
    if !facts.gaps.is_empty() {
        return None;
    }
    let peer = |c: ConnectionId| facts.connections.get(c.0 as usize)?.peer;
    let clients = || sockets.iter().filter(|s| s.role == Role::Client);
    let asked: FxHashSet<ConnectionId> = clients()
        .filter(|s| peer(s.connection).is_some())
        .map(|s| s.connection)
        .collect();
    let mut came: FxHashMap<ConnectionId, Vec<(i64, u32)>> = FxHashMap::default();
    for r in &facts.rx {
        if let (Some(c), Some(bytes)) = (r.connection.filter(|c| asked.contains(c)), r.bytes) {
            came.entry(c).or_default().push((r.start_ns, bytes));
        }
    }
    came.retain(|_, of| of.iter().map(|u| u64::from(u.1)).sum::<u64>() >= 2 * LEFT);
    let ends: FxHashSet<ConnectionId> = came.keys().flat_map(|c| [Some(*c), peer(*c)]).flatten().collect();
    let mut sent: FxHashMap<ConnectionId, Vec<(i64, u32)>> = FxHashMap::default();
    for t in facts.tx.iter().filter(|t| t.kind == TxKind::Tcp) {
        if let (Some(c), Some(bytes)) = (t.connection.filter(|c| ends.contains(c)), t.bytes.filter(|b| *b > 0)) {
            sent.entry(c).or_default().push((t.start_ns, bytes));
        }
    }
    let each = clients().filter_map(|s| {
        let came = summed(came.remove(&s.connection)?);
        let written = summed(sent.get(&peer(s.connection)?)?.clone());
        let found = of_socket(facts, s, (&written, &came), sent.get(&s.connection)?)?;
        let beside = clients().filter(|o| o.connection != s.connection && server(facts, o.connection) == found.server);
        let mut beside: Vec<i64> = beside.flat_map(|o| o.judged_responses().map(|r| r.0)).collect();
        Some(OneLine {
            others_ns: nearest_rank(&mut beside, 50),
            ..found
        })
    });
    each.max_by_key(|o| o.wait_ns.saturating_mul(o.requests.cast_signed()))
}

/// What one call sent is one.
fn calls(sent: &[Call]) -> Vec<Call> {
    let mut sent = sent.to_vec();
    sent.sort_unstable();
    let mut calls: Vec<Call> = vec![];
    for (at, bytes) in sent {
        match calls.last_mut() {
            Some(last) if last.0 == at => last.1 = last.1.saturating_add(bytes),
            _ => calls.push((at, bytes)),
        }
    }
    calls
}

/// By how much what came was more than what rows tell was written, at most so far.
fn untold(written: &Sum, came: &Sum) -> Sum {
    let mut more = 0u64;
    let each = came.iter().map(|(at, bytes)| {
        more = more.max(bytes.saturating_sub(until(written, *at)));
        (*at, more)
    });
    each.collect()
}

fn of_socket(facts: &Facts, s: &Socket<'_>, (written, came): (&Sum, &Sum), sent: &[Call]) -> Option<OneLine> {
    let untold = untold(written, came);
    let written = |at: i64| until(written, at).saturating_add(until(&untold, at));
    let left = |at: i64| written(at).saturating_sub(until(came, at));
    // What never came was not seen to come: since when is not known.
    if left(i64::MAX) > LEFT / 2 {
        return None;
    }
    let calls = calls(sent);
    let (behind, alone): (Vec<Call>, Vec<Call>) = calls.iter().partition(|c| left(c.0) >= LEFT);
    let quiet: FxHashSet<i64> = alone.iter().filter(|c| left(c.0) < QUIET).map(|c| c.0).collect();
    let mut usual: Vec<i64> = s
        .judged_responses()
        .filter(|r| quiet.contains(&r.1.send_ns))
        .map(|r| r.0)
        .collect();
    let sizes: Vec<i64> = alone
        .iter()
        .filter(|c| quiet.contains(&c.0))
        .map(|c| c.1.into())
        .collect();
    if usual.len() < OTHERS || behind.len() < REQUESTS {
        return None;
    }
    let size = |percent| nearest_rank(&mut sizes.clone(), percent).unwrap_or(0);
    let (least, most) = (size(5), size(95).min(REQUEST.into()));
    let behind = behind.into_iter().filter(|c| (least..=most).contains(&c.1.into()));
    let each: Vec<(i64, u64, i64)> = behind
        .filter_map(|(at, _)| Some((at, left(at), reached(came, written(at))?.saturating_sub(at))))
        .collect();
    let mut waits: Vec<i64> = each.iter().map(|e| e.2).collect();
    let (wait_ns, usual_ns) = (nearest_rank(&mut waits, 50)?, nearest_rank(&mut usual, 50)?);
    // A spell ends when all that was on its way has arrived.
    let mut spells = 0u64;
    let mut end = i64::MIN;
    for (at, _, wait) in &each {
        spells += u64::from(*at > end);
        end = end.max(at.saturating_add(*wait));
    }
    if each.len() < REQUESTS || spells < SPELLS || wait_ns < usual_ns.saturating_mul(TIMES).max(WAIT_NS) {
        return None;
    }
    let mut bytes: Vec<i64> = each.iter().map(|e| e.1.cast_signed()).collect();
    let sum = |of: &[i64]| of.iter().map(|n| *n as f64).sum::<f64>();
    let row = facts.connections.get(s.connection.0 as usize)?;
    Some(OneLine {
        label: crate::analyses::tcp::label(row),
        task: super::task(&row.task, row.pid),
        server: server(facts, s.connection),
        requests: each.len() as u64,
        of: calls.len() as u64,
        spells,
        mbit_per_s: sum(&bytes) * 8e3 / sum(&waits).max(1.0),
        left_bytes: nearest_rank(&mut bytes, 50)?.cast_unsigned(),
        wait_ns,
        wait_max_ns: waits.iter().copied().max().unwrap_or(0),
        usual_ns,
        others_ns: None,
    })
}
