//! RSTs that neither end sent and that came just as a rule of a host of this recording dropped a packet of the connection: that rule answers so (REJECT with tcp-reset).
//!
//! Needs `resets`, `drops` with their owners. net/ipv4/netfilter/nf_reject_ipv4.c `nf_send_reset`: the RST is made and sent, then the packet is freed (`NF_DROP`), in one go.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use rustc_hash::FxHashMap;

use crate::analyses::drops::reasons::RULES;
use crate::analyses::drops::{place, text};
use crate::facts::{ConnectionId, Facts};

/// From the drop to the arrival of its RST, ns: on a veth it has come before.
const APART_NS: RangeInclusive<i64> = -200_000..=200_000;
/// Part of them that must have come so.
const NEARLY: f64 = 0.9;

/// What is told of a group of RSTs.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Rejected {
    /// RSTs that came as a packet of their connection was dropped by a rule.
    pub count: u64,
    /// Where most of these were dropped: `NETFILTER_DROP at nft_do_chain on eth0`.
    pub place: String,
}

/// Of RSTs by their sockets and times.
pub(super) fn rejected(facts: &Facts, of: &[(ConnectionId, i64)]) -> Option<Rejected> {
    let mut drops: FxHashMap<ConnectionId, Vec<(i64, String)>> = of.iter().map(|(c, _)| (*c, vec![])).collect();
    for d in &facts.drops {
        let Some(own) = d.owner.and_then(|o| o.connection).and_then(|c| drops.get_mut(&c)) else {
            continue;
        };
        if text(facts.names.drop_reason(d.reason)) == RULES {
            own.push((d.time_ns, place(facts, d)));
        }
    }
    let mut places: BTreeMap<&str, u64> = BTreeMap::new();
    for (c, at) in of {
        let near = |d: &&(i64, String)| APART_NS.contains(&at.saturating_sub(d.0));
        if let Some((_, place)) = drops.get(c).and_then(|of| of.iter().find(near)) {
            *places.entry(place).or_default() += 1;
        }
    }
    let count: u64 = places.values().sum();
    let (place, _) = places.into_iter().max_by_key(|(_, n)| *n)?;
    (count as f64 >= NEARLY * of.len() as f64).then(|| Rejected {
        count,
        place: place.to_owned(),
    })
}
