//! Data that TCP kept back though nothing was missing before it: its socket is only woken for so many bytes (SO_RCVLOWAT).
//!
//! Needs read units of `rx` (readable only when a later segment was announced: the stage `out_of_order`; `ready`, where ACKs say that nothing was missing), `connections` of both ends, `retransmits`, `drops`. Told where the
//! sender is in the recording, sent nothing on that connection again but tail loss probes, and nothing of it was dropped: then no segment was missing.
//! Who is not woken does not read, and his ACKs are delayed, so that a sender probes. net/ipv4/tcp_input.c `tcp_data_ready` announces nothing below the mark.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::counters::tables::risen;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::receive::tables::{RxRow, Stage};
use crate::reconstruct::tcp::tables::RetransmitClass;
use crate::stat::nearest_rank;

/// Shortest time that is told, ns, and fewest units.
const HELD_NS: i64 = 10_000_000;
const FEWEST: usize = 5;
/// What the kernel counts of segments that came behind a hole.
const REORDERED: &str = "TcpExtTCPOFOQueue";

/// The socket with most of that time.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LowWater {
    /// Its end.
    pub at: String,
    /// `task/thread` that reads it.
    pub task: String,
    /// Units that were kept back.
    pub units: u64,
    /// For how long, median.
    pub held_ns: i64,
    /// The longest.
    pub longest_ns: i64,
}

/// Of all read units.
pub(super) fn low_water(facts: &Facts, read: &[&RxRow]) -> Option<LowWater> {
    let mut by: BTreeMap<ConnectionId, Vec<&RxRow>> = BTreeMap::new();
    for r in read {
        if let Some(c) = r.connection {
            by.entry(c).or_default().push(r);
        }
    }
    let held = |r: &RxRow| {
        let ready = r.stage(Stage::Ready).filter(|ns| *ns >= HELD_NS);
        r.stage(Stage::OutOfOrder)
            .unwrap_or(0)
            .saturating_add(ready.unwrap_or(0))
    };
    let dropped: FxHashSet<ConnectionId> = facts
        .drops
        .iter()
        .filter(|d| d.expected != Some(true))
        .filter_map(|d| d.owner?.connection)
        .collect();
    let whole = |c: ConnectionId| {
        let row = facts.connections.get(c.0 as usize)?;
        let peer = facts.connections.get(row.peer?.0 as usize)?;
        let mut again = facts
            .retransmits
            .iter()
            .filter(|r| r.connection == Some(peer.connection));
        let missed = again.any(|r| r.class != RetransmitClass::Tlp);
        let known = peer.retransmits.is_some() && facts.capture.recorded("skb:kfree_skb");
        (known && !missed && !dropped.contains(&c) && !dropped.contains(&peer.connection)).then_some(row)
    };
    let sum = |of: &[&RxRow]| of.iter().fold(0i64, |sum, r| sum.saturating_add(held(r)));
    let all = sum(read);
    let (c, units) = by
        .into_iter()
        .filter(|_| facts.gaps.is_empty())
        .max_by_key(|(_, of)| sum(of))?;
    let row = whole(c)?;
    let mut long: Vec<i64> = units.iter().map(|r| held(r)).filter(|ns| *ns >= HELD_NS).collect();
    // Segments that came behind a hole, of whatever socket: where fewer than were kept back, these were not.
    let reordered = risen(&facts.counters, REORDERED).is_some_and(|n| n >= long.len() as u64);
    if long.len() < FEWEST || reordered || sum(&units) < all / 2 {
        return None;
    }
    Some(LowWater {
        at: row.local().map(|a| a.to_string()).unwrap_or_default(),
        task: match row.pid {
            0 => String::new(),
            pid => format!("{}/{pid}", row.task.text()),
        },
        units: long.len() as u64,
        longest_ns: long.iter().copied().max()?,
        held_ns: nearest_rank(&mut long, 50)?,
    })
}
