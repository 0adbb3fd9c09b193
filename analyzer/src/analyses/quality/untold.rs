//! Events that are missing although nothing is told as lost: packets that were queued on a device, and neither left it nor were dropped.
//!
//! Needs `xmits`, of recordings without a loss. Every packet has an end at its device (net/core/dev.c `__dev_queue_xmit`); one that is in no queue's
//! possible wait any more, and has none, had events that are not here: on Linux 6.18 in a virtual machine `perf record` leaves out most events of
//! interrupts that come while a CPU idles, and tells of no loss. Must not take for it: what waits at the end of the recording, and
//! recordings that leave out CPUs or devices by wish.

use std::collections::BTreeMap;

use crate::facts::Facts;
use crate::reconstruct::xmits::tables::PassEnd;

/// Longest time in a queue that is believed, ns.
const IN_QUEUE_NS: i64 = 2_000_000_000;
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
    /// Packets queued there, of that time.
    pub of: u64,
}

impl Untold {
    /// Part of the packets.
    pub fn share(&self) -> f64 {
        self.packets as f64 / self.of.max(1) as f64
    }
}

pub(super) fn untold(facts: &Facts) -> Option<Untold> {
    let c = &facts.capture;
    let chosen = c.format == "bundle" && c.whole_host.is_empty();
    if chosen || c.part.slice.is_some() || !facts.gaps.is_empty() || !c.recorded("net:net_dev_start_xmit") {
        return None;
    }
    let until = c.end_ns?.saturating_sub(IN_QUEUE_NS);
    let mut by: BTreeMap<_, (u64, u64)> = BTreeMap::new();
    for p in facts.xmits.iter().filter(|p| p.queued_ns.is_some_and(|ns| ns < until)) {
        let of = by.entry(p.dev).or_default();
        of.0 += u64::from(p.end == PassEnd::Open);
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
