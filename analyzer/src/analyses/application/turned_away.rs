//! Requests in place of whose answer the server ended the connection: its FIN came behind the request, and not a byte before it.
//!
//! Needs `tcp_states`, `tx`, `rx`, `responses`, `connections`. By client task and server. Must not take for one: a connection that the client left first, or on which
//! nothing was asked; a server that never answers (one-way protocols); one or two (an idle connection that the server ends just then is asked again on another); what
//! events were lost of. A RST is told with the connections (`opens/resets`).
//!
//! ```text
//! client's socket: send ─── no byte comes ─── CLOSE_WAIT (the peer's FIN)
//! ```

use std::collections::BTreeMap;

use super::left::left;
use super::server;
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::dispatch::Lost;
use crate::reconstruct::tcp::role::Role;
use crate::reconstruct::thread::ENDS_NS;
use crate::stat::nearest_rank;

/// Fewest of a group.
const LEAST: usize = 3;
/// Groups kept.
const GROUPS: usize = 5;

/// Of a program's requests to a server.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TurnedAway {
    /// Task that asked.
    pub task: String,
    /// `address:port`.
    pub server: String,
    /// So many.
    pub requests: u64,
    /// Answers of that server before the first of them, to all who ask.
    pub before: u64,
    /// And from then on.
    pub since: u64,
    /// From the request to the FIN (p50), ns.
    pub wait_ns: i64,
    /// Of these, how many whose serving thread ended within a quarter of a second of it; `None`: not told of each.
    pub ended: Option<u64>,
    /// When the first of them was sent, ns since the start of the recording.
    pub first_ns: i64,
    /// And the last.
    pub last_ns: i64,
}

impl TurnedAway {
    /// Fewer are answered since than are turned away.
    pub fn is_wrong(&self) -> bool {
        self.since < self.requests
    }
}

/// When it was sent, how long it waited, and whether the serving thread ended then, if that is told.
type Away = (i64, i64, Option<bool>);

/// All groups, most first.
pub(super) fn turned_away(facts: &Facts) -> Vec<TurnedAway> {
    let lost = Lost::of(&facts.gaps);
    let start = facts.capture.start_ns.unwrap_or(0);
    let row = |c: crate::facts::ConnectionId| facts.connections.get(c.0 as usize);
    let mut groups: BTreeMap<(String, Name), Vec<Away>> = BTreeMap::new();
    for (c, one) in left(facts) {
        let (Some((sent, closed)), Some(row)) = (one.turned_away(), row(c)) else {
            continue;
        };
        if row.role().0 != Role::Client || lost.within(sent, closed) {
            continue;
        }
        let waited = closed.saturating_sub(sent);
        let server_thread = row
            .peer
            .and_then(|p| facts.connections.get(p.0 as usize))
            .map(|p| p.pid);
        let around = (closed.saturating_sub(ENDS_NS), closed.saturating_add(ENDS_NS));
        let ended = server_thread.and_then(|pid| facts.ended.within(pid, around.0, around.1));
        groups
            .entry((server(facts, c), row.task))
            .or_default()
            .push((sent, waited, ended));
    }
    groups.retain(|_, of| of.len() >= LEAST);
    if groups.is_empty() {
        return vec![];
    }
    let mut answers: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for r in &facts.responses {
        let of = row(r.connection).filter(|c| c.role().0 == Role::Client);
        let of = of.map(|c| server(facts, c.connection));
        if let Some(of) = of.filter(|s| groups.keys().any(|(server, _)| server == s)) {
            answers.entry(of).or_default().push(r.send_ns);
        }
    }
    let mut all: Vec<TurnedAway> = vec![];
    for ((server, task), mut of) in groups {
        let Some(answered) = answers.get(&server) else { continue };
        of.sort_unstable();
        let (Some((first, ..)), Some((last, ..))) = (of.first().copied(), of.last().copied()) else {
            continue;
        };
        let mut waits: Vec<i64> = of.iter().map(|w| w.1).collect();
        let before = answered.iter().filter(|sent| **sent < first).count() as u64;
        all.push(TurnedAway {
            task: task.text().into_owned(),
            server,
            requests: of.len() as u64,
            before,
            since: answered.len() as u64 - before,
            wait_ns: nearest_rank(&mut waits, 50).unwrap_or(0),
            ended: of.iter().map(|w| w.2.map(u64::from)).sum(),
            first_ns: first.saturating_sub(start),
            last_ns: last.saturating_sub(start),
        });
    }
    all.sort_by(|a, b| b.requests.cmp(&a.requests).then_with(|| a.server.cmp(&b.server)));
    all.truncate(GROUPS);
    all
}
