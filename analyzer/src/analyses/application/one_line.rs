//! Requests that a client sent over a connection while a large answer was still coming over it: answers come in the order of their requests, so these wait for all of the
//! large one, however quick the server is.
//!
//! ```text
//! client  ask (large) ──── ask ──── ask ─────────┐ answers to both can begin
//!                 ╞═ large answer, full segments ╡
//! ```
//! Needs `rx`, `tx`, `responses`. That answers come in order is inferred: a protocol that sends several streams over one connection (HTTP/2) may put them in between. Must not take for requests
//! what such a client sends of itself meanwhile (window updates): their sizes must be those of requests that were answered one by one at other times.

use std::collections::BTreeMap;

use super::sockets::{Role, Socket};
use super::waited::server;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::ResponseRow;
use crate::reconstruct::transmit::tables::TxKind;
use crate::stat::nearest_rank;

/// A large answer, bytes, and its least length, ns.
const LARGE: u64 = 262_144;
const LONG_NS: i64 = 5_000_000;
/// Units of an answer that fills segments, bytes, and between two of one answer, at most, ns.
const FULL: u32 = 1_000;
const GAP_NS: i64 = 20_000_000;
/// A request is no larger, bytes.
const REQUEST: u32 = 4_096;
/// Fewest large answers with requests behind them, such requests, and answers at other times.
const ANSWERS: usize = 2;
const REQUESTS: usize = 5;
const OTHERS: usize = 20;
/// Times the usual answer that the median of them waits.
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
    /// Large answers that had requests behind them.
    pub answers: u64,
    /// Their median size, bytes, and the median time over which they came, ns.
    pub answer_bytes: u64,
    /// As said.
    pub answer_ns: i64,
    /// Requests sent meanwhile, and all that this connection sent.
    pub requests: u64,
    /// As said.
    pub of: u64,
    /// From their begin to the end of the large answer, median and longest, ns.
    pub wait_ns: i64,
    /// As said.
    pub wait_max_ns: i64,
    /// Median answer of this connection at other times, ns.
    pub usual_ns: i64,
    /// Median answer of the server's other connections, ns; `None`: it has none in this recording.
    pub others_ns: Option<i64>,
}

/// A large answer: from, to, bytes.
type Large = (i64, i64, u64);

/// The connection with most of such waits.
pub(super) fn one_line(facts: &Facts, sockets: &[Socket<'_>]) -> Option<OneLine> {
    let mut came: BTreeMap<ConnectionId, Vec<(i64, u32)>> = BTreeMap::new();
    for r in facts.rx.iter().filter(|r| r.bytes.is_some_and(|b| b >= FULL)) {
        if let (Some(c), Some(bytes)) = (r.connection, r.bytes) {
            came.entry(c).or_default().push((r.start_ns, bytes));
        }
    }
    let mut sent: BTreeMap<ConnectionId, Vec<(i64, u32)>> = BTreeMap::new();
    for t in facts.tx.iter().filter(|t| t.kind == TxKind::Tcp) {
        if let (Some(c), Some(bytes)) = (
            t.connection.filter(|c| came.contains_key(c)),
            t.bytes.filter(|b| *b > 0),
        ) {
            sent.entry(c).or_default().push((t.start_ns, bytes));
        }
    }
    let clients = || sockets.iter().filter(|s| s.role == Role::Client);
    let each = clients().filter_map(|s| {
        let large = large(came.get(&s.connection)?);
        let found = of_socket(facts, s, &large, sent.get(&s.connection)?)?;
        let beside = clients().filter(|o| o.connection != s.connection && server(facts, o.connection) == found.server);
        let mut beside: Vec<i64> = beside.flat_map(|o| o.judged_responses().map(|r| r.0)).collect();
        Some(OneLine {
            others_ns: nearest_rank(&mut beside, 50),
            ..found
        })
    });
    each.max_by_key(|o| o.wait_ns.saturating_mul(o.requests.cast_signed()))
}

/// Answers that fill segments one behind the other.
fn large(units: &[(i64, u32)]) -> Vec<Large> {
    let mut units = units.to_vec();
    units.sort_unstable();
    let mut all: Vec<Large> = vec![];
    for (at, bytes) in &units {
        match all.last_mut() {
            Some(l) if at.saturating_sub(l.1) <= GAP_NS => (l.1, l.2) = (*at, l.2.saturating_add(u64::from(*bytes))),
            _ => all.push((*at, *at, u64::from(*bytes))),
        }
    }
    all.retain(|l| l.2 >= LARGE && l.1.saturating_sub(l.0) >= LONG_NS);
    all
}

fn of_socket(facts: &Facts, s: &Socket<'_>, large: &[Large], sent: &[(i64, u32)]) -> Option<OneLine> {
    let during = |at: i64| {
        let before = large.partition_point(|l| l.0 < at).checked_sub(1)?;
        large.get(before).filter(|l| at < l.1).map(|l| (before, l.1))
    };
    // What was answered by itself, and of which size such requests are.
    let alone = |r: &&(i64, &ResponseRow)| {
        during(r.1.send_ns).is_none() && !large.iter().any(|l| l.0 >= r.1.send_ns && l.0 <= r.1.read_ns)
    };
    let answered: Vec<(i64, &ResponseRow)> = s.judged_responses().collect();
    let mut usual: Vec<i64> = answered.iter().filter(alone).map(|r| r.0).collect();
    let begun: Vec<i64> = answered.iter().filter(alone).map(|r| r.1.send_ns).collect();
    let sizes = || sent.iter().filter(|t| begun.contains(&t.0)).map(|t| t.1);
    let (least, most) = (sizes().min()?, sizes().max()?.min(REQUEST));
    if usual.len() < OTHERS {
        return None;
    }
    let mut waits: Vec<i64> = vec![];
    let mut of: Vec<usize> = vec![];
    for (at, _) in sent.iter().filter(|t| (least..=most).contains(&t.1)) {
        if let Some((which, end)) = during(*at) {
            waits.push(end.saturating_sub(*at));
            of.push(which);
        }
    }
    of.sort_unstable();
    of.dedup();
    let wait_ns = nearest_rank(&mut waits, 50)?;
    let usual_ns = nearest_rank(&mut usual, 50)?;
    if of.len() < ANSWERS || waits.len() < REQUESTS || wait_ns < usual_ns.saturating_mul(TIMES).max(LONG_NS) {
        return None;
    }
    let with: Vec<Large> = of.iter().filter_map(|at| large.get(*at).copied()).collect();
    let middle = |of: &mut Vec<i64>| nearest_rank(of, 50).unwrap_or(0);
    let bytes = middle(&mut with.iter().map(|l| l.2.cast_signed()).collect());
    let row = facts.connections.get(s.connection.0 as usize)?;
    Some(OneLine {
        label: crate::analyses::tcp::label(row),
        task: super::task(&row.task, row.pid),
        server: server(facts, s.connection),
        answers: with.len() as u64,
        answer_bytes: bytes.cast_unsigned(),
        answer_ns: middle(&mut with.iter().map(|l| l.1.saturating_sub(l.0)).collect()),
        requests: waits.len() as u64,
        of: sent.len() as u64,
        wait_ns,
        wait_max_ns: waits.iter().copied().max().unwrap_or(0),
        usual_ns,
        others_ns: None,
    })
}
