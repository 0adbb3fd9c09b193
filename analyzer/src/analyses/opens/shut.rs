//! Attempts whose SYNs were dropped in a host of this recording: where, and for what.
//!
//! Needs `drops` with their sockets, `opens`.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::analyses::drops::{place, why};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::opens::tables::OpenRow;
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
}

/// Reason, place, device.
type Kind = (Option<u32>, u64, Name);

/// One in so many may have failed for something else: what dropped its SYNs may not be recorded, as a device that lets nothing through.
const BUT: u64 = 10;

/// Drops of SYNs, by socket.
pub(super) struct Syns<'f> {
    facts: &'f Facts,
    of: FxHashMap<ConnectionId, Vec<&'f DropRow>>,
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
        Syns { facts, of }
    }

    /// Drops of SYNs of a socket.
    pub(super) fn of(&self, connection: ConnectionId) -> &[&'f DropRow] {
        self.of.get(&connection).map_or(&[], Vec::as_slice)
    }

    /// Of some attempts: the kind of drop that nearly each of them met.
    pub(super) fn shut<'o>(&self, attempts: impl Iterator<Item = &'o OpenRow>) -> Option<Shut> {
        let mut by: BTreeMap<Kind, (&DropRow, u64)> = BTreeMap::new();
        let (mut met, mut all) = (0u64, 0u64);
        for o in attempts {
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
        })
    }
}
