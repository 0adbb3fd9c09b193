//! SYNs of attempts that were given up after a wait: their program waited for an answer, whatever else went well beside it.
//!
//! Needs `drops` with their sockets, `opens`. Of attempts that ended sooner, of scans, of checks, and of those whose program works by another address nobody is known to have waited.

use rustc_hash::FxHashSet;

use crate::analyses::opens::aside::{Aside, asides};
use crate::analyses::opens::{checking, scanning};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};
use crate::reconstruct::whose::Carries;

/// Shortest wait that counts, ns: many times what an answer takes.
const LEAST_NS: i64 = 100_000_000;

/// How many of these are such.
pub(super) fn given_up(facts: &Facts, rows: &[&DropRow]) -> u64 {
    let syns = rows.iter().filter_map(|d| d.owner);
    let syns: Vec<ConnectionId> = syns
        .filter(|o| matches!(o.carries, Carries::Syn | Carries::SynData))
        .filter_map(|o| o.connection)
        .collect();
    if syns.is_empty() {
        return 0;
    }
    let waited = |o: &&OpenRow| matches!(o.end, OpenEnd::GivenUp | OpenEnd::TimedOut) && o.total_ns() >= LEAST_NS;
    let dropped: FxHashSet<ConnectionId> = syns.iter().copied().collect();
    // Who works by another address, as from a pool, or of the other family, did not wait for this one.
    let asides = asides(facts);
    let alone = |o: &&OpenRow| matches!(asides.of(o), None | Some(Aside::Few(_) | Aside::Many(_)));
    let of = facts
        .opens
        .iter()
        .filter(waited)
        .filter(alone)
        .filter_map(|o| o.connection);
    let mut of: FxHashSet<ConnectionId> = of.filter(|c| dropped.contains(c)).collect();
    if of.is_empty() {
        return 0;
    }
    let meant = [
        scanning(facts).into_iter().collect::<Vec<_>>(),
        checking(facts).into_iter().collect(),
    ]
    .concat();
    meant.iter().for_each(|c| _ = of.remove(c));
    syns.iter().filter(|c| of.contains(c)).count() as u64
}
