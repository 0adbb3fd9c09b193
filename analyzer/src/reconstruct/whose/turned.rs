//! Packets that a tunnel turned into the ICMP message that they were too big for it.
//!
//! In: steps. Out: the lives that were turned, and by which device. Must not take a packet for turned that a device only handed back
//! (a redirect, the loopback): that keeps its length.
//!
//! ```text
//! xmit tunnel (1514 bytes) ─ rx tunnel (the same skb, 576 bytes of IPv4, 1280 of IPv6) ─> it goes back the way it came
//! ```
//! Source: net/ipv4/ip_tunnel_core.c `iptunnel_pmtud_build_icmp`, `iptunnel_pmtud_build_icmpv6` (the segment is cut so that the message
//! is as long as any host takes, and the headers are written before it), drivers/net/vxlan/vxlan_core.c `vxlan_encap_bypass`.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::SkbId;
use crate::name::Name;
use crate::reconstruct::skb::tables::HopRow;

/// Length of the message of a packet longer than that: the least MTU of IPv4 hosts, and of IPv6.
const MESSAGE: [Option<u32>; 2] = [Some(576), Some(1280)];
/// ETH_HLEN with a VLAN tag: what a packet that is only handed back is shorter at most.
const HEADER: u32 = 18;

pub(super) fn turned(hops: &[HopRow]) -> FxHashMap<SkbId, Name> {
    let may_be = |h: &&HopRow| h.kind == "rx" && MESSAGE.contains(&h.bytes);
    let asked: FxHashSet<SkbId> = hops.iter().filter(may_be).map(|h| h.skb_id).collect();
    let mut out = FxHashMap::default();
    if asked.is_empty() {
        return out;
    }
    let mut last: FxHashMap<SkbId, &HopRow> = FxHashMap::default();
    for hop in hops.iter().filter(|h| asked.contains(&h.skb_id)) {
        if let Some(before) = last.insert(hop.skb_id, hop)
            && may_be(&hop)
            && (before.kind, before.dev) == ("xmit", hop.dev)
            && before.bytes > hop.bytes.map(|n| n + HEADER)
        {
            out.insert(hop.skb_id, hop.dev);
        }
    }
    out
}
