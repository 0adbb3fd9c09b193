//! Packets that came from elsewhere and were sent on without having been any socket's of this host: of how their senders fared no event here tells.
//!
//! Needs `skbs`, `hops`, `rx`. Born at reception, queued on a device, and delivered to nobody. Must not count: what a socket of another namespace of this host got or sent.

use rustc_hash::FxHashSet;

use crate::facts::{Facts, SkbId};
use crate::reconstruct::skb::tables::SkbClass;

/// How many.
pub(super) fn passed_on(facts: &Facts) -> u64 {
    let received = |skb: SkbId| facts.skbs.get(skb.0 as usize).is_some_and(|l| l.class == SkbClass::Rx);
    let queued = facts.hops.iter().filter(|h| h.kind == "queue").map(|h| h.skb_id);
    let mut all: FxHashSet<SkbId> = queued.filter(|skb| received(*skb)).collect();
    if !all.is_empty() {
        for r in &facts.rx {
            all.remove(&r.skb_id);
        }
    }
    all.len() as u64
}

#[cfg(test)]
mod tests;
