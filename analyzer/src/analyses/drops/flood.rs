//! Queues that dropped packets and were filled by such as nobody behind them is meant by: a bridge or switch that floods.
//!
//! Needs `drops` (`OTHERHOST`: a host freed what is for another's MAC address), `hops`. A bridge sends a frame out of every port while it does not know by which
//! its address is (br_flood): addresses that never speak, an ageing time of 0, a topology change. Told where most of what left by the device was such.

use rustc_hash::FxHashSet;

use super::reasons::{OTHERHOST, QUEUE_FULL};
use crate::facts::{Facts, SkbId};

/// Fewest of them; and part of all that left.
const FEWEST: u64 = 100;
const MOSTLY: f64 = 0.5;

/// What left by a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Flood {
    /// Packets that came to a host that they are not for.
    pub others: u64,
    /// All whose way was recorded, each once.
    pub of: u64,
}

/// Of the device of a queue that refused packets.
pub(super) fn flood(facts: &Facts, reason: &str, dev: &str) -> Option<Flood> {
    if reason != QUEUE_FULL || dev.is_empty() {
        return None;
    }
    let reasons: FxHashSet<Option<u32>> = facts.drops.iter().map(|d| d.reason).collect();
    let not_mine = |r: &Option<u32>| super::text(facts.names.drop_reason(*r)) == OTHERHOST;
    let reasons: FxHashSet<Option<u32>> = reasons.into_iter().filter(not_mine).collect();
    let theirs = facts.drops.iter().filter(|d| reasons.contains(&d.reason));
    let theirs: FxHashSet<SkbId> = theirs.filter_map(|d| d.skb_id).collect();
    if (theirs.len() as u64) < FEWEST {
        return None;
    }
    // Namespaces have devices of one name: what left by which of them is not known.
    if facts.routes.links.several(dev) {
        return None;
    }
    let left = facts.hops.iter().filter(|h| h.kind == "xmit" && h.dev.text() == dev);
    let left: FxHashSet<SkbId> = left.map(|h| h.skb_id).collect();
    let (others, of) = (left.intersection(&theirs).count() as u64, left.len() as u64);
    (others >= FEWEST && others as f64 >= MOSTLY * of as f64).then_some(Flood { others, of })
}
