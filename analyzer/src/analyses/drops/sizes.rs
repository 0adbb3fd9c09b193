//! Packets that are dropped by their size: large ones are, in part, and of the smaller ones to the same sockets none.
//!
//! Needs `drops` (received by a socket), `rx`, `skbs`. What damages frames on their way does it so by the bit or the byte, or to those alone that take
//! another way. Said where, had the smaller ones the same share, some would be among them. Must not be told where GRO or the sender's segmentation
//! made larger units of what came: then units are no packets.

use rustc_hash::FxHashSet;

use super::{Group, text};
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::reconstruct::whose::Carries;

/// Fewest drops.
const FEWEST: u64 = 10;
/// So many of the smaller ones would be dropped at least: none of them is by chance in 2 of 100 recordings.
const EXPECTED: f64 = 4.0;

/// Sizes of dropped packets, and how many others came to the same sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Sizes {
    /// The smallest that was dropped, bytes of its skb.
    pub least: u32,
    /// The largest.
    pub most: u32,
    /// How many were dropped.
    pub dropped: u64,
    /// How many as large as the smallest of them came, these among them.
    pub came: u64,
    /// How many smaller ones came with data.
    pub smaller: u64,
}

/// Of all drops of a group's reason, wherever it was.
pub(super) fn sizes(facts: &Facts, group: &Group) -> Option<Sizes> {
    let size = |id: SkbId| facts.skbs.get(id.0 as usize).filter(|s| s.skb_id == id)?.bytes;
    let mut sockets: FxHashSet<ConnectionId> = FxHashSet::default();
    let (mut least, mut most, mut dropped) = (u32::MAX, 0u32, 0u64);
    for d in &facts.drops {
        let same = (d.expected, d.background, d.why) == (group.expected, group.background, group.why);
        if !same || text(facts.names.drop_reason(d.reason)) != group.reason {
            continue;
        }
        let owner = d.owner.filter(|o| o.carries == Carries::Received)?;
        let bytes = size(d.skb_id?)?;
        sockets.insert(owner.connection?);
        (least, most, dropped) = (least.min(bytes), most.max(bytes), dropped + 1);
    }
    if dropped < FEWEST {
        return None;
    }
    let (mut came, mut smaller) = (dropped, 0u64);
    let units = facts.rx.iter().filter(|r| r.bytes.is_some_and(|n| n > 0));
    for r in units.filter(|r| r.connection.is_some_and(|c| sockets.contains(&c))) {
        match size(r.skb_id)? {
            bytes if bytes > most => return None,
            bytes if bytes >= least => came += 1,
            _ => smaller += 1,
        }
    }
    let expected = dropped as f64 / came as f64 * smaller as f64;
    (expected >= EXPECTED).then_some(Sizes {
        least,
        most,
        dropped,
        came,
        smaller,
    })
}
