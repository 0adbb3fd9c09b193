//! Addresses whose entries go there and back between two link-layer addresses: two hosts have them.
//!
//! In: rows of `neighbours`. An update says what the entry held before and after it, so it needs no namespace. Must not take for it: an address that
//! moved, once (a failover), or there and back (two), however many entries of namespaces or devices tell of it; what a program set over netlink.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::explain::{Id, Kind};
use crate::facts::Facts;
use crate::reconstruct::neighbours::tables::{LinkAddr, NeighbourRow};

/// Fewest moves, there, back and there: changes of several entries one way are one.
const MOVES: u64 = 3;

/// An address at two link-layer addresses in turn.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Flapping {
    /// Whose.
    pub address: String,
    /// One of them: the one before the first change.
    pub lladdr: String,
    /// The other one.
    pub other: String,
    /// Changes from the one to the other, of all entries.
    pub there: u64,
    /// And back.
    pub back: u64,
    /// The first change.
    pub first: Option<Id>,
    /// When it was, ns since the start of the recording.
    pub first_ns: i64,
    /// The last.
    pub last_ns: i64,
}

impl Flapping {
    /// All of them.
    pub fn changes(&self) -> u64 {
        self.there.saturating_add(self.back)
    }
}

/// Entries that the network gave another link-layer address: place in `neighbours`, row, from, to.
pub(crate) fn changes(facts: &Facts) -> impl Iterator<Item = (usize, &NeighbourRow, LinkAddr, LinkAddr)> {
    let own = |r: &NeighbourRow| r.event == "update" && r.netlink == 0 && r.err.unwrap_or(0) == 0;
    let rows = facts.neighbours.iter().enumerate().filter(move |(_, r)| own(r));
    rows.filter_map(|(place, r)| {
        let held = r.before.and_then(|h| h.valid()).zip(r.after.and_then(|h| h.valid()));
        let (from, to) = held.filter(|(from, to)| from != to)?;
        Some((place, r, from, to))
    })
}

/// With the way of the last change, and how often that was another.
type Moved = (Flapping, Option<LinkAddr>, u64);

/// Asks; most changes first.
pub fn flapping(facts: &Facts) -> Vec<Flapping> {
    let mut by: BTreeMap<(IpAddr, LinkAddr, LinkAddr), Moved> = BTreeMap::new();
    let start = facts.capture.start_ns.unwrap_or(0);
    for (place, r, from, to) in changes(facts) {
        let at = r.time_ns.saturating_sub(start);
        let of = by.entry((r.address, from.min(to), from.max(to)));
        let (of, way, moves) = of.or_insert_with(|| {
            let first = Flapping {
                address: r.address.to_string(),
                lladdr: from.to_string(),
                other: to.to_string(),
                there: 0,
                back: 0,
                first: Id::at(Kind::Neighbour, place),
                first_ns: at,
                last_ns: at,
            };
            (first, None, 0)
        });
        *moves += u64::from(way.replace(to) != Some(to));
        match of.lladdr == from.to_string() {
            true => of.there += 1,
            false => of.back += 1,
        }
        of.last_ns = of.last_ns.max(at);
    }
    let all = by.into_values().filter(|(_, _, moves)| *moves >= MOVES);
    let mut all: Vec<Flapping> = all.map(|(f, ..)| f).collect();
    all.sort_by_key(|f| std::cmp::Reverse(f.changes()));
    all
}
