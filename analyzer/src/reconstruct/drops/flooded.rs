//! Packets that came to an address which is none of the host's (`IP_INADDRERRORS`), in a frame that a bridge flooded: broadcast, or for a MAC address that it did not
//! know. The bridge itself has got one of many copies, and nobody meant it.
//!
//! In: rows of `drops`, hops, which devices are ports of bridges (`links` of the snapshots: without these nothing is judged). Out: the same rows, judged. A frame that went to one port only is not flooded: the host there has the MAC address that it was for.
//! A copy is a clone, whose first step is into the port's queue (net/bridge/br_forward.c `br_flood`, `deliver_clone`), with the link header that a received packet has not; never at the
//! port by which the frame came. Another frame that passes, or that the host sends, was somewhere before.

use netmortem_formats::Capture;
use rustc_hash::{FxHashMap, FxHashSet};

use super::otherhost::{BRIDGE_NS, Hindsight};
use super::tables::DropRow;
use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::name::Name;
use crate::reconstruct::skb::tables::HopRow;
use crate::snapshots::{field, lines, number};

/// Steps looked at.
const STEPS: usize = 128;
/// A link header, and one with a VLAN tag that was put in.
const LINK_HEADERS: [u32; 2] = [14, 18];
/// Fewest ports of bridges in whose queues other skbs of that length were meanwhile.
const PORTS: usize = 2;
/// That it is one.
pub const FLOODED: &str = "a copy of a frame that a bridge flooded (broadcast, or a MAC address that it did not know)";

/// Names of the devices that are ports of bridges.
pub fn ports(capture: &Capture) -> FxHashSet<Name> {
    let bridge = |l: &str| {
        Some((
            number(l, "netns")?,
            number(l, "ifindex").filter(|_| field(l, "kind") == Some("bridge"))?,
        ))
    };
    let bridges: FxHashSet<(u64, u64)> = lines(capture, "links", |_| true).filter_map(bridge).collect();
    let port = |l: &str| {
        let master = (number(l, "netns")?, number(l, "master")?);
        Some(Name::new(
            field(l, "name").filter(|_| bridges.contains(&master))?.as_bytes(),
        ))
    };
    lines(capture, "links", |_| true).filter_map(port).collect()
}

/// Judges the rows at these places.
pub fn judge(rows: &mut [DropRow], (places, ports): (&[usize], &FxHashSet<Name>), known: &Hindsight<'_>) {
    if ports.len() < PORTS {
        return;
    }
    let hops = &known.identity.hops;
    let freed: FxHashSet<SkbId> = places.iter().filter_map(|at| rows.get(*at)?.skb_id).collect();
    let mut own_hops: FxHashMap<SkbId, Vec<&HopRow>> = FxHashMap::default();
    for h in hops.iter().filter(|h| freed.contains(&h.skb_id)) {
        own_hops.entry(h.skb_id).or_default().push(h);
    }
    for at in places {
        let Some(row) = rows.get_mut(*at) else { continue };
        let since = row.time_ns.saturating_sub(BRIDGE_NS);
        let own = row
            .skb_id
            .and_then(|skb| own_hops.get(&skb))
            .map_or(&[][..], Vec::as_slice);
        let own: &[&HopRow] = own
            .get(own.partition_point(|h| h.time_ns < since)..own.partition_point(|h| h.time_ns <= row.time_ns))
            .unwrap_or_default();
        let Some(last) = own.last().filter(|h| h.kind != "queue" && h.kind != "xmit") else {
            continue;
        };
        // Where it is seen at the port, its copies were made between that and the bridge's own device.
        let since = own.first().filter(|_| own.len() > 1).map_or(since, |h| h.time_ns);
        let from = hops.partition_point(|h| h.time_ns < since);
        let to = hops.partition_point(|h| h.time_ns <= row.time_ns);
        let before = hops.get(from..to).unwrap_or_default();
        let copy = |h: &&HopRow| {
            let header = h.bytes.zip(last.bytes).and_then(|(a, b)| a.checked_sub(b));
            let first = || {
                let life = known.identity.life(h.skb_id);
                life.is_some_and(|l| l.birth_ns == h.time_ns)
            };
            h.kind == "queue"
                && h.skb_id != last.skb_id
                && h.cpu == last.cpu
                && ports.contains(&h.dev)
                && header.is_some_and(|d| LINK_HEADERS.contains(&d))
                && own.iter().all(|o| o.dev != h.dev)
                && first()
        };
        let mut devs: Vec<_> = before.iter().rev().take(STEPS).filter(copy).map(|h| h.dev).collect();
        devs.sort_unstable();
        devs.dedup();
        if devs.len() >= PORTS {
            (row.expected, row.why, row.confidence) = (Some(true), FLOODED, Confidence::Strong);
        }
    }
}
