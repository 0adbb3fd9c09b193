//! The connection of whose data nothing was acknowledged, though its retransmission timer ran out again and again.
//!
//! Needs `tx`, `retransmits` (class rto), and events that tell of ACKs. All of its segments with payload are without an ACK, and none of them was under way when the
//! recording began or events were lost. It is known to be without one until its last retransmission, the end of the recording, or until its socket began to close: no ACK for
//! such a socket is told (`tcp_probe` is of established ones), so that timeouts from then on count for nothing.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{ACKS, STATES};
use crate::analyses::tcp::label;
use crate::explain::{Id, Kind};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::receive::tables::Censored;
use crate::reconstruct::tcp::states::{ESTABLISHED, SYN_RECV, SYN_SENT};
use crate::reconstruct::tcp::tables::{RetransmitClass, StateRow};
use crate::reconstruct::transmit::tables::{TxEnd, TxKind, TxRow};

/// Timeouts from which it is told: after one the answer may only be late.
const TIMEOUTS: u64 = 2;

/// A connection whose data was sent in vain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unacked {
    /// As in the view `connections`.
    pub connection: u32,
    /// `saddr:sport > daddr:dport`.
    pub label: String,
    /// How often its retransmission timer sent something again.
    pub timeouts: u64,
    /// When the first of its data was given to a device, ns since the start of the recording.
    pub from_ns: i64,
    /// Until when none of it is known to have been acknowledged.
    pub to_ns: i64,
    /// Other such connections, as in the view.
    pub others: Vec<u32>,
    /// Its first segment.
    pub first: Option<Id>,
}

impl Unacked {
    /// Whether a connection is this one, or another such.
    pub fn has(&self, connection: u32) -> bool {
        self.connection == connection || self.others.contains(&connection)
    }
}

/// The one that waited longest.
pub(super) fn unacked(facts: &Facts) -> Option<Unacked> {
    if !facts.capture.recorded(ACKS) || !facts.capture.recorded(STATES) {
        return None;
    }
    let mut timeouts: FxHashMap<ConnectionId, u64> = FxHashMap::default();
    let mut closing: FxHashMap<ConnectionId, i64> = FxHashMap::default();
    let begins = |s: &&StateRow| s.kind == "sock" && ![SYN_SENT, SYN_RECV, ESTABLISHED].contains(&s.state);
    for s in facts.tcp_states.iter().filter(begins) {
        let at = closing.entry(s.connection).or_insert(s.time_ns);
        *at = s.time_ns.min(*at);
    }
    for r in facts.retransmits.iter().filter(|r| r.class == RetransmitClass::Rto) {
        let told = |c: &ConnectionId| closing.get(c).is_none_or(|at| r.time_ns < *at);
        if let Some(c) = r.connection.filter(told) {
            *timeouts.entry(c).or_insert(0) += 1;
        }
    }
    timeouts.retain(|_, n| *n >= TIMEOUTS);
    let mut rows: FxHashMap<ConnectionId, Vec<&TxRow>> = FxHashMap::default();
    let mut not: FxHashSet<ConnectionId> = FxHashSet::default();
    for r in facts.tx.iter().filter(|r| r.kind == TxKind::Tcp) {
        let Some(c) = r.connection.filter(|c| timeouts.contains_key(c)) else {
            continue;
        };
        let known = !matches!(r.censored, Some(Censored::Start | Censored::Loss));
        match r.end {
            TxEnd::Open if known => rows.entry(c).or_default().push(r),
            TxEnd::Dropped => {}
            _ => {
                not.insert(c);
            }
        }
    }
    rows.retain(|c, _| !not.contains(c));
    let start = facts.capture.start_ns.unwrap_or(0);
    let each = rows.iter().filter_map(|(c, rows)| {
        let first = rows.iter().min_by_key(|r| (r.t_sched_ns, r.skb_id))?;
        let until = rows
            .iter()
            .filter_map(|r| Some(r.start_ns.saturating_add(r.at_least_ns?)));
        let to = until.max().filter(|to| *to > first.t_sched_ns)?;
        Some(Unacked {
            connection: c.0,
            label: facts.connections.get(c.0 as usize).map_or_else(String::new, label),
            timeouts: timeouts.get(c).copied().unwrap_or(0),
            from_ns: first.t_sched_ns.saturating_sub(start),
            to_ns: to.saturating_sub(start),
            others: vec![],
            first: Some(Id::new(Kind::Tx, first.skb_id.0)),
        })
    });
    let mut all: Vec<Unacked> = each.collect();
    all.sort_by_key(|u| (std::cmp::Reverse(u.to_ns.saturating_sub(u.from_ns)), u.connection));
    let others = all.iter().skip(1).map(|u| u.connection).collect();
    let longest = all.into_iter().next()?;
    Some(Unacked { others, ..longest })
}

#[cfg(test)]
mod tests;
