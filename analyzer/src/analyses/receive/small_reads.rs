//! Readers that take a few bytes with each call of packets that carry far more.
//!
//! Needs `sock_recv_length` (`reads`), `rx`. Told of a reader that is behind: half of what it read waited a millisecond or more.

use super::super::units::Units;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::receive::tables::RxRow;
use crate::stat::Distribution;

/// Most bytes of half of the calls, and of a call on average: who reads a short head and then a body reads more.
const TINY: u32 = 16;
/// So many times as much half of the packets carry at least.
const MORE: u32 = 16;
/// Fewest calls that matter.
const LEAST: u64 = 1_000;
/// Half of what was read waited that long, ns.
const BEHIND_NS: i64 = 1_000_000;

/// A reader of a few bytes a call.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct SmallReads {
    /// `task/thread`.
    pub task: String,
    /// Its socket, as in the view `connections`.
    pub connection: u32,
    /// `saddr:sport > daddr:dport`.
    pub label: String,
    /// Calls that took something.
    pub calls: u64,
    /// Median bytes of a call.
    pub p50_bytes: u32,
    /// Median bytes that a packet (after GRO) brought it.
    pub packet_bytes: u32,
}

/// The one with most calls.
pub(super) fn small_reads(facts: &Facts, units: &Units<'_, RxRow>) -> Option<SmallReads> {
    let tiny = facts.reads.iter().filter_map(|(c, r)| {
        let p50 = r.p50_bytes().filter(|n| *n <= TINY)?;
        (r.calls >= LEAST && r.bytes / r.calls.max(1) <= TINY.into()).then_some((*c, r.calls, p50))
    });
    let behind = tiny.filter_map(|(c, calls, p50)| {
        let packet = packet_of_one_behind(units, c)?;
        (packet >= p50.saturating_mul(MORE)).then_some((c, calls, p50, packet))
    });
    let (c, calls, p50_bytes, packet_bytes) = behind.max_by_key(|(c, calls, ..)| (*calls, std::cmp::Reverse(*c)))?;
    let row = facts.connections.get(c.0 as usize)?;
    Some(SmallReads {
        task: format!("{}/{}", row.task.text(), row.pid),
        connection: c.0,
        label: crate::analyses::tcp::label(row),
        calls,
        p50_bytes,
        packet_bytes,
    })
}

/// Median bytes of what a connection's reader got, where half of it waited long.
fn packet_of_one_behind(units: &Units<'_, RxRow>, c: ConnectionId) -> Option<u32> {
    let of: Vec<&&RxRow> = units.rows().iter().filter(|r| r.connection == Some(c)).collect();
    let waited = Distribution::of(of.iter().map(|r| r.total_ns).collect(), 0);
    let mut bytes: Vec<u32> = of.iter().filter_map(|r| r.bytes).collect();
    bytes.sort_unstable();
    let median = bytes.get(bytes.len() / 2).copied();
    median.filter(|_| waited.p50_ns.is_some_and(|ns| ns >= BEHIND_NS))
}
