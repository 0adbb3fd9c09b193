//! Packets that rules dropped and that nobody is known to have waited for: noise, as every host at the internet's edge has it.
//!
//! Needs `drops` (by rules alone), `opens`, `udp_turns`, `udp_sockets`, `processes`, `skbs`. Must not be said where data was lost, a datagram for whose answer
//! anybody may have waited, an attempt to connect that is no scan's, or what may be any of these.

use rustc_hash::{FxHashMap, FxHashSet};

use super::reasons::RULES;
use super::times::Times;
use crate::analyses::datagrams::untold;
use crate::analyses::not_recorded;
use crate::analyses::opens::{monitored, scanning};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::datagrams::tables::{Awaited, TurnRow};
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::skb::tables::SkbClass;
use crate::reconstruct::transmit::tables::TxKind;
use crate::reconstruct::whose::Carries;

/// Longest frame that can be a TCP segment without payload, over IPv4, with timestamps; and without.
const BARE_BYTES: (u32, u32) = (66, 54);
/// One in so many may be something else.
const NEARLY: u64 = 100;

/// What they were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Unmissed {
    /// Ends of connections, without payload.
    pub fins: u64,
    /// Attempts of a port scan.
    pub scans: u64,
    /// Attempts of a port scan, or of a monitor that checks logins.
    pub monitors: u64,
    /// Datagrams of sockets to which nothing ever came, whose only thread waited for no answer then.
    pub datagrams: u64,
    /// Frames too short for payload, whose is not known.
    pub short: u64,
    /// Others.
    pub others: u64,
}

/// Without it a wait for an answer would not be seen.
const WAITS: &str = "syscalls:sys_enter_epoll_wait";
/// Waits for whatever its program asked of it.
const OF_ANY: &str = "io_uring_enter";

/// When threads sent what they wanted no answer to.
pub(crate) struct OneWay(Times);

impl OneWay {
    pub(crate) fn of(facts: &Facts) -> OneWay {
        if untold(facts).or_else(|| not_recorded(facts, &[WAITS])).is_some() {
            return OneWay(Times::default());
        }
        // Of several threads another one may wait, which no event ties to the socket.
        let mut threads: FxHashMap<i32, u64> = FxHashMap::default();
        for (process, _) in facts.processes.values() {
            *threads.entry(*process).or_default() += 1;
        }
        let alone = |pid: i32| facts.processes.get(&pid).and_then(|p| threads.get(&p.0)) == Some(&1);
        let one_way = |t: &&TurnRow| {
            let silent = facts.udp_sockets.get(t.socket as usize).is_some_and(|s| s.arrived == 0);
            let no_wait = t.awaited == Awaited::No && t.waited_in.text() != OF_ANY && t.confidence.is_solid();
            silent && no_wait && alone(t.pid)
        };
        OneWay(Times::of(facts.udp_turns.iter().filter(one_way)))
    }

    /// A datagram of such a thread.
    pub(crate) fn sent(&self, d: &DropRow) -> bool {
        d.owner
            .is_some_and(|o| o.carries == Carries::Datagram && self.0.at(o.pid, d.time_ns))
    }
}

/// Of all packets that rules dropped, where nearly all are such.
pub(super) fn unmissed(facts: &Facts) -> Option<Unmissed> {
    let lost = || facts.drops.iter().filter(|d| d.is_loss());
    let by_rule = |reason| super::text(facts.names.drop_reason(reason)) == RULES;
    let reasons: FxHashSet<Option<u32>> = lost().map(|d| d.reason).filter(|r| by_rule(*r)).collect();
    if reasons.is_empty() || !facts.gaps.is_empty() {
        return None;
    }
    let lost = || lost().filter(|d| reasons.contains(&d.reason));
    let (one_way, scanned): (OneWay, FxHashSet<ConnectionId>) = (OneWay::of(facts), scanning(facts));
    let monitored = monitored(facts);
    let of_any = |d: &DropRow, all: &FxHashSet<ConnectionId>| {
        d.owner.is_some_and(|o| o.connection.is_some_and(|c| all.contains(&c)))
    };
    // The shortest that is known to carry nothing: where some have no timestamps, 66 bytes may carry twelve.
    let control = facts
        .tx
        .iter()
        .filter(|r| r.kind == TxKind::TcpControl && r.bytes == Some(0));
    let shortest = control.filter_map(|r| facts.skbs.get(r.skb_id.0 as usize)?.bytes).min();
    let bare_bytes = shortest.unwrap_or(BARE_BYTES.1).min(BARE_BYTES.0);
    // As it was sent: what was received is counted without its link header.
    let sent = |class| matches!(class, SkbClass::Tx | SkbClass::TxClone | SkbClass::TxOther);
    let bare = |d: &DropRow| {
        let life = d.skb_id.and_then(|skb| facts.skbs.get(skb.0 as usize));
        life.is_some_and(|l| sent(l.class) && l.bytes.is_some_and(|b| b <= bare_bytes))
    };
    let mut of = Unmissed::default();
    for d in lost() {
        let kind = match d.owner {
            Some(o) if o.carries == Carries::Fin => &mut of.fins,
            Some(o) if o.carries == Carries::Syn && of_any(d, &monitored) => &mut of.monitors,
            Some(o) if o.carries == Carries::Syn && of_any(d, &scanned) => &mut of.scans,
            Some(_) if one_way.sent(d) => &mut of.datagrams,
            None if bare(d) => &mut of.short,
            _ => &mut of.others,
        };
        *kind += 1;
    }
    let known = of.fins + of.scans + of.monitors + of.datagrams;
    // The first of each FIN has no owner; more than these are not known.
    (of.short <= of.fins && of.others.saturating_mul(NEARLY) <= known).then_some(of)
}
