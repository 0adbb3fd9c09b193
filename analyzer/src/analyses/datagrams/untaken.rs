//! Answers that came to the host of who asked, and that no socket took: who asked has a socket that takes what comes from where it asked alone, and the
//! answer came from another address (a server bound to any address answers by its route), or port.
//!
//! Needs `drops` of NO_SOCKET with their senders, `udp_turns`, `udp_sockets`. That a freed datagram is the answer to that question is inferred: the thread that
//! read it sent it, right behind the question. A late answer to an earlier question, whose socket is closed, looks the same: so it must be so of most questions, and soon.

use std::collections::BTreeSet;

use crate::facts::Facts;
use crate::reconstruct::datagrams::tables::TurnRow;
use crate::reconstruct::whose::Carries;
use crate::table::Cell;

/// From a question to the free of its answer, at most, ns.
const SOON_NS: i64 = 20_000_000;

/// Thread and time of each datagram that no socket took.
pub(super) struct Untaken(BTreeSet<(i32, i64)>);

impl Untaken {
    pub(super) fn of(facts: &Facts) -> Untaken {
        let no_socket = |reason| matches!(facts.names.drop_reason(reason), Cell::Str(s) if s.ends_with("NO_SOCKET"));
        let all = facts.drops.iter().filter(|d| d.expected != Some(true));
        let of = all.filter_map(|d| {
            let owner = d
                .owner
                .filter(|o| o.carries == Carries::Datagram && o.pid > 0 && o.confidence.is_solid())?;
            no_socket(d.reason).then_some((owner.pid, d.time_ns))
        });
        Untaken(of.collect())
    }
    /// How many of these turns had such an answer; none where it is not so of most.
    pub(super) fn answers(&self, facts: &Facts, turns: &[&TurnRow]) -> u64 {
        let has = |t: &&&TurnRow| {
            let there = t.there.and_then(|n| facts.udp_sockets.get(n as usize));
            let pid = there.map_or(0, |s| s.pid);
            let until = t.sent_ns.saturating_add(SOON_NS);
            pid > 0 && self.0.range((pid, t.start_ns)..=(pid, until)).next().is_some()
        };
        let n = turns.iter().filter(has).count();
        if 3 * n >= 2 * turns.len() { n as u64 } else { 0 }
    }
}
