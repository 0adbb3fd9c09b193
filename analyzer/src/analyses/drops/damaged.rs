//! Between which hosts packets were damaged that came with a wrong checksum.
//!
//! Needs `drops` with their sockets, `rx`, `connections`. A router does not look at the checksum of TCP or UDP, so what damages them may be anywhere between both hosts; but
//! where one of several others is concerned alone, it is not what they have in common.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::drops::tables::DropRow;

/// Part of a group that two hosts must have in common.
const NEARLY: f64 = 0.95;
/// So many damaged ones would be among those of others, were they as often.
const EXPECTED: u64 = 5;
/// Fewest damaged packets of both.
const LEAST: u64 = 10;
/// Fewest packets of other pairs that must have come undamaged for that to be said.
const OTHERS: u64 = 100;

/// Both hosts, and what came.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Damaged {
    /// The host to which more were damaged, and the other.
    pub hosts: (String, String),
    /// Damaged packets to each.
    pub damaged: (u64, u64),
    /// Units with payload that came from the one to the other, in the directions of which some were damaged, these among it; one may be several segments (GRO).
    pub came: u64,
    /// Such units that came to both from other hosts, of which none, or hardly any, was damaged; 0: too few to say.
    pub others: u64,
}

/// The host that it came to, and from which.
fn way(facts: &Facts, c: ConnectionId) -> Option<(IpAddr, IpAddr)> {
    let row = facts.connections.get(c.0 as usize)?;
    let (to, from) = (row.saddr?.to_canonical(), row.daddr?.to_canonical());
    (!to.is_loopback()).then_some((to, from))
}

/// Of all such drops, wherever they were.
pub(super) fn damaged(facts: &Facts, why: &str) -> Option<Damaged> {
    let rows: Vec<&DropRow> = (facts.drops.iter())
        .filter(|d| d.expected == Some(false) && d.why == why)
        .collect();
    let mut by: BTreeMap<(IpAddr, IpAddr), u64> = BTreeMap::new();
    for d in &rows {
        if let Some(way) = d.owner.and_then(|o| way(facts, o.connection?)) {
            *by.entry(way).or_default() += 1;
        }
    }
    between(facts, &by, rows.len() as u64)
}

/// Of damaged packets by the host that they came to and the one that sent them; and how many there were in all.
pub(super) fn between(facts: &Facts, by: &BTreeMap<(IpAddr, IpAddr), u64>, all: u64) -> Option<Damaged> {
    let of = |to: IpAddr, from: IpAddr| by.get(&(to, from)).copied().unwrap_or(0);
    let (a, b) = by
        .keys()
        .copied()
        .max_by_key(|(to, from)| (of(*to, *from) + of(*from, *to), of(*to, *from)))?;
    let (to_a, to_b) = (of(a, b), of(b, a));
    if to_a + to_b < LEAST || ((to_a + to_b) as f64) < NEARLY * all as f64 {
        return None;
    }
    let (mut came, mut others) = (to_a + to_b, 0u64);
    for r in facts.rx.iter().filter(|r| r.bytes.is_none_or(|n| n > 0)) {
        match r.connection.and_then(|c| way(facts, c)) {
            Some(way) if way == (a, b) && to_a > 0 || way == (b, a) && to_b > 0 => came += 1,
            Some(way) if way == (a, b) || way == (b, a) => {}
            Some((to, _)) if to == a || to == b => others += 1,
            _ => {}
        }
    }
    let spared: u64 = by
        .iter()
        .filter(|((to, from), _)| ![(a, b), (b, a)].contains(&(*to, *from)))
        .map(|(_, n)| *n)
        .sum();
    // As often damaged as theirs, some of those must be.
    let enough = u128::from(others) * u128::from(to_a + to_b) >= u128::from(EXPECTED) * u128::from(came);
    let hardly = enough && spared.saturating_mul(20).saturating_mul(came) <= (to_a + to_b).saturating_mul(others);
    Some(Damaged {
        hosts: (a.to_string(), b.to_string()),
        damaged: (to_a, to_b),
        came,
        others: if others >= OTHERS && hardly { others } else { 0 },
    })
}
