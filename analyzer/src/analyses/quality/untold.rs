//! Events that are missing although nothing is told as lost: packets that were queued on a device, and neither left it nor were dropped.
//!
//! Needs `xmits`, `skbs`, frees (kfree_skb, consume_skb), of recordings without a loss. Every packet has an end at its device (net/core/dev.c `__dev_queue_xmit`). One whose
//! address has been another packet's since, or whose data was read, is in no queue any more: where it was not seen to leave, its events are not here.
//! On Linux 6.18 in a virtual machine `perf record` leaves out most events of interrupts that come while a CPU idles, and tells of no loss. Must not take for it: what
//! still lies in a queue, however long and however many (a device that stands still), and recordings that leave out CPUs or devices by wish, as far as they say so.

use std::collections::BTreeMap;

use crate::facts::Facts;
use crate::reconstruct::skb::tables::DeathKind;
use crate::reconstruct::xmits::Pass;
use crate::reconstruct::xmits::tables::PassEnd;

/// Fewest packets, and part of those that came to a device, from which it is told.
const FEWEST: u64 = 20;
const PART: f64 = 0.01;

/// Of the device with most of them.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Untold {
    /// Device.
    pub dev: String,
    /// Packets that were never seen to leave it.
    pub packets: u64,
    /// Packets queued there.
    pub of: u64,
}

impl Untold {
    /// Part of the packets.
    pub fn share(&self) -> f64 {
        self.packets as f64 / self.of.max(1) as f64
    }
}

/// A packet that was queued, is not there any more, and was not seen to leave.
pub(crate) fn unseen(facts: &Facts, p: &Pass) -> bool {
    let life = p.skb_id.and_then(|skb| facts.skbs.get(skb.0 as usize));
    let ended = life.is_some_and(|l| {
        matches!(
            l.death_kind,
            DeathKind::Unseen | DeathKind::InferredRead | DeathKind::InferredProtocol
        )
    });
    p.end == PassEnd::Open && p.queued_ns.is_some() && ended
}

/// Whether that can be asked.
pub(crate) fn asked(facts: &Facts) -> bool {
    let c = &facts.capture;
    let chosen = c.format == "bundle" && c.whole_host.is_empty();
    let ends = ["net:net_dev_start_xmit", "skb:kfree_skb", "skb:consume_skb"];
    !chosen && c.part.slice.is_none() && facts.gaps.is_empty() && ends.iter().all(|e| c.recorded(e))
}

pub(super) fn untold(facts: &Facts) -> Option<Untold> {
    if !asked(facts) {
        return None;
    }
    let mut by: BTreeMap<_, (u64, u64)> = BTreeMap::new();
    for p in facts.xmits.iter().filter(|p| p.queued_ns.is_some()) {
        let of = by.entry(p.dev).or_default();
        of.0 += u64::from(unseen(facts, p));
        of.1 += 1;
    }
    let (dev, (packets, of)) = by.into_iter().max_by_key(|(dev, n)| (n.0, std::cmp::Reverse(*dev)))?;
    let found = Untold {
        dev: dev.text().into_owned(),
        packets,
        of,
    };
    (packets >= FEWEST && found.share() >= PART).then_some(found)
}
