//! What address translation (NAT, as of a service's load balancing) did to connections: an answer that was not translated back, and an
//! established connection whose segments were sent to another server from some time on.
//!
//! Needs `opens`, `resets`, `connections` with their peers. Both are told by the RSTs of hosts that did not know what came to them.
//!
//! ```text
//! open:  a:50001 > v:80, no answer          RST sent meanwhile for want of a socket: a:50001 > p:80      answered by p
//! RST received: a:50001 > v:80, whose peer p:80 > a:50001 lives and sent none, and
//! just before it one sent by a listener on p's port, of another host       another server got its segment
//! ```

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::opens::tables::{End, OpenRow, ResetRow, Sender};
use crate::reconstruct::tcp::states::CLOSE;

/// From a RST to its arrival, at most, ns.
const ARRIVES_NS: i64 = 1_000_000;

/// RSTs that this host sent for want of a socket, by their local end, in time order: when, and the remote end.
pub(super) struct Unknown(FxHashMap<End, Vec<(i64, End)>>);

impl Unknown {
    pub(super) fn of(facts: &Facts) -> Unknown {
        let mut by: FxHashMap<End, Vec<(i64, End)>> = FxHashMap::default();
        // A port that was used again for another address: its old segments are refused, too.
        let known: FxHashSet<(End, End)> = (facts.connections.iter())
            .filter_map(|c| Some(((c.saddr?, c.sport), (c.daddr?, c.dport))))
            .chain(facts.opens.iter().filter_map(|o| o.from.zip(o.to)))
            .collect();
        let without = |r: &&ResetRow| !r.received && r.connection.is_none();
        let reason = |r: &&ResetRow| r.reason.is_empty() || r.reason.ends_with("NO_SOCKET");
        for r in facts.resets.iter().filter(without).filter(reason) {
            if let (Some(from), Some(to)) = (r.from, r.to)
                && !known.contains(&(from, to))
            {
                by.entry(from).or_default().push((r.time_ns, to));
            }
        }
        by.values_mut().for_each(|of| of.sort_unstable());
        Unknown(by)
    }
    /// Whether one went from an end to another just before a time.
    pub(super) fn sent(&self, from: End, to: End, before_ns: i64) -> bool {
        let of = self.0.get(&from).map_or(&[][..], |of| of);
        let last = of.partition_point(|(at, _)| *at <= before_ns);
        let soon = |(at, end): &&(i64, End)| *end == to && before_ns.saturating_sub(*at) <= ARRIVES_NS;
        of.get(..last).unwrap_or(&[]).iter().rev().take(4).any(|x| soon(&x))
    }
    /// Who answered an attempt in the name of another, so that its own host knew nothing of it.
    pub(super) fn answered(&self, open: &OpenRow) -> Option<End> {
        let (from, to) = open.from.zip(open.to)?;
        let of = self.0.get(&from)?;
        let first = of.get(of.partition_point(|(at, _)| *at < open.start_ns))?;
        let other = first.1 != to && first.1.1 == to.1;
        (other && first.0 <= open.end_ns).then_some(first.1)
    }
}

/// The end that most of so many attempts were answered by, and how many.
pub(super) fn most(by: &BTreeMap<End, u64>) -> Option<(String, u64)> {
    let (end, n) = by.iter().max_by_key(|(_, n)| **n)?;
    Some((super::end(Some(*end)), *n))
}

/// Whether a RST that came was of another server than the one that the connection was with.
pub(super) fn elsewhere(facts: &Facts) -> impl Fn(&ResetRow) -> bool {
    let mut own: FxHashMap<ConnectionId, Vec<i64>> = FxHashMap::default();
    let mut listeners: FxHashMap<u16, Vec<i64>> = FxHashMap::default();
    for r in facts.resets.iter().filter(|r| !r.received) {
        match (r.connection, r.from) {
            (Some(c), _) => own.entry(c).or_default().push(r.time_ns),
            // Of a listener itself the event has no remote end; where nobody listens it has.
            (None, Some((_, port))) if r.to.is_none() => listeners.entry(port).or_default().push(r.time_ns),
            _ => {}
        }
    }
    let closed: FxHashMap<ConnectionId, i64> = (facts.tcp_states.iter())
        .filter(|s| s.kind == "sock" && s.state == CLOSE)
        .map(|s| (s.connection, s.time_ns))
        .collect();
    listeners.values_mut().for_each(|of| of.sort_unstable());
    let behind_nat: FxHashSet<ConnectionId> = (facts.connections.iter())
        .filter(|c| {
            let peer = c.peer.and_then(|p| facts.connections.get(p.0 as usize));
            peer.is_some_and(|p| c.daddr.zip(p.saddr).is_some_and(|(d, s)| d != s))
        })
        .map(|c| c.connection)
        .collect();
    let whole = facts.gaps.is_empty();
    move |r| {
        let of = || {
            let c = r.connection.filter(|c| behind_nat.contains(c))?;
            let peer = facts
                .connections
                .get(facts.connections.get(c.0 as usize)?.peer?.0 as usize)?;
            let silent = own
                .get(&peer.connection)
                .is_none_or(|of| of.iter().all(|at| *at > r.time_ns));
            let there = closed.get(&peer.connection).is_none_or(|at| *at > r.time_ns);
            let sent = listeners.get(&peer.sport)?;
            let last = sent.partition_point(|at| *at <= r.time_ns);
            let soon = |at: &&i64| r.time_ns.saturating_sub(**at) <= ARRIVES_NS;
            let before = sent.get(..last)?.iter().rev().take(2).filter(soon).count();
            Some(silent && there && before == 1)
        };
        // With events lost, the RST of the peer may be among them.
        whole && r.received && r.sender != Sender::Peer && of() == Some(true)
    }
}
