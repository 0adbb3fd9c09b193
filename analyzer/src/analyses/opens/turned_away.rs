//! Connections that their own program closed right after the handshake, without an answer: a limit of the program, or its refusal.
//!
//! Needs `tcp_states`, `resets`, `connections`, `tx`. Must not take for one: a connection that the peer closed first (a health check), one that
//! was opened here, one to which anything was written, one whose close made no RST (nothing that was asked lay unread).
//!
//! ```text
//! server's socket: ESTABLISHED ─ at most CLOSED_NS ─ FIN_WAIT1 | CLOSE,  RST for unread data (TCP_ABORT_ON_CLOSE)
//!                                                                        or for data that came after (TCP_ABORT_ON_DATA)
//! ```
//! Source: net/ipv4/tcp.c `__tcp_close` (unread data: RST), net/ipv4/tcp_input.c `tcp_rcv_state_process` (data after the close: RST).

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::opens::tables::ResetRow;
use crate::reconstruct::tcp::states::{CLOSE, ESTABLISHED, FIN_WAIT1};

/// Longest life of such a connection, ns.
const CLOSED_NS: i64 = 10_000_000;
/// Fewest at one address.
const FEWEST: usize = 3;
/// Addresses that are told: those with most of them.
const TOLD: usize = 16;
/// Reasons of a RST for what a program did not read.
const UNREAD: [&str; 2] = ["TCP_ABORT_ON_DATA", "TCP_ABORT_ON_CLOSE"];
/// Longest time from the RST to its arrival at a socket of this recording, ns.
const ARRIVES_NS: i64 = 1_000_000;

/// Connections to one address that the program there closed at once.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct TurnedAway {
    /// The address.
    pub at: String,
    /// `task/thread` that serves other connections there, the one task of all of them; empty: not known.
    pub task: String,
    /// How many.
    pub connections: u64,
    /// All that stood there from the first of them to the last.
    pub of: u64,
    /// Others that were there before the first and after the last of them.
    pub stayed: u64,
    /// The longest life.
    pub longest_ns: i64,
    /// When the first stood, ns since the start of the recording.
    pub first_ns: i64,
    /// And when the last did.
    pub last_ns: i64,
}

/// One of them: its address, when it stood, how long.
type One = (SocketAddr, ConnectionId, i64, i64);

fn all(facts: &Facts) -> Vec<One> {
    let sent = facts.resets.iter();
    let sent = sent.filter(|r| !r.received && UNREAD.iter().any(|u| r.reason.contains(u)) && r.confidence.is_solid());
    let reset: BTreeSet<ConnectionId> = sent.filter_map(|r| r.connection).collect();
    if reset.is_empty() {
        return vec![];
    }
    let mut states: BTreeMap<ConnectionId, Vec<(i64, i32)>> = BTreeMap::new();
    for s in (facts.tcp_states.iter()).filter(|s| s.kind == "sock" && reset.contains(&s.connection)) {
        states.entry(s.connection).or_default().push((s.time_ns, s.state));
    }
    let wrote: BTreeSet<ConnectionId> = (facts.tx.iter())
        .filter(|t| t.bytes.is_some_and(|b| b > 0))
        .filter_map(|t| t.connection)
        .collect();
    let of = |(c, states): (ConnectionId, Vec<(i64, i32)>)| {
        // A socket that was opened here was in SYN_SENT before.
        let [(stood, ESTABLISHED), (closed, FIN_WAIT1 | CLOSE), ..] = states.as_slice() else {
            return None;
        };
        let row = facts.connections.get(c.0 as usize)?;
        let lived = closed.saturating_sub(*stood);
        let silent = row.bytes_out == 0 && row.bytes_written.unwrap_or(0) == 0 && row.bytes_read.unwrap_or(0) == 0;
        let at = row.local()?;
        (silent && lived <= CLOSED_NS && !wrote.contains(&c)).then_some((at, c, *stood, lived))
    };
    states.into_iter().filter_map(of).collect()
}

/// What was turned away, the most first, and RSTs that are of these connections.
pub(super) fn turned_away(facts: &Facts) -> (Vec<TurnedAway>, impl Fn(&ResetRow) -> bool) {
    let mut by: BTreeMap<SocketAddr, Vec<One>> = BTreeMap::new();
    for one in all(facts) {
        by.entry(one.0).or_default().push(one);
    }
    by.retain(|_, of| of.len() >= FEWEST);
    let mut most: Vec<_> = by.iter().collect();
    most.sort_by_key(|(at, of)| (std::cmp::Reverse(of.len()), **at));
    let mut found: Vec<TurnedAway> = most
        .into_iter()
        .take(TOLD)
        .filter_map(|(at, of)| group(facts, *at, of))
        .collect();
    found.sort_by_key(|t| (std::cmp::Reverse(t.connections), t.first_ns));
    let own: BTreeSet<ConnectionId> = by.values().flatten().map(|one| one.1).collect();
    let mut clients: BTreeMap<_, Vec<i64>> = BTreeMap::new();
    for r in facts.resets.iter().filter(|r| !r.received) {
        if let (Some(to), true) = (r.to, r.connection.is_some_and(|c| own.contains(&c))) {
            clients.entry(to).or_default().push(r.time_ns);
        }
    }
    for of in clients.values_mut() {
        of.sort_unstable();
    }
    // At the other end the address of the server may be another one, by NAT: its own end and the moment tell.
    let is_of = move |r: &ResetRow| {
        let came = |of: &Vec<i64>| {
            let from = of.partition_point(|at| *at < r.time_ns.saturating_sub(ARRIVES_NS));
            of.get(from)
                .is_some_and(|at| *at <= r.time_ns.saturating_add(ARRIVES_NS))
        };
        match r.received {
            true => r.from.and_then(|f| clients.get(&f)).is_some_and(came),
            false => r.connection.is_some_and(|c| own.contains(&c)),
        }
    };
    (found, is_of)
}

fn group(facts: &Facts, at: SocketAddr, of: &[One]) -> Option<TurnedAway> {
    let (first, last) = (of.iter().map(|o| o.2).min()?, of.iter().map(|o| o.2).max()?);
    let there = |c: ConnectionId| {
        let row = facts.connections.get(c.0 as usize);
        row.filter(|r| r.sport == at.port() && r.saddr.map(|a| a.to_canonical()) == Some(at.ip()))
    };
    let own: BTreeSet<ConnectionId> = of.iter().map(|o| o.1).collect();
    let others: Vec<_> = (facts.connections.iter())
        .filter_map(|r| there(r.connection))
        .filter(|r| !own.contains(&r.connection))
        .collect();
    let stood = facts.tcp_states.iter().filter(|s| {
        let then = s.kind == "sock" && s.state == ESTABLISHED && (first..=last).contains(&s.time_ns);
        then && there(s.connection).is_some()
    });
    let tasks: BTreeSet<String> = (others.iter())
        .filter(|r| r.pid != 0)
        .map(|r| format!("{}/{}", r.task.text(), r.pid))
        .collect();
    let start = facts.capture.start_ns.unwrap_or(0);
    Some(TurnedAway {
        at: at.to_string(),
        task: (tasks.first().filter(|_| tasks.len() == 1).cloned()).unwrap_or_default(),
        connections: of.len() as u64,
        of: stood.count() as u64,
        stayed: others.iter().filter(|r| r.first_ns < first && r.last_ns > last).count() as u64,
        longest_ns: of.iter().map(|o| o.3).max()?,
        first_ns: first.saturating_sub(start),
        last_ns: last.saturating_sub(start),
    })
}
