//! Losses by which transfers find the rate of a queue that they fill themselves: loss-based congestion control works so (RFC 5681, RFC 9438).
//!
//! Needs `drops` with their sockets, `connections`, `retransmits`, `responses`, `turnarounds`. Must not be said where anybody waits for an answer on such a connection, where much was lost, or
//! a retransmission timer had to run out: there loss costs more than rate.

use rustc_hash::FxHashSet;

use super::Group;
use super::reasons::QUEUE_FULL;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::tcp::tables::RetransmitClass;
use crate::reconstruct::tcp::tables::RetransmitRow;
use crate::reconstruct::whose::Carries;

/// Least payload of such a transfer, bytes.
const BULK: u64 = 5_000_000;
/// Part of it that may be lost: one in so many.
const LOST: u64 = 50;
/// Payload of a full segment, bytes.
const SEGMENT: u64 = 1_448;

/// Whether all of a group are such.
pub(super) fn finds_rate(facts: &Facts, group: &Group, rows: &[&DropRow]) -> bool {
    if group.reason != QUEUE_FULL || rows.is_empty() || !facts.gaps.is_empty() {
        return false;
    }
    let of = |d: &&DropRow| d.owner.filter(|o| o.carries == Carries::Data)?.connection;
    let Some(all) = rows.iter().map(of).collect::<Option<Vec<ConnectionId>>>() else {
        return false;
    };
    let senders: FxHashSet<ConnectionId> = all.iter().copied().collect();
    let row = |c: ConnectionId| facts.connections.get(c.0 as usize);
    let both: FxHashSet<ConnectionId> = (senders.iter())
        .flat_map(|c| [Some(*c), row(*c).and_then(|r| r.peer)])
        .flatten()
        .collect();
    let asked = (facts.responses.iter().map(|r| r.connection)).chain(facts.turnarounds.iter().map(|r| r.connection));
    let slow = |r: &&RetransmitRow| {
        !matches!(
            r.class,
            RetransmitClass::Fast | RetransmitClass::RackTimer | RetransmitClass::Tlp
        )
    };
    let slowly = facts.retransmits.iter().filter(slow).filter_map(|r| r.connection);
    let few = |c: &ConnectionId| {
        let lost = all.iter().filter(|of| *of == c).count() as u64 * SEGMENT;
        row(*c).is_some_and(|r| r.bytes_out >= BULK && lost.saturating_mul(LOST) <= r.bytes_out)
    };
    senders.iter().all(few) && !asked.chain(slowly).any(|c| both.contains(&c))
}
