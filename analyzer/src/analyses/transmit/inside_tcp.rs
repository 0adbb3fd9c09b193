//! A tunnel of a program (tun) whose packets all go through one TCP connection: what is lost of that one holds up all connections inside.
//!
//! Needs `by_program` (who gave packets to a device and took them from it), `processes`, `connections`, `tx` (who sent on the device), `halts`. A process is
//! such a tunnel when it moved packets both ways, and one TCP connection has most of its bytes and, each way, at least those of the packets and not many more: these are
//! then most likely inside (inferred). Told where losses held that connection up. Where events were lost nothing is told. Must not take for one: a tunnel over UDP, a program that
//! emulates a line between two devices, a virtual machine's with a disk on the network, a VPN's server with several clients, of which none has most.
//!
//! ```text
//! connections inside ─> tun0 ─> read() program send() ─> one TCP connection ─> its peer's recv() write() ─> tun0 ─> connections inside
//! ```

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analyses::tcp::as_opened;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::skb::Traffic;
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::reconstruct::transmit::Stage;

/// Fewest packets each way.
const FEWEST: u64 = 10;
/// Part of the process' bytes that the one connection must have.
const MOSTLY: f64 = 2.0 / 3.0;
/// What it may have besides: a part of the packets' bytes, of each packet, and in all (handshakes, keepalives).
const FRAMED_PART: u64 = 2;
const FRAMED_EACH: u64 = 150;
const FRAMED_ALL: u64 = 65_536;

/// Such a tunnel.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct InsideTcp {
    /// Its device.
    pub dev: String,
    /// Task that moves its packets.
    pub task: String,
    /// The connection that they go through, as who opened it writes it: `10.0.0.3:40000 > 10.0.0.1:1194`.
    pub label: String,
    /// Packets that it moved on this host, both ways.
    pub packets: u64,
    /// Segments of that connection that this host sent again, of both its ends where both are in the recording.
    pub again: u64,
    /// Of its packets: TCP connections, and of these such of which segments were sent again, and these segments; `None`: not known, or another
    /// tunnel has the device's name.
    pub inside: Option<Inside>,
}

/// What went through it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Inside {
    /// TCP connections; one of which both ends are here is one.
    pub connections: u64,
    /// Of these, such that sent again.
    pub sent_again: u64,
    /// Segments that they sent again.
    pub segments: u64,
}

/// What both sides of a socket moved: written, read.
fn moved(c: &ConnectionRow) -> (u64, u64) {
    (
        c.bytes_written.unwrap_or(c.bytes_out),
        c.bytes_read.unwrap_or(c.bytes_in),
    )
}

/// One number for both ends.
fn pair(c: &ConnectionRow) -> ConnectionId {
    c.peer.map_or(c.connection, |p| p.min(c.connection))
}

/// Segments that a socket sent again.
fn again(c: &ConnectionRow) -> Option<u64> {
    c.retransmit_segments.or(c.retransmits)
}

/// Sockets that carry a device's packets, and these.
type Found<'f> = BTreeMap<(Name, Option<ConnectionId>), (Option<&'f ConnectionRow>, u64)>;

/// The connection of a process that carries these packets.
fn carrier<'f>(of: &[&'f ConnectionRow], gave: Traffic, took: Traffic) -> Option<&'f ConnectionRow> {
    let both = |c: &ConnectionRow| moved(c).0.saturating_add(moved(c).1);
    let all = of.iter().fold(0u64, |sum, c| sum.saturating_add(both(c)));
    let most = of.iter().max_by_key(|c| (both(c), std::cmp::Reverse(c.connection)))?;
    let (written, read) = moved(most);
    let most_of_it = both(most) as f64 >= MOSTLY * all as f64;
    let framed = |bytes: u64, of: Traffic| {
        let each = of.packets.saturating_mul(FRAMED_EACH).saturating_add(FRAMED_ALL);
        let most = of.bytes.saturating_add(of.bytes / FRAMED_PART).saturating_add(each);
        (of.bytes..=most).contains(&bytes)
    };
    (most_of_it && framed(written, took) && framed(read, gave)).then_some(*most)
}

/// The one whose connection sent most again.
pub(super) fn inside_tcp(facts: &Facts) -> Option<InsideTcp> {
    if facts.by_program.is_empty() || !facts.gaps.is_empty() {
        return None;
    }
    let mut by: BTreeMap<(Name, i32), (Traffic, Traffic)> = BTreeMap::new();
    for r in &facts.by_program {
        let (gave, took) = by.entry((r.dev, facts.process(r.pid))).or_default();
        (*gave, *took) = (gave.and(r.gave), took.and(r.took));
    }
    let mut sockets: FxHashMap<i32, Vec<&ConnectionRow>> = FxHashMap::default();
    for c in facts.connections.iter().filter(|c| c.pid > 0) {
        sockets.entry(facts.process(c.pid)).or_default().push(c);
    }
    // By device and connection: the socket, its packets. Of devices that no such connection carries: none.
    let mut found: Found<'_> = BTreeMap::new();
    for ((dev, process), (gave, took)) in by {
        let enough = gave.packets.min(took.packets) >= FEWEST;
        let of = sockets.get(&process).filter(|_| enough);
        let of = of.and_then(|of| carrier(of, gave, took));
        let (first, packets) = found.entry((dev, of.map(pair))).or_default();
        *first = first.or(of);
        *packets = packets.saturating_add(gave.and(took).packets);
    }
    let of_name = |dev: Name| found.keys().filter(|(d, _)| *d == dev).count();
    let tunnels = found.iter().filter_map(|((dev, _), (row, packets))| {
        let row = (*row)?;
        let peer = row.peer.and_then(|p| facts.connections.get(p.0 as usize));
        // A probe of a tail that had arrived holds up nobody.
        let lost = |c: ConnectionId| {
            facts
                .halts
                .get(&c)
                .is_some_and(|of| of.iter().any(|h| h.by == Stage::Recovery))
        };
        if !(lost(row.connection) || row.peer.is_some_and(lost)) {
            return None;
        }
        let again = again(row)?.saturating_add(peer.and_then(again).unwrap_or(0));
        Some((*dev, row, *packets, again))
    });
    let (dev, row, packets, again) = tunnels
        .filter(|t| t.3 > 0)
        .max_by_key(|(dev, row, _, again)| (*again, std::cmp::Reverse((row.connection, *dev))))?;
    Some(InsideTcp {
        dev: dev.text().into_owned(),
        task: row.task.text().into_owned(),
        label: as_opened(row),
        packets,
        again,
        inside: (of_name(dev) == 1).then(|| inside(facts, dev)).flatten(),
    })
}

/// The connections whose segments were sent on the device.
fn inside(facts: &Facts, dev: Name) -> Option<Inside> {
    let sent = facts.tx.iter().filter(|r| r.dev == dev);
    let sockets: FxHashSet<ConnectionId> = sent.filter_map(|r| r.connection).collect();
    let mut by: BTreeMap<ConnectionId, u64> = BTreeMap::new();
    for c in sockets.iter().filter_map(|c| facts.connections.get(c.0 as usize)) {
        let of = by.entry(pair(c)).or_default();
        *of = of.saturating_add(again(c)?);
    }
    (!by.is_empty()).then(|| Inside {
        connections: by.len() as u64,
        sent_again: by.values().filter(|n| **n > 0).count() as u64,
        segments: by.values().fold(0, |sum, n| sum.saturating_add(*n)),
    })
}
