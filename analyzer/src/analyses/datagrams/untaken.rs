//! Answers that came to the host of who asked, and that no socket took: who asked has a socket that takes what comes from where it asked alone, and the
//! answer came from another address (a server bound to any address answers by its route), or port.
//!
//! Needs `drops` of NO_SOCKET with their senders, `udp_turns`, `udp_sockets`. That a freed datagram is the answer to that question is inferred: the thread that
//! read it sent it, while the question waited.

use std::collections::BTreeSet;

use crate::facts::Facts;
use crate::reconstruct::datagrams::tables::TurnRow;
use crate::reconstruct::whose::Carries;
use crate::table::Cell;

/// Thread and time of each datagram that no socket took.
pub(super) struct Untaken(BTreeSet<(i32, i64)>);

impl Untaken {
    pub(super) fn of(facts: &Facts) -> Untaken {
        let no_socket = |reason| matches!(facts.names.drop_reason(reason), Cell::Str(s) if s.ends_with("NO_SOCKET"));
        let all = facts.drops.iter().filter(|d| d.expected != Some(true));
        let of = all.filter_map(|d| {
            let owner = d.owner.filter(|o| o.carries == Carries::Datagram && o.pid > 0)?;
            no_socket(d.reason).then_some((owner.pid, d.time_ns))
        });
        Untaken(of.collect())
    }
    /// How many of these turns had such an answer.
    pub(super) fn answers(&self, facts: &Facts, turns: &[&TurnRow]) -> u64 {
        let has = |t: &&&TurnRow| {
            let there = t.there.and_then(|n| facts.udp_sockets.get(n as usize));
            let pid = there.map_or(0, |s| s.pid);
            let until = t.start_ns.saturating_add(t.waited_ns).max(t.end_ns);
            pid > 0 && self.0.range((pid, t.start_ns)..=(pid, until)).next().is_some()
        };
        turns.iter().filter(has).count() as u64
    }
}
