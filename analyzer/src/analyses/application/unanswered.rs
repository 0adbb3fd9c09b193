//! Requests that got no answer: the last send of a client's socket that speaks in turns, when nothing was read after it.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::asked_bytes::asked_bytes;
use super::held::{self, Held};
use super::label;
use super::left::left;
use super::patience::{Answers, Closed};
use super::sockets::{Role, Socket};
use super::streams::may_be;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::dispatch::Lost;
use crate::reconstruct::opens::tables::End;
use crate::reconstruct::tcp::states::{CLOSE_WAIT, ESTABLISHED};
use crate::reconstruct::transmit::tables::{TxKind, TxStart};

/// Longest time between a socket's close and its being told why, ns.
const TOLD_NS: i64 = 1_000_000;
/// That its own program closed it.
const CLOSED: &str = "closed";
/// Kept, at most.
pub const KEPT: usize = 1000;

/// A request without an answer.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Unanswered {
    /// As in the view `connections`.
    pub connection: u32,
    /// `saddr:sport > daddr:dport`.
    pub label: String,
    /// Task that asked; empty: not known.
    pub task: String,
    /// Begin of the last send behind the last read.
    pub send_ns: i64,
    /// Until that ended, ns.
    pub waited_ns: i64,
    /// What ended it: `closed` here, `timed_out` (its own TCP gave it up), `peer_closed`, `recording`.
    pub until: &'static str,
    /// Times that its segments were sent again.
    pub retransmits: u64,
    /// Others asked the same server in the second half of that time, or later, and were answered.
    #[serde(skip)]
    pub others: bool,
    /// It was closed, and others of its kind are waited for longer (`patience.rs`).
    #[serde(skip)]
    pub patient: bool,
    /// It waits still, and those of its kind are held as long (`held.rs`).
    #[serde(skip)]
    pub held: Option<Held>,
    /// It waits still, of a client that may only say that it has a stream (`streams.rs`).
    #[serde(skip)]
    pub stream: bool,
}

/// Lengths of a TLS record with an alert, encrypted: of TLS 1.3, and of 1.2 with AES-GCM.
const ALERTS: [u32; 2] = [24, 31];
/// From a farewell to its own close, and to the peer's, at most, ns.
const AT_ONCE_NS: i64 = 50_000_000;
const ANSWERED_NS: i64 = 2_000_000_000;
/// Shortest first message of a connection that may be one of TLS: of its handshake, or a request, bytes.
const HELLO: u32 = 100;

/// All of them, the longest first; at most [`KEPT`].
pub(super) fn unanswered(facts: &Facts, sockets: &[Socket<'_>]) -> Vec<Unanswered> {
    let mut all = every(facts, sockets);
    all.truncate(KEPT);
    if facts.gaps.is_empty() && all.iter().any(|u| u.until == CLOSED) {
        patient(facts, &mut all);
    }
    held::mark(facts, &mut all);
    all
}

/// Connection and begin of every request of a client without an answer: those above, and first requests whose client closed the connection.
pub(crate) fn without_answer(facts: &Facts) -> Vec<(ConnectionId, i64)> {
    if !facts.capture.recorded("skb:skb_copy_datagram_iovec") && facts.responses.is_empty() {
        return vec![];
    }
    let lost = Lost::of(&facts.gaps);
    let of = left(facts).into_iter().filter_map(|(c, one)| {
        let (sent, left) = one.given_up()?;
        (!lost.within(sent, left)).then_some((c, sent))
    });
    let mut all: BTreeMap<ConnectionId, i64> = of.collect();
    for u in every(facts, &super::sockets(facts)) {
        all.insert(ConnectionId(u.connection), u.send_ns);
    }
    all.into_iter().collect()
}

/// Where events were lost meanwhile a read may have been: of such nothing is said.
fn every(facts: &Facts, sockets: &[Socket<'_>]) -> Vec<Unanswered> {
    let clients = sockets.iter().filter(|s| s.in_turns && s.role == Role::Client);
    // The last read, and what was sent behind it: begin, and times sent again.
    let mut of: FxHashMap<ConnectionId, (i64, Option<(i64, u64)>)> = clients
        .filter_map(|s| Some((s.connection, (s.last_read()?, None))))
        .collect();
    let sent = facts
        .tx
        .iter()
        .filter(|r| r.kind == TxKind::Tcp && r.start == TxStart::Sendmsg);
    for r in sent {
        let Some((read, behind)) = r.connection.and_then(|c| of.get_mut(&c)) else {
            continue;
        };
        if r.start_ns > *read {
            let (at, again) = behind.get_or_insert((r.start_ns, 0));
            *at = r.start_ns.max(*at);
            *again = again.saturating_add(r.retransmits.into());
        }
    }
    let mut left: FxHashMap<ConnectionId, (i64, i32)> = FxHashMap::default();
    for s in facts
        .tcp_states
        .iter()
        .filter(|s| s.kind == "sock" && s.state != ESTABLISHED)
    {
        if let Some((_, Some((send, _)))) = of.get(&s.connection)
            && s.time_ns >= *send
        {
            left.entry(s.connection).or_insert((s.time_ns, s.state));
        }
    }
    let farewells = farewells(facts);
    of.retain(|c, (_, behind)| {
        let left = left.get(c);
        // Its own program closes it at once, or the peer on having it.
        let ended = |at: i64| {
            left.is_some_and(|(ns, state)| {
                let within = if *state == CLOSE_WAIT { ANSWERED_NS } else { AT_ONCE_NS };
                ns.saturating_sub(at) <= within
            })
        };
        behind.is_none_or(|(at, _)| !farewells.contains(&(*c, at)) || !ended(at))
    });
    let mut given_up: FxHashMap<(End, End), Vec<i64>> = FxHashMap::default();
    for t in &facts.timed_out {
        given_up.entry((t.from, t.to)).or_default().push(t.time_ns);
    }
    let timed_out = |c: ConnectionId, at: i64| {
        let row = facts.connections.get(c.0 as usize)?;
        let of = given_up.get(&((row.saddr?, row.sport), (row.daddr?, row.dport)))?;
        // The error is told right before the state, or behind it.
        let first = of.partition_point(|t| *t < at.saturating_sub(TOLD_NS));
        of.get(first).filter(|t| **t <= at.saturating_add(TOLD_NS)).copied()
    };
    let mut asked: FxHashMap<End, i64> = FxHashMap::default();
    for r in facts.responses.iter().filter(|r| r.ready_ns.is_some()) {
        if let Some(to) = facts
            .connections
            .get(r.connection.0 as usize)
            .and_then(|c| Some((c.daddr?, c.dport)))
        {
            let last = asked.entry(to).or_insert(r.send_ns);
            *last = r.send_ns.max(*last);
        }
    }
    let others = |c: ConnectionId, half: i64| {
        let row = facts.connections.get(c.0 as usize);
        let last = row.and_then(|c| asked.get(&(c.daddr?, c.dport)));
        last.is_some_and(|last| *last >= half)
    };
    let streams: FxHashSet<ConnectionId> = sockets.iter().filter(|s| may_be(s)).map(|s| s.connection).collect();
    let lost = Lost::of(&facts.gaps);
    let end = facts.capture.end_ns.unwrap_or(i64::MIN);
    let mut all: Vec<Unanswered> = of
        .into_iter()
        .filter_map(|(c, (_, behind))| {
            let (send_ns, retransmits) = behind?;
            let closed = left.get(&c).copied();
            let until = closed.map_or(end, |l| l.0);
            if lost.within(send_ns, until) {
                return None;
            }
            Some(Unanswered {
                connection: c.0,
                label: facts.connections.get(c.0 as usize).map_or_else(String::new, label),
                task: (facts.connections.get(c.0 as usize)).map_or_else(String::new, |r| r.task.text().into_owned()),
                send_ns,
                waited_ns: until.saturating_sub(send_ns).max(0),
                until: match closed {
                    None => "recording",
                    Some((_, CLOSE_WAIT)) => "peer_closed",
                    Some((at, _)) if timed_out(c, at).is_some() => "timed_out",
                    Some(_) => CLOSED,
                },
                retransmits,
                patient: false,
                held: None,
                stream: closed.is_none() && streams.contains(&c),
                others: others(c, send_ns.saturating_add(until.saturating_sub(send_ns) / 2)),
            })
        })
        .collect();
    all.sort_by_key(|u| (std::cmp::Reverse(u.waited_ns), u.connection));
    all
}

/// Marks those that their client left before such are answered.
fn patient(facts: &Facts, all: &mut [Unanswered]) {
    let closed = |u: &&Unanswered| u.until == CLOSED && u.retransmits == 0;
    let begins = all.iter().filter(closed);
    let bytes = asked_bytes(facts, begins.map(|u| (ConnectionId(u.connection), u.send_ns)));
    let key = |u: &Unanswered| {
        let row = facts.connections.get(u.connection as usize)?;
        Some((row.task, (row.daddr?.to_canonical(), row.dport)))
    };
    let mut by: BTreeMap<_, Vec<Closed>> = BTreeMap::new();
    for u in all.iter().filter(closed) {
        let of = bytes
            .get(&(ConnectionId(u.connection), u.send_ns))
            .copied()
            .unwrap_or(0);
        if let Some(key) = key(u) {
            let until = u.send_ns.saturating_add(u.waited_ns);
            by.entry(key).or_default().push((u.send_ns, until, of));
        }
    }
    let answers = Answers::of(facts);
    by.retain(|(task, end), closed| answers.patience(*task, *end, closed).is_some());
    for u in all {
        u.patient = closed(&&*u) && key(u).is_some_and(|key| by.contains_key(&key));
    }
}

/// Last sends that ask for nothing: as long as an alert of TLS (close_notify), on sockets that began with a longer message, as its handshake does.
fn farewells(facts: &Facts) -> FxHashSet<(ConnectionId, i64)> {
    /// The first and the last: begin, and bytes.
    struct Ends {
        first: (i64, u32),
        last: (i64, u32),
    }
    let mut ends: FxHashMap<ConnectionId, Ends> = FxHashMap::default();
    for r in facts.tx.iter().filter(|r| r.kind == TxKind::Tcp) {
        if let (Some(c), Some(bytes)) = (r.connection, r.bytes.filter(|b| *b > 0)) {
            let one = (r.start_ns, bytes);
            let of = ends.entry(c).or_insert(Ends { first: one, last: one });
            (of.first, of.last) = (of.first.min(one), of.last.max(one));
        }
    }
    let farewell = |e: &Ends| ALERTS.contains(&e.last.1) && e.first.1 >= HELLO;
    let all = ends.iter().filter(|(_, e)| farewell(e));
    all.map(|(c, e)| (*c, e.last.0)).collect()
}

/// The program that sent most of these, and how many, where that is known.
pub(crate) fn most_asked<'u>(all: &[&'u Unanswered]) -> Option<(&'u str, usize)> {
    let mut by: BTreeMap<&str, usize> = BTreeMap::new();
    for u in all.iter().filter(|u| !u.task.is_empty()) {
        *by.entry(&u.task).or_default() += 1;
    }
    by.into_iter().max_by_key(|(task, n)| (*n, std::cmp::Reverse(*task)))
}
