//! Packets for which nobody is there, and that nobody is known to have missed: of attempts beside work that goes well, scans, checks; ends of connections that sent nothing; what is sent without waiting for an answer; questions to an
//! address that answers nobody in the recording, where its program goes on by others; SYNs that were answered by a RST at once.
//!
//! Needs `drops` with their sockets, `opens`, `udp_turns`, `connections`. Inferred. That attempts failed, or questions had no answer, is told where these are: whether anybody waited for that is judged there.

use std::net::SocketAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use super::times::Times;
use super::unmissed::OneWay;
use crate::analyses::opens::aside::beside_work;
use crate::analyses::opens::{checking, scanning};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::datagrams::tables::{Awaited, TurnEnd, TurnRow};
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::opens::tables::OpenEnd;
use crate::reconstruct::whose::Carries;

/// An attempt that is refused sooner has waited for nothing, ns.
const AT_ONCE_NS: i64 = 100_000_000;
/// What a full socket refuses behind its last event is still its own, ns.
const BEHIND_NS: i64 = 1_000_000_000;

/// Of a recording.
pub(super) struct Asides {
    checks: FxHashSet<ConnectionId>,
    /// Attempts, whatever they are.
    attempts: FxHashSet<ConnectionId>,
    one_way: OneWay,
    /// Connections that sent nothing that anybody waits for.
    idle: FxHashSet<ConnectionId>,
    /// Sockets, kernel addresses, that are sent to and never send: from when to when.
    deaf: FxHashMap<u64, Vec<(i64, i64)>>,
    /// By thread: when it asked where nobody ever answers.
    dead: Times,
    /// And when it waited for what it had asked, or may have.
    waits: Times,
}

impl Asides {
    pub(super) fn of(facts: &Facts) -> Asides {
        let checks = checking(facts);
        let refused = facts.opens.iter().filter(|o| o.end == OpenEnd::Refused && !o.message);
        let refused = refused
            .filter(|o| o.total_ns() <= AT_ONCE_NS)
            .filter_map(|o| o.connection);
        let mut attempts = beside_work(facts);
        attempts.extend(scanning(facts));
        attempts.extend(checks.iter());
        attempts.extend(refused);
        Asides {
            checks,
            attempts,
            one_way: OneWay::of(facts),
            idle: idle_ones(facts),
            deaf: deaf(facts),
            dead: dead(facts),
            waits: Times::of(facts.udp_turns.iter().filter(|t| t.awaited != Awaited::No)),
        }
    }

    /// How many are SYNs of checks.
    pub(super) fn checks(&self, rows: &[&DropRow]) -> u64 {
        let of = rows.iter().filter_map(|r| r.owner?.connection);
        of.filter(|c| self.checks.contains(c)).count() as u64
    }

    /// Of a thread that waited for no answer.
    fn one_way(&self, d: &DropRow) -> bool {
        self.one_way.sent(d)
    }

    /// The same, or for a socket that never answers anybody.
    pub(super) fn asks_nothing(&self, d: &DropRow) -> bool {
        let deaf = self.deaf.get(&d.sk).map_or(&[][..], Vec::as_slice);
        let deaf = deaf.iter().any(|(from, to)| (*from..=*to).contains(&d.time_ns));
        let waits = d.owner.is_some_and(|o| self.waits.at(o.pid, d.time_ns));
        self.one_way(d) || deaf && !waits
    }

    pub(super) fn is(&self, d: &DropRow) -> bool {
        let Some(owner) = d.owner else { return false };
        let of = |all: &FxHashSet<ConnectionId>| owner.connection.is_some_and(|c| all.contains(&c));
        // That it carries nothing its own length tells, however certain it is whose it was.
        let end = owner.carries == Carries::Fin && of(&self.idle);
        let asked = || self.dead.at(owner.pid, d.time_ns);
        of(&self.attempts) || end || self.one_way(d) || owner.carries == Carries::Datagram && asked()
    }
}

/// Connections whose end nobody waits for: they are not known to have sent anything else, and nothing else of theirs was dropped.
fn idle_ones(facts: &Facts) -> FxHashSet<ConnectionId> {
    let others = facts.drops.iter().filter_map(|d| d.owner);
    let others = others.filter(|o| o.carries != Carries::Fin);
    let others: FxHashSet<ConnectionId> = others.filter_map(|o| o.connection).collect();
    let idle = facts.connections.iter().filter(|r| r.bytes_out == 0);
    idle.map(|r| r.connection).filter(|c| !others.contains(c)).collect()
}

/// Sockets to which datagrams came and that sent none.
fn deaf(facts: &Facts) -> FxHashMap<u64, Vec<(i64, i64)>> {
    let mut of: FxHashMap<u64, Vec<(i64, i64)>> = FxHashMap::default();
    for s in facts.udp_sockets.iter().filter(|s| s.arrived > 0 && s.sent == 0) {
        let (from, to) = (s.first_ns, s.last_ns.saturating_add(BEHIND_NS));
        of.entry(s.sk).or_default().push((from, to));
    }
    of
}

/// Questions to addresses that answered nobody, which were not asked again at once at one that does.
fn dead(facts: &Facts) -> Times {
    let mut answer: FxHashMap<SocketAddr, bool> = FxHashMap::default();
    for t in &facts.udp_turns {
        if let Some(to) = t.whither(&facts.udp_sockets) {
            *answer.entry(to).or_default() |= t.ready_ns.is_some() || t.reads > 0;
        }
    }
    let none = |t: &TurnRow| {
        let to = t.whither(&facts.udp_sockets);
        to.is_some_and(|to| answer.get(&to) == Some(&false))
    };
    // It goes on by others that answer.
    let answered = facts.udp_turns.iter().filter(|t| t.end == TurnEnd::Answered);
    let goes_on: FxHashSet<i32> = answered.map(|t| facts.process(t.pid)).collect();
    let theirs = |t: &&TurnRow| {
        let nobody_waits = t.awaited == Awaited::No || goes_on.contains(&facts.process(t.pid));
        let again = t.again.and_then(|n| facts.udp_turns.get(n as usize));
        nobody_waits && none(t) && again.is_none_or(none)
    };
    Times::of(facts.udp_turns.iter().filter(theirs))
}
