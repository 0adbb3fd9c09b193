//! Which other connections readers slept in a read of while packets of theirs lay in a receive queue.
//!
//! Needs read units of `rx` (`asleep_on`), `connections`. Told by the return of that read, not inferred. One thread that reads of one connection
//! after the other leaves the others' packets unread for as long as the one is silent.

use crate::analyses::tcp::as_opened;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::receive::tables::{RxRow, Stage};

/// Share of the time asleep from which they are named.
const MOSTLY: f64 = 0.5;

/// Those connections.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ReadOf {
    /// How many.
    pub connections: u64,
    /// The first of them by number, as who opened it writes it: `10.0.0.3:40000 > 10.0.0.1:443`.
    pub first: String,
    /// Share of all time for which readers slept, 0 to 1.
    pub share: f64,
}

/// Of all read units.
pub(super) fn read_of(facts: &Facts, read: &[&RxRow]) -> Option<ReadOf> {
    let (mut all, mut theirs, mut of): (i64, i64, Vec<ConnectionId>) = (0, 0, vec![]);
    for r in read {
        all = all.saturating_add(r.stage(Stage::ReaderAsleep).unwrap_or(0));
        if let Some(c) = r.asleep_on {
            theirs = theirs.saturating_add(r.asleep_on_ns);
            if of.last() != Some(&c) {
                of.push(c);
            }
        }
    }
    let share = theirs as f64 / all.max(1) as f64;
    if share < MOSTLY {
        return None;
    }
    of.sort_unstable();
    of.dedup();
    let first = facts.connections.get(of.first()?.0 as usize)?;
    Some(ReadOf {
        connections: of.len() as u64,
        first: as_opened(first),
        share,
    })
}
