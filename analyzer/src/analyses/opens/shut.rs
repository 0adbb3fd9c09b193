//! Attempts whose SYNs were dropped in a host of this recording: where, and for what.
//!
//! Needs `drops` with their sockets, `opens`.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::net::IpAddr;

use rustc_hash::FxHashMap;

use crate::analyses::drops::{place, why};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::opens::tables::{End, OpenEnd, OpenRow};
use crate::reconstruct::whose::Carries;

/// What became of their SYNs.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Shut {
    /// SYNs of such attempts that were dropped so.
    pub syns: u64,
    /// Attempts that met it: nearly all.
    pub attempts: u64,
    /// `NETFILTER_DROP at nft_do_chain on br0`
    pub place: String,
    /// What that means.
    pub why: String,
    /// Whom it meets, where others get through.
    pub only: Option<Only>,
}

/// Addresses of which nobody got through any more, while others did.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Only {
    /// These.
    pub of: Vec<String>,
    /// From the first attempt of theirs that met it, ns since the start of the recording.
    pub since_ns: i64,
    /// Connections of theirs that were opened there before.
    pub before: u64,
    /// Connections of others that were opened there since, at once.
    pub others: u64,
}

/// Reason, place, device.
type Kind = (Option<u32>, u64, Name);

/// One in so many may have failed for something else: what dropped its SYNs may not be recorded, as a device that lets nothing through.
const BUT: u64 = 10;
/// Most addresses that are told.
const ADDRESSES: usize = 4;
/// Fewest attempts of each.
const EACH: u64 = 3;
/// Opened connections that are looked at in all.
const LOOKED_AT: usize = 10_000_000;
/// Fewest connections of others that got through.
const OTHERS: u64 = 3;

/// Drops of SYNs, by socket.
pub(super) struct Syns<'f> {
    facts: &'f Facts,
    of: FxHashMap<ConnectionId, Vec<&'f DropRow>>,
    /// Connections that were opened, by their remote end.
    stood: FxHashMap<Option<End>, Vec<&'f OpenRow>>,
    /// Of these, so many are looked at yet: groups of attempts may be many.
    left: Cell<usize>,
}

impl<'f> Syns<'f> {
    pub(super) fn of_all(facts: &'f Facts) -> Syns<'f> {
        let mut of: FxHashMap<ConnectionId, Vec<&DropRow>> = FxHashMap::default();
        for d in facts.drops.iter().filter(|d| d.expected == Some(false)) {
            let owner = d.owner.filter(|o| o.carries == Carries::Syn && o.confidence.is_solid());
            if let Some(c) = owner.and_then(|o| o.connection) {
                of.entry(c).or_default().push(d);
            }
        }
        let mut stood: FxHashMap<Option<End>, Vec<&OpenRow>> = FxHashMap::default();
        for o in facts.opens.iter().filter(|o| o.end == OpenEnd::Established) {
            stood.entry(o.to).or_default().push(o);
        }
        let left = Cell::new(LOOKED_AT);
        Syns { facts, of, stood, left }
    }

    /// Drops of SYNs of a socket.
    pub(super) fn of(&self, connection: ConnectionId) -> &[&'f DropRow] {
        self.of.get(&connection).map_or(&[], Vec::as_slice)
    }

    /// Of some attempts: the kind of drop that nearly each of them met.
    pub(super) fn shut<'o>(&self, attempts: impl Iterator<Item = &'o OpenRow> + Clone) -> Option<Shut> {
        let mut by: BTreeMap<Kind, (&DropRow, u64)> = BTreeMap::new();
        let (mut met, mut all) = (0u64, 0u64);
        for o in attempts.clone() {
            all += 1;
            let dropped = o.connection.and_then(|c| self.of.get(&c));
            met += u64::from(dropped.is_some());
            for d in dropped.into_iter().flatten() {
                let n = by.entry((d.reason, d.location, d.dev)).or_insert((d, 0));
                n.1 += 1;
            }
        }
        // All in one place.
        let (first, syns) = by.first_entry().map(|e| *e.get()).filter(|_| by.len() == 1)?;
        let nearly = all.saturating_sub(met).saturating_mul(BUT) <= all;
        nearly.then(|| Shut {
            syns,
            attempts: met,
            why: why(self.facts, first),
            place: place(self.facts, first),
            only: self.only(attempts),
        })
    }

    /// Whom it meets: where none of the attempts' addresses gets through since the first of them, and each tried often enough.
    fn only<'o>(&self, attempts: impl Iterator<Item = &'o OpenRow> + Clone) -> Option<Only> {
        let source = |o: &OpenRow| Some(o.from?.0.to_canonical());
        let first = attempts.clone().min_by_key(|o| o.start_ns)?;
        let last_ns = attempts.clone().map(|o| o.start_ns).max()?;
        let mut of: BTreeMap<IpAddr, u64> = BTreeMap::new();
        for o in attempts {
            *of.entry(source(o)?).or_default() += 1;
        }
        // Chance, as a limit of how many pass each second is, lets one of a few through.
        if of.len() > ADDRESSES || of.values().any(|n| *n < EACH) {
            return None;
        }
        let stood = self.stood.get(&first.to)?;
        let left = self.left.get().checked_sub(stood.len())?;
        self.left.set(left);
        let (mut before, mut others) = (0, 0);
        for o in stood {
            match (of.contains_key(&source(o)?), o.start_ns < first.start_ns) {
                (true, true) => before += 1,
                (true, false) => return None,
                (false, false) if o.start_ns <= last_ns && o.syns_again == Some(0) => others += 1,
                _ => {}
            }
        }
        (others >= OTHERS).then(|| Only {
            of: of.keys().map(ToString::to_string).collect(),
            since_ns: first.start_ns.saturating_sub(self.facts.capture.start_ns.unwrap_or(0)),
            before,
            others,
        })
    }
}
