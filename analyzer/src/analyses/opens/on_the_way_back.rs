//! Attempts whose SYNs came to their server, and whose SYN-ACKs were dropped in a host of this recording.
//!
//! Needs `retransmits` (SYN-ACKs that were sent again, with both ends), `opens`, `drops`. A SYN-ACK is no socket's, so that no drop names its connection: told where nearly all
//! that were sent again have a drop of one kind within [`SOON_NS`], and chance would give few of them one; inferred.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use super::end;
use crate::analyses::drops::{place, why};
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::opens::tables::OpenEnd;

/// From the event of a SYN-ACK to its drop, ns. The event is written when the packet has been sent (net/ipv4/tcp_output.c `tcp_rtx_synack`): what its own host drops at once
/// lies before it, and is not found.
const SOON_NS: i64 = 1_000_000;
/// Fewest SYN-ACKs, and part of them that must have been dropped so.
const FEWEST: usize = 5;
const NEARLY: f64 = 0.8;
/// Part of all times that may lie so soon before a drop of that kind.
const BY_CHANCE: f64 = 0.1;

/// What became of them.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Back {
    /// SYN-ACKs that were sent again for such attempts.
    pub synacks: u64,
    /// Of them, such behind which a packet was dropped at once.
    pub dropped: u64,
    /// `IP_INHDR at ip_forward on trunk`.
    pub place: String,
    /// What that means.
    pub why: String,
}

/// Reason, place, device.
type Kind = (Option<u32>, u64, Name);

/// Of attempts to this end that did not come to be.
pub(super) fn back(facts: &Facts, to: &str) -> Option<Back> {
    let open = facts
        .opens
        .iter()
        .filter(|o| o.end != OpenEnd::Established && end(o.to) == to);
    let ends: BTreeSet<(SocketAddr, SocketAddr)> = open
        .filter_map(|o| {
            let end = |(ip, port): (std::net::IpAddr, u16)| SocketAddr::new(ip.to_canonical(), port);
            Some((end(o.to?), end(o.from?)))
        })
        .collect();
    let again = facts
        .retransmits
        .iter()
        .filter(|r| r.synack.is_some_and(|e| ends.contains(&e)));
    let again: Vec<i64> = again.map(|r| r.time_ns).collect();
    if again.len() < FEWEST {
        return None;
    }
    let mut by: BTreeMap<Kind, (&DropRow, Vec<i64>)> = BTreeMap::new();
    let lost = |d: &&DropRow| d.expected == Some(false) && d.owner.is_none_or(|o| o.connection.is_none());
    for d in facts.drops.iter().filter(lost) {
        let of = by.entry((d.reason, d.location, d.dev)).or_insert((d, vec![]));
        of.1.push(d.time_ns);
    }
    // Each drop is of one of them.
    let behind = |times: &[i64]| {
        let (mut next, mut n) = (0, 0usize);
        for at in &again {
            next += times.get(next..).unwrap_or_default().partition_point(|t| t < at);
            if times.get(next).is_some_and(|t| t.saturating_sub(*at) <= SOON_NS) {
                (next, n) = (next + 1, n + 1);
            }
        }
        n
    };
    let duration = facts.capture.duration_ns.max(1) as f64;
    let found = by.into_values().filter_map(|(first, times)| {
        let dropped = behind(&times);
        let chance = times.len() as f64 * SOON_NS as f64 / duration;
        (dropped as f64 >= NEARLY * again.len() as f64 && chance <= BY_CHANCE).then_some((dropped, first))
    });
    let (dropped, first) = found.max_by_key(|(n, _)| *n)?;
    Some(Back {
        synacks: again.len() as u64,
        dropped: dropped as u64,
        why: why(facts, first),
        place: place(facts, first),
    })
}
