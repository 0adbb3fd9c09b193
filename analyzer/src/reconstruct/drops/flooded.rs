//! Packets that came to an address which is none of the host's (`IP_INADDRERRORS`), in a frame that a bridge flooded: broadcast, or for a MAC address that it did not
//! know. The bridge itself has got one of many copies, and nobody meant it.
//!
//! In: rows of `drops`, hops, which devices are ports of bridges (`links` of the snapshots: without these nothing is judged). Out: the same rows, judged. A frame that went to one port only is not flooded: the host there has the MAC address that it was for.

use netmortem_formats::Capture;
use rustc_hash::FxHashSet;

use super::otherhost::{BRIDGE_NS, Hindsight, LINK_HEADERS};
use super::tables::DropRow;
use crate::confidence::Confidence;
use crate::name::Name;
use crate::reconstruct::skb::tables::HopRow;
use crate::snapshots::{field, lines, number};

/// Steps looked at.
const STEPS: usize = 128;
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
    for at in places {
        let Some(row) = rows.get_mut(*at) else { continue };
        let from = hops.partition_point(|h| h.time_ns < row.time_ns.saturating_sub(BRIDGE_NS));
        let to = hops.partition_point(|h| h.time_ns <= row.time_ns);
        let before = hops.get(from..to).unwrap_or_default();
        let own = before.iter().rev().find(|h| Some(h.skb_id) == row.skb_id);
        let Some(own) = own.filter(|h| h.kind != "queue" && h.kind != "xmit") else {
            continue;
        };
        let same = |h: &&HopRow| {
            let longer = h.bytes.zip(own.bytes).map(|(a, b)| a.abs_diff(b));
            h.kind == "queue"
                && h.skb_id != own.skb_id
                && h.cpu == own.cpu
                && h.dev != own.dev
                && ports.contains(&h.dev)
                && longer.is_some_and(|d| LINK_HEADERS.contains(&d))
        };
        let mut devs: Vec<_> = before.iter().rev().take(STEPS).filter(same).map(|h| h.dev).collect();
        devs.sort_unstable();
        devs.dedup();
        if devs.len() >= PORTS {
            (row.expected, row.why, row.confidence) = (Some(true), FLOODED, Confidence::Strong);
        }
    }
}
