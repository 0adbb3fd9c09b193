//! Packets of a group that are as long as IGMP's queries and reports, and that a kernel sent for itself.
//!
//! Needs `drops`, `skbs`, `tx`. IPv4 with the router alert option, 24 bytes, and 8 (IGMPv2) or 12 (an IGMPv3 query) behind it: shorter than any TCP segment; a UDP
//! datagram of 4 or 8 bytes is as long, but a task sends it. That they are IGMP's is inferred. Who drops them is no longer sent the groups that it joined,
//! where a switch or bridge snoops.
//!
//! Source: net/ipv4/igmp.c, net/bridge/br_multicast.c (`br_ip4_multicast_alloc_query`).

use rustc_hash::FxHashMap;

use crate::facts::{Facts, SkbId};
use crate::reconstruct::ETH_P_IP;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::skb::tables::{SkbClass, SkbRow};
use crate::reconstruct::transmit::tables::{TxKind, TxRow};

/// Lengths without and with an Ethernet header.
const LENGTHS: [u32; 4] = [32, 36, 46, 50];
/// Shortest packet in an Ethernet frame that came over a wire: shorter ones are padded to it.
const PADDED: u32 = 46;
/// Fewest.
const FEWEST: u64 = 3;

/// How many of these.
pub(super) fn membership(facts: &Facts, rows: &[&DropRow]) -> Option<u64> {
    let of_size = |d: &&&DropRow| {
        let skb = d
            .skb_id
            .and_then(|id| facts.skbs.get(id.0 as usize).filter(|s| s.skb_id == id));
        // What was received has no link header, and may be padded.
        let fits = |s: &SkbRow| {
            s.bytes
                .is_some_and(|n| LENGTHS.contains(&n) && (n < PADDED || s.class != SkbClass::Rx))
        };
        d.protocol == ETH_P_IP && d.owner.is_none() && skb.is_some_and(fits)
    };
    let rows: Vec<&&DropRow> = rows.iter().filter(of_size).collect();
    if (rows.len() as u64) < FEWEST {
        return None;
    }
    let mut sent: FxHashMap<SkbId, Option<&TxRow>> = rows.iter().filter_map(|d| Some((d.skb_id?, None))).collect();
    for t in &facts.tx {
        if let Some(of) = sent.get_mut(&t.skb_id) {
            *of = Some(t);
        }
    }
    let own = |d: &&&&DropRow| {
        let t = d.skb_id.and_then(|id| sent.get(&id).copied().flatten());
        t.is_none_or(|t| t.kind == TxKind::Other && t.pid == 0)
    };
    let n = rows.iter().filter(own).count() as u64;
    (n >= FEWEST).then_some(n)
}
