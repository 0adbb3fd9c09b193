//! Holes in what came: data that TCP held because something before it was missing, on connections whose peer is not in the recording.
//!
//! A hole lasts from the first segment held to the one that fills it. The peer learns of it by our ACK, so what it sends again for that cannot come
//! sooner than a round trip after: a hole of which something was held for about that long or longer was lost on the way here and sent again;
//! one filled sooner came late or in another order. Inferred: no event tells of a packet that did not come.
//!
//! Needs `rx`, `tcp_samples` (the fastest round trip to that address).
//!
//! ```text
//! segment ... (missing) segment held ... segment held ........ the missing one
//!                       |<------------- hole -------------------->|
//! ```

use std::collections::BTreeMap;
use std::net::IpAddr;

use rustc_hash::FxHashMap;

use crate::counters::tables::{refused, risen};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::receive::tables::{RxRow, Stage};
use crate::stat::nearest_rank;

/// Part of the fastest round trip, of ten, from which a hole was filled by a segment sent again: a smoothed round trip is rarely the fastest.
const OF_RTT: i64 = 7;
/// Fewest holes that are told.
const LEAST: u64 = 3;
/// Connections told.
const TOLD: usize = 10;

/// Holes in what one connection received.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Holes {
    /// As in the view `connections`.
    pub connection: u32,
    /// `daddr:dport > saddr:sport`: from the peer to here.
    pub label: String,
    /// Payload received, bytes.
    pub bytes: u64,
    /// Units received.
    pub units: u64,
    /// Holes that were filled a round trip or more after something behind them had come.
    pub lost: u64,
    /// Their median length, ns.
    pub lost_p50_ns: Option<i64>,
    /// Time in which there was such a hole, ns.
    pub lost_ns: i64,
    /// Packets of this connection that were dropped by this host.
    pub dropped: u64,
    /// Packets that were dropped by this host, by its events or the counters of its devices, of which it is not known whose they were;
    /// `None`: drops were not recorded.
    pub dropped_unknown: Option<u64>,
    /// Holes that were filled sooner.
    pub late: u64,
    /// The fastest round trip to that address, ns.
    pub rtt_ns: i64,
    /// When the first of all began, ns since the start of the recording.
    pub first_ns: i64,
    /// When the last began.
    pub last_ns: i64,
}

/// One hole: from, to, and the longest that a unit behind it was held.
#[derive(Debug, Clone, Copy)]
struct Hole {
    from: i64,
    to: i64,
    held: i64,
}

/// When a unit began to be held, and for how long.
fn held(r: &RxRow) -> Option<(i64, i64)> {
    let ns = r.stage(Stage::OutOfOrder).filter(|ns| *ns > 0)?;
    let before = Stage::ALL.into_iter().take_while(|s| *s != Stage::OutOfOrder);
    let before = before.fold(r.start_ns, |at, s| at.saturating_add(r.stage(s).unwrap_or(0)));
    Some((before, ns))
}

/// Overlapping holds are one hole.
fn holes(mut of: Vec<(i64, i64)>) -> Vec<Hole> {
    of.sort_unstable();
    let mut all: Vec<Hole> = vec![];
    for (from, ns) in of {
        let to = from.saturating_add(ns);
        match all.last_mut() {
            Some(last) if from <= last.to => {
                last.to = last.to.max(to);
                last.held = last.held.max(ns);
            }
            _ => all.push(Hole { from, to, held: ns }),
        }
    }
    all
}

/// The fastest smoothed round trip to each address, ns.
fn round_trips(facts: &Facts) -> BTreeMap<IpAddr, i64> {
    let mut by: BTreeMap<IpAddr, i64> = BTreeMap::new();
    for s in facts.tcp_samples.iter().filter(|s| s.srtt_us > 0) {
        let to = facts.connections.get(s.connection.0 as usize).and_then(|c| c.daddr);
        if let Some(to) = to {
            let ns = i64::from(s.srtt_us).saturating_mul(1000);
            by.entry(to).and_modify(|least| *least = ns.min(*least)).or_insert(ns);
        }
    }
    by
}

/// Packets lost on this host by connection, and those of which nothing tells whose they were.
fn dropped_here(facts: &Facts) -> (FxHashMap<ConnectionId, u64>, Option<u64>) {
    let mut by: FxHashMap<ConnectionId, u64> = FxHashMap::default();
    let mut unknown = 0u64;
    for d in facts.drops.iter().filter(|d| d.expected == Some(false)) {
        match d.owner.as_ref().and_then(|o| o.connection) {
            Some(c) => *by.entry(c).or_insert(0) += 1,
            None => unknown += 1,
        }
    }
    let counted = refused(&facts.counters, |source, name| match source {
        "softnet" => name == "dropped",
        "dev" | "nic" => name.contains("rx") && ["drop", "err", "miss"].iter().any(|w| name.contains(w)),
        _ => false,
    });
    let recorded = facts.capture.recorded("skb:kfree_skb");
    (by, recorded.then(|| unknown.max(counted)))
}

/// Those with most time in which something lost was missing first.
pub(super) fn of_connections(facts: &Facts) -> Vec<Holes> {
    let mut by: FxHashMap<ConnectionId, Vec<(i64, i64)>> = FxHashMap::default();
    for r in facts.rx.iter().filter(|r| r.confidence.is_solid()) {
        if let Some((c, held)) = r.connection.zip(held(r)) {
            by.entry(c).or_default().push(held);
        }
    }
    by.retain(|_, of| of.len() as u64 >= LEAST);
    if by.is_empty() {
        return vec![];
    }
    let rtts = round_trips(facts);
    let mut sums: FxHashMap<ConnectionId, (u64, u64)> = by.keys().map(|c| (*c, (0, 0))).collect();
    for r in &facts.rx {
        if let Some((units, bytes)) = r.connection.and_then(|c| sums.get_mut(&c)) {
            *units += 1;
            *bytes = bytes.saturating_add(r.bytes.unwrap_or(0).into());
        }
    }
    let start = facts.capture.start_ns.unwrap_or(0);
    let (dropped_by, dropped_unknown) = dropped_here(facts);
    let counted = risen(&facts.counters, "TcpExtTCPOFOQueue");
    let told = |(c, of): (ConnectionId, Vec<(i64, i64)>)| {
        let row = facts.connections.get(c.0 as usize)?;
        let there = row.daddr?;
        if row.peer.is_some() {
            return None;
        }
        let rtt_ns = *rtts.get(&there)?;
        let of = holes(of);
        let (lost, late): (Vec<Hole>, Vec<Hole>) = of
            .iter()
            .partition(|h| h.held.saturating_mul(10) >= rtt_ns.saturating_mul(OF_RTT));
        let mut lengths: Vec<i64> = lost.iter().map(|h| h.to.saturating_sub(h.from)).collect();
        let (units, bytes) = sums.get(&c).copied().unwrap_or_default();
        // With SO_RCVLOWAT, data is held though nothing is missing; what came out of order the kernel counts.
        let n = of.len() as u64;
        (n >= LEAST && counted.is_none_or(|counted| counted >= n)).then(|| Holes {
            connection: c.0,
            label: crate::analyses::tcp::label_from_peer(row),
            bytes,
            units,
            lost: lost.len() as u64,
            lost_ns: lengths.iter().fold(0, |sum, ns| i64::saturating_add(sum, *ns)),
            lost_p50_ns: nearest_rank(&mut lengths, 50),
            dropped: dropped_by.get(&c).copied().unwrap_or(0),
            dropped_unknown,
            late: late.len() as u64,
            rtt_ns,
            first_ns: of.first().map_or(0, |h| h.from.saturating_sub(start)),
            last_ns: of.last().map_or(0, |h| h.from.saturating_sub(start)),
        })
    };
    let mut all: Vec<Holes> = by.into_iter().filter_map(told).collect();
    all.sort_by_key(|h| (std::cmp::Reverse((h.lost_ns, h.late)), h.connection));
    all.truncate(TOLD);
    all
}

#[cfg(test)]
mod tests;
