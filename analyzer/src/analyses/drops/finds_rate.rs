//! Losses by which transfers find the rate of a queue that they fill themselves: loss-based congestion control works so (RFC 5681, RFC 9438).
//!
//! Needs `drops` with their sockets and repairs, `connections`, `retransmits`, `responses`, `turnarounds`, `xmits`. Must not be said where anybody waits for an answer on such a connection,
//! where much was lost, was not sent again, or only when a retransmission timer had run out, nor of a queue that is mostly others' or drops by chance (netem).

use rustc_hash::{FxHashMap, FxHashSet};

use super::Group;
use super::reasons::QUEUE_FULL;
use crate::analyses::not_recorded;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::tcp::tables::{RetransmitClass, RetransmitRow};
use crate::reconstruct::whose::Carries;

/// Least payload of such a transfer, bytes.
const BULK: u64 = 5_000_000;
/// Part of it that may be lost: one in so many; of congestion control that does not slow down for a loss (BBR).
const LOST: u64 = 50;
const LOST_OWN_WINDOW: u64 = 6;
/// So few of the drops may be of nobody known, or of others: one in so many.
const UNKNOWN: usize = 50;
/// Payload of a full segment, bytes.
const SEGMENT: u64 = 1_448;
/// Part of the losses that must be known to be sent again, and of what left by the device that must be the transfers'.
const NEARLY: f64 = 0.9;
const MOST: f64 = 0.5;
/// Without these neither what was sent again nor an answer would be seen.
const NEEDED: [&str; 4] = [
    "tcp:tcp_retransmit_skb",
    "sock:sock_send_length",
    "sock:sock_recv_length",
    "net:net_dev_start_xmit",
];

/// Whether all of a group are such.
pub(super) fn finds_rate(facts: &Facts, group: &Group, rows: &[&DropRow]) -> bool {
    let by_chance = group.qdisc.as_deref() == Some("netem");
    if group.reason != QUEUE_FULL || by_chance || rows.is_empty() || !facts.gaps.is_empty() {
        return false;
    }
    let repaired = rows.iter().filter(|d| d.repair.is_some()).count() as f64;
    if repaired < NEARLY * rows.len() as f64 || not_recorded(facts, &NEEDED).is_some() {
        return false;
    }
    let of = |d: &&DropRow| d.owner.filter(|o| o.carries == Carries::Data)?.connection;
    let all: Vec<ConnectionId> = rows.iter().filter_map(of).collect();
    if rows.len().saturating_sub(all.len()).saturating_mul(UNKNOWN) > rows.len() {
        return false;
    }
    let mut lost: FxHashMap<ConnectionId, u64> = FxHashMap::default();
    for c in all {
        *lost.entry(c).or_default() += SEGMENT;
    }
    let row = |c: ConnectionId| facts.connections.get(c.0 as usize);
    let both: FxHashSet<ConnectionId> = (lost.keys())
        .flat_map(|c| [Some(*c), row(*c).and_then(|r| r.peer)])
        .flatten()
        .collect();
    // What both ends say before a transfer waits for none of its losses.
    let during = rows.first().map(|d| d.time_ns).zip(rows.last().map(|d| d.time_ns));
    let while_lost = |from: i64, to: i64| during.is_none_or(|(first, last)| from <= last && to >= first);
    let responses = facts.responses.iter();
    let responses = responses.filter(|r| while_lost(r.send_ns, r.read_ns));
    // What began before the first loss, and ends with the transfer's first bytes, is of what was said before.
    let turnarounds = facts.turnarounds.iter();
    let turnarounds = turnarounds.filter(|t| while_lost(t.start_ns(), t.start_ns()));
    let asked = responses.map(|r| r.connection).chain(turnarounds.map(|t| t.connection));
    let slow = |r: &&RetransmitRow| {
        !matches!(
            r.class,
            RetransmitClass::Fast | RetransmitClass::RackTimer | RetransmitClass::Tlp
        )
    };
    let slowly = facts.retransmits.iter().filter(slow).filter_map(|r| r.connection);
    let few = |(c, lost): (&ConnectionId, &u64)| {
        let own = facts.negotiated.get(c).and_then(|n| n.own_window) == Some(true);
        let part = if own { LOST_OWN_WINDOW } else { LOST };
        row(*c).is_some_and(|r| r.bytes_out >= BULK && lost.saturating_mul(part) <= r.bytes_out)
    };
    let theirs: u64 = lost
        .keys()
        .filter_map(|c| Some(row(*c)?.bytes_out))
        .fold(0, u64::saturating_add);
    let left = facts
        .xmits
        .iter()
        .filter(|p| p.started_ns.is_some() && p.dev.text() == group.dev);
    let left: u64 = left.filter_map(|p| p.bytes).map(u64::from).fold(0, u64::saturating_add);
    let fills = left > 0 && theirs as f64 >= MOST * left as f64;
    fills && lost.iter().all(few) && !asked.chain(slowly).any(|c| both.contains(&c))
}
