//! Sockets that nobody has: of a network namespace that was removed (`ip netns del`, a container), in which they still send again what nobody will acknowledge.
//!
//! A socket whose process is gone keeps its namespace alive until it gives up (`tcp_orphan_retries`), and the namespace its devices. No list of sockets has it, since no
//! process and no name leads to its namespace; nothing comes to it; its neighbours are asked for in vain. Nobody waits for any of that. Inferred. Must not be said where
//! lists of sockets are missing, where events were lost, or of flights, whose lists are younger than their sockets.

use std::net::IpAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::snapshots::field;

/// A neighbour fails so long before its packets are sent again, at most: all in one timer, ns.
const AT_ONCE_NS: i64 = 1_000_000;
/// Failures of an entry from which it is of these.
const TWICE: usize = 2;
/// NUD_FAILED (include/net/neighbour.h).
const FAILED: u8 = 0x20;

/// Sockets that were there before the recording, and that no list has.
pub(crate) fn sockets(facts: &Facts) -> FxHashSet<ConnectionId> {
    let listed = |r: &crate::snapshots::tables::SnapshotRow| r.what == "sockets" && r.start && field(&r.line, "state").is_some();
    let known = facts.capture.flight.is_none() && facts.gaps.is_empty() && facts.snapshots.iter().any(listed);
    let of = facts.connections.iter().filter(|_| known);
    let nobodys = of.filter(|c| c.born.is_none() && c.cookie.is_none() && c.pid == 0 && c.task.text().is_empty());
    let silent = nobodys.filter(|c| c.samples == 0 && c.bytes_in == 0 && c.retransmits.is_some_and(|n| n > 0));
    silent.map(|c| c.connection).collect()
}

/// Neighbours, with the devices of their entries, that such sockets alone ask for.
pub(super) fn neighbours(facts: &Facts) -> FxHashSet<(IpAddr, Name)> {
    let of = sockets(facts);
    let mut again: Vec<(i64, bool)> = vec![];
    if !of.is_empty() {
        let rows = facts.retransmits.iter();
        again.extend(rows.map(|r| (r.time_ns, r.connection.is_some_and(|c| of.contains(&c)))));
    }
    let theirs = |failed: i64| {
        let from = again.partition_point(|(t, _)| *t < failed);
        let near = again.iter().skip(from).take_while(|(t, _)| *t - failed <= AT_ONCE_NS);
        let (mut some, mut all) = (false, true);
        for (_, own) in near {
            (some, all) = (true, all && *own);
        }
        some && all
    };
    // Failures, and whether all are theirs.
    let mut entries: FxHashMap<(IpAddr, Name), (usize, bool)> = FxHashMap::default();
    for r in facts.neighbours.iter().filter(|_| !again.is_empty()) {
        let state = r.after.or(r.before).map_or(0, |held| held.state);
        if r.event == "timer_handler" && state & FAILED != 0 {
            let e = entries.entry((r.address, r.dev)).or_insert((0, true));
            *e = (e.0 + 1, e.1 && theirs(r.time_ns));
        }
    }
    let failed = entries.into_iter().filter(|(_, (n, all))| *n >= TWICE && *all);
    failed.map(|(entry, _)| entry).collect()
}

#[cfg(test)]
mod tests;
