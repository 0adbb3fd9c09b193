//! Packets that rules dropped and that nobody is known to have waited for: noise, as every host at the internet's edge has it.
//!
//! Needs `drops` (by rules alone), `opens`, `udp_turns`, `skbs`. Must not be said where data was lost, a datagram of whose thread a question was waiting, an
//! attempt to connect that is no scan's, or what may be any of these.

use rustc_hash::FxHashSet;

use super::answered::Vain;
use super::forgotten::RULES;
use crate::analyses::opens::scanning;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::skb::tables::SkbClass;
use crate::reconstruct::whose::Carries;

/// Longest frame that can be a TCP segment without payload, over IPv4, with timestamps.
const BARE_BYTES: u32 = 66;
/// One in so many may be something else.
const NEARLY: u64 = 100;

/// What they were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Unmissed {
    /// Ends of connections, without payload.
    pub fins: u64,
    /// Attempts of a port scan.
    pub scans: u64,
    /// Datagrams of threads that waited for no answer then.
    pub datagrams: u64,
    /// Frames too short for payload, whose is not known.
    pub short: u64,
    /// Others.
    pub others: u64,
}

/// Of all packets lost, where nearly all are such.
pub(super) fn unmissed(facts: &Facts) -> Option<Unmissed> {
    let lost = || {
        facts
            .drops
            .iter()
            .filter(|d| d.expected == Some(false) && !d.background)
    };
    let by_rule = |reason| super::text(facts.names.drop_reason(reason)) == RULES;
    let reasons: FxHashSet<Option<u32>> = lost().map(|d| d.reason).collect();
    if reasons.is_empty() || !reasons.into_iter().all(by_rule) || !facts.gaps.is_empty() {
        return None;
    }
    let (vain, scanned): (Vain, FxHashSet<ConnectionId>) = (Vain::of(facts), scanning(facts));
    // As it was sent: what was received is counted without its link header.
    let sent = |class| matches!(class, SkbClass::Tx | SkbClass::TxClone | SkbClass::TxOther);
    let bare = |d: &DropRow| {
        let life = d.skb_id.and_then(|skb| facts.skbs.get(skb.0 as usize));
        life.is_some_and(|l| sent(l.class) && l.bytes.is_some_and(|b| b <= BARE_BYTES))
    };
    let mut of = Unmissed::default();
    for d in lost() {
        let kind = match d.owner {
            Some(o) if o.carries == Carries::Fin => &mut of.fins,
            Some(o) if o.carries == Carries::Syn && o.connection.is_some_and(|c| scanned.contains(&c)) => &mut of.scans,
            Some(o) if o.carries == Carries::Datagram && !vain.at(o.pid, d.time_ns) => &mut of.datagrams,
            None if bare(d) => &mut of.short,
            _ => &mut of.others,
        };
        *kind += 1;
    }
    let known = of.fins + of.scans + of.datagrams;
    // The first of each FIN has no owner; more than these are not known.
    (of.short <= of.fins && of.others.saturating_mul(NEARLY) <= known).then_some(of)
}
