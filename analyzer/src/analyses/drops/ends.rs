//! From where to where packets went of which no socket of this recording tells: by the look-ups of their routes ([`crate::reconstruct::drops::tables::DropRow::way`]).

use std::net::IpAddr;

use rustc_hash::FxHashMap;

use crate::reconstruct::drops::tables::DropRow;

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

/// Of those of a group whose route was looked up.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Ends {
    /// How many these are.
    pub known: u64,
    /// Destinations.
    pub to: Addresses,
    /// Sources.
    pub from: Addresses,
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

/// Where no more than half have an owner, and half or more of the others a way.
pub(super) fn ends(rows: &[&DropRow]) -> Option<Ends> {
    let strange = || rows.iter().filter(|r| r.owner.is_none());
    let ways = || strange().filter_map(|r| r.way);
    let (known, of) = (ways().count(), strange().count());
    let enough = known > 0 && known * 2 >= of && of * 2 >= rows.len();
    enough.then_some(())?;
    Some(Ends {
        known: known as u64,
        to: addresses(ways().map(|w| w.1))?,
        from: addresses(ways().map(|w| w.0))?,
    })
}
