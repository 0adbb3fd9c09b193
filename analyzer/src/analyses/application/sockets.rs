//! Sockets with turns: which end each is, whether it speaks in turns, and its times.

use std::net::SocketAddr;

use rustc_hash::FxHashMap;

use super::parts::Parts;
use super::streams::streams;
use super::{Connection, OVERLAP_SHARE, task};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::{ResponseRow, TurnaroundRow};
pub use crate::reconstruct::tcp::role::{Role, RoleBy};
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::stat::Distribution;

/// A socket and its rows.
pub(crate) struct Socket<'f> {
    pub(crate) connection: ConnectionId,
    pub(crate) role: Role,
    pub(crate) role_by: RoleBy,
    pub(crate) in_turns: bool,
    /// The server sends there what others' requests made (inferred); not in turns.
    pub(crate) stream: bool,
    turns: u64,
    overlaps: u64,
    pub(crate) turnarounds: &'f [TurnaroundRow],
    pub(crate) responses: &'f [ResponseRow],
}

/// All that have a turn.
pub(crate) fn sockets(facts: &Facts) -> Vec<Socket<'_>> {
    let mut of: FxHashMap<ConnectionId, (&[TurnaroundRow], &[ResponseRow])> = FxHashMap::default();
    for rows in facts.turnarounds.chunk_by(|a, b| a.connection == b.connection) {
        if let Some(first) = rows.first() {
            of.entry(first.connection).or_default().0 = rows;
        }
    }
    for rows in facts.responses.chunk_by(|a, b| a.connection == b.connection) {
        if let Some(first) = rows.first() {
            of.entry(first.connection).or_default().1 = rows;
        }
    }
    let mut all: Vec<Socket<'_>> = of
        .into_iter()
        .map(|(connection, (turnarounds, responses))| {
            let row = facts.connections.get(connection.0 as usize);
            let (role, role_by) = row.map_or((Role::Client, RoleBy::Ports), ConnectionRow::role);
            let overlaps =
                turnarounds.iter().filter(|r| r.overlap).count() + responses.iter().filter(|r| r.overlap).count();
            let turns = turnarounds.len() + responses.len();
            Socket {
                connection,
                role,
                role_by,
                in_turns: overlaps as f64 <= OVERLAP_SHARE * turns as f64,
                stream: false,
                turns: turns as u64,
                overlaps: overlaps as u64,
                turnarounds,
                responses,
            }
        })
        .collect();
    all.sort_unstable_by_key(|s| s.connection);
    let streams = streams(facts, &all);
    for s in all.iter_mut().filter(|s| streams.contains(&s.connection)) {
        (s.in_turns, s.stream) = (false, true);
    }
    all
}

impl<'f> Socket<'f> {
    /// Its own end; `None`: its address is not known.
    pub(crate) fn local(&self, facts: &Facts) -> Option<SocketAddr> {
        facts.connections.get(self.connection.0 as usize)?.local()
    }
    /// Turnarounds that are one request's.
    pub(crate) fn judged_turnarounds(&self) -> impl Iterator<Item = &'f TurnaroundRow> + use<'f> {
        self.turnarounds.iter().filter(|r| !r.overlap)
    }
    /// Responses that answer, and their time.
    pub(crate) fn judged_responses(&self) -> impl Iterator<Item = (i64, &'f ResponseRow)> + use<'f> {
        let rows = self.responses.iter().filter(|r| !r.overlap);
        rows.filter_map(|r| Some((r.response_ns()?, r)))
    }
    /// Requests and answers that went over it in turns.
    pub(crate) fn turns(&self) -> usize {
        self.judged_responses().count().max(self.judged_turnarounds().count())
    }
    /// The same, in any order.
    pub(crate) fn all_turns(&self) -> usize {
        self.responses.len().max(self.turnarounds.len())
    }
    /// When it was last read.
    pub(super) fn last_read(&self) -> Option<i64> {
        let answers = self
            .responses
            .iter()
            .map(|r| r.complete_ns.unwrap_or(r.read_ns).max(r.read_ns));
        answers.chain(self.turnarounds.iter().map(|t| t.read_ns)).max()
    }
    pub(super) fn connection(&self, facts: &Facts, label: fn(&ConnectionRow) -> String) -> Connection {
        let mut parts = Parts::default();
        let mut tasks: FxHashMap<(Name, i32), u64> = FxHashMap::default();
        for r in self.judged_turnarounds() {
            parts.add(r);
            *tasks.entry((r.sender, r.sender_pid)).or_insert(0) += 1;
        }
        if tasks.is_empty() {
            for r in self.responses {
                *tasks.entry((r.task, r.pid)).or_insert(0) += 1;
            }
        }
        let most = tasks.into_iter().max_by_key(|(who, n)| (*n, std::cmp::Reverse(*who)));
        let pairs = self.judged_responses().filter_map(|(ns, r)| Some((ns, r.peer?)));
        let (mut paired, mut whole, mut theirs) = (0u64, 0i64, 0i64);
        for (ns, peer) in pairs {
            paired += 1;
            whole = whole.saturating_add(ns);
            theirs = theirs.saturating_add(peer.turnaround_ns);
        }
        let untimed = self.responses.iter().filter(|r| r.ready_ns.is_none()).count() as u64;
        Connection {
            connection: self.connection.0,
            label: facts
                .connections
                .get(self.connection.0 as usize)
                .map_or_else(String::new, label),
            role: self.role,
            role_by: self.role_by,
            in_turns: self.in_turns,
            stream: self.stream,
            turns: self.turns,
            overlaps: self.overlaps,
            task: most.map_or_else(String::new, |((name, pid), _)| task(&name, pid)),
            turnaround: Distribution::of(self.judged_turnarounds().map(TurnaroundRow::total_ns).collect(), 0),
            parts: parts.largest(),
            response: Distribution::of(self.judged_responses().map(|r| r.0).collect(), untimed),
            paired,
            peer_share: (whole > 0).then(|| theirs as f64 / whole as f64),
        }
    }
}
