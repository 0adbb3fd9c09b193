//! From where to where packets went of which no socket of this recording tells, and whether others of these addresses got through: by their route lookups
//! ([`crate::reconstruct::drops::tables::DropRow::way`]).

use std::net::IpAddr;

use rustc_hash::FxHashMap;

use crate::reconstruct::drops::Way;
use crate::reconstruct::drops::tables::DropRow;

/// Packets of two addresses that got through before the first was dropped, from which it is a matter of time that none does since.
const BEFORE: u32 = 5;
/// Drops of two addresses, and so many times as many that got through, from which these are losses of what is let through.
const LOST: u64 = 3;
const TIMES: u64 = 5;

/// Addresses at one end, of packets of a group.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Addresses {
    /// The one of most of them.
    pub most: String,
    /// How many of them that is.
    pub count: u64,
    /// Other addresses.
    pub others: u64,
}

/// Packets of a group by pairs of addresses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Pairs {
    /// Pairs.
    pub pairs: u64,
    /// Dropped in this group.
    pub dropped: u64,
    /// Others of these addresses that were not dropped, of any port.
    pub passed: u64,
}

/// Of those of a group whose route was looked up.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Ends {
    /// How many these are.
    pub known: u64,
    /// Destinations.
    pub to: Addresses,
    /// Sources.
    pub from: Addresses,
    /// Pairs of which three or more were dropped, five or more got through before the first of these, and none is known to have since.
    pub cut_off: Option<Pairs>,
    /// Pairs of which three or more were dropped, and five times as many got through.
    pub partly: Option<Pairs>,
}

fn addresses(of: impl Iterator<Item = IpAddr>) -> Option<Addresses> {
    let mut by: FxHashMap<IpAddr, (u64, usize)> = FxHashMap::default();
    for (nth, a) in of.enumerate() {
        by.entry(a.to_canonical()).or_insert((0, nth)).0 += 1;
    }
    // Of equals the first, whatever its name: a redacted recording has others.
    let (most, (count, _)) = by.iter().max_by_key(|(_, (n, nth))| (*n, std::cmp::Reverse(*nth)))?;
    Some(Addresses {
        most: most.to_string(),
        count: *count,
        others: (by.len() as u64).saturating_sub(1),
    })
}

/// Those of a kind.
fn pairs(by: &FxHashMap<(IpAddr, IpAddr), (u64, Way)>, is: impl Fn(u64, (u32, u32)) -> bool) -> Option<Pairs> {
    let mut all = Pairs::default();
    for (dropped, way) in by.values() {
        let Some(passed) = way.passed.filter(|p| is(*dropped, *p)) else {
            continue;
        };
        all.pairs += 1;
        all.dropped = all.dropped.saturating_add(*dropped);
        all.passed = all.passed.saturating_add(sum(passed));
    }
    (all.pairs > 0).then_some(all)
}

fn sum((before, later): (u32, u32)) -> u64 {
    u64::from(before).saturating_add(later.into())
}

/// Where no more than half have an owner, and half or more of the others a way.
pub(super) fn ends(rows: &[&DropRow]) -> Option<Ends> {
    let strange = || rows.iter().filter(|r| r.owner.is_none());
    let ways = || strange().filter_map(|r| r.way);
    let (known, of) = (ways().count(), strange().count());
    let enough = known > 0 && known.saturating_mul(2) >= of && of.saturating_mul(2) >= rows.len();
    enough.then_some(())?;
    let mut by: FxHashMap<(IpAddr, IpAddr), (u64, Way)> = FxHashMap::default();
    for way in ways() {
        by.entry((way.from, way.to)).or_insert((0, way)).0 += 1;
    }
    let cut_off = |dropped: u64, (before, later): (u32, u32)| dropped >= LOST && before >= BEFORE && later == 0;
    let partly = |dropped: u64, p: (u32, u32)| dropped >= LOST && p.1 > 0 && sum(p) >= dropped.saturating_mul(TIMES);
    Some(Ends {
        known: known as u64,
        to: addresses(ways().map(|w| w.to))?,
        from: addresses(ways().map(|w| w.from))?,
        cut_off: pairs(&by, cut_off),
        partly: pairs(&by, partly),
    })
}
