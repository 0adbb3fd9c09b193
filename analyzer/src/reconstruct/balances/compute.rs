//! The sums.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::sent;
use super::tables::{BalanceKind, BalanceRow};
use crate::confidence::Confidence;
use crate::facts::ConnectionId;
use crate::reconstruct::lineage::tables::Conserved;
use crate::reconstruct::lineage::{Unit, UnitKind};
use crate::reconstruct::receive::StreamBytes;
use crate::reconstruct::tcp::states::{ESTABLISHED, SYN_RECV, SYN_SENT};
use crate::reconstruct::tcp::tables::{ConnectionRow, SampleRow};
use crate::reconstruct::transmit::tables::TxRow;

/// `data_len` of tcp_probe has 16 bits: a difference of exact multiples of this is its, whatever else could be.
const PROBED_MODULO: u64 = 65_536;

/// First states of sockets whose begin was seen.
const BEGINS: [i32; 3] = [SYN_SENT, SYN_RECV, ESTABLISHED];

type Sums = BTreeMap<(BalanceKind, Option<ConnectionId>), BalanceRow>;

/// What the balances are made of.
pub struct Inputs<'f> {
    /// Heads and packets cut.
    pub units: &'f [Unit],
    /// Sockets.
    pub connections: &'f [ConnectionRow],
    /// What the receive ledger counted, by socket.
    pub streams: &'f FxHashMap<ConnectionId, StreamBytes>,
    /// tcp_probe, by time.
    pub samples: &'f [SampleRow],
    /// What was sent.
    pub tx: &'f [TxRow],
    /// Events were lost: nothing that spans the recording is sure to add up.
    pub lost: bool,
    /// Pointers tell which frames are whose: probes name sockets, and originals lie at a known distance from clones.
    pub named: bool,
    /// All frames that leave were recorded: without them there is nothing to compare what was sent with.
    pub frames: bool,
}

/// All balances, by kind and socket.
pub fn compute(i: &Inputs<'_>) -> Vec<BalanceRow> {
    let mut sums = Sums::new();
    for u in i.units {
        of_unit(&mut sums, u);
    }
    fifos(&mut sums, i.connections, i.streams, i.lost);
    if i.frames {
        payloads(&mut sums, i);
    }
    sums.into_values().collect()
}

/// What snd_nxt advanced by from one probe to the next was sent in between.
fn payloads(sums: &mut Sums, i: &Inputs<'_>) {
    sent::windows(
        i.samples,
        i.tx,
        |_| None,
        |w| {
            let r = row(sums, BalanceKind::TxPayload, Some(w.connection));
            let found = w.found();
            r.units += 1;
            r.bytes_expected += w.advanced;
            r.bytes_found += found;
            let apart = w.advanced.abs_diff(found);
            r.unexplained_bytes += apart;
            r.matched += u64::from(apart == 0);
            let unsized_frames = w.unsized_frames();
            r.confidence = r.confidence.min(match (i.lost || w.none, unsized_frames || !i.named) {
                (true, _) => Confidence::Unknown,
                (_, true) => Confidence::Weak,
                _ => Confidence::Strong,
            });
            if apart > 0 {
                r.because = match (i.lost, unsized_frames) {
                    (true, _) => "events were lost: frames or probes may be missing",
                    (_, true) => "the payload of some frames is not known",
                    _ => "frames of this socket were not recognised, or are another's",
                };
            }
        },
    );
}

/// Share of a socket's received bytes that its FIFO does not explain; `None` when that was not compared.
pub fn unexplained(balances: &[BalanceRow], connection: ConnectionId) -> Option<f64> {
    let key = (BalanceKind::CoalesceFifo, Some(connection));
    let at = balances.binary_search_by_key(&key, |b| (b.kind, b.connection)).ok()?;
    let b = balances.get(at)?;
    (b.confidence > Confidence::Unknown).then(|| b.unexplained_bytes as f64 / b.bytes_expected.max(1) as f64)
}

fn row(sums: &mut Sums, kind: BalanceKind, connection: Option<ConnectionId>) -> &mut BalanceRow {
    sums.entry((kind, connection)).or_insert_with(|| BalanceRow {
        kind,
        connection,
        bytes_expected: 0,
        bytes_found: 0,
        unexplained_bytes: 0,
        units: 0,
        matched: 0,
        confidence: Confidence::Certain,
        because: "",
    })
}

fn of_unit(sums: &mut Sums, u: &Unit) {
    let (kind, because) = match u.kind {
        UnitKind::GroHead => (
            BalanceKind::GroHead,
            "a head grew by other bytes than the packets taken for its members had",
        ),
        UnitKind::GsoChildren => (
            BalanceKind::GsoChildren,
            "the frames taken for a packet's segments had other bytes than it",
        ),
    };
    let r = row(sums, kind, u.connection);
    if u.conserved == Conserved::Unknown {
        // Counted, not compared: nothing is known to be missing.
        r.units += 1;
        r.confidence = r.confidence.min(Confidence::Strong);
        if r.because.is_empty() {
            r.because = u.why.of_unit();
        }
        return;
    }
    r.units += 1;
    r.bytes_expected += u.expected;
    r.bytes_found += u.found;
    r.unexplained_bytes += u.expected.abs_diff(u.found);
    match u.conserved {
        Conserved::Yes => r.matched += 1,
        _ => r.because = because,
    }
}

/// What arrived was read, or waits. Reads are counted by `sock_recv_length`; where there is none, by copies, which are not
/// independent of the queue.
fn fifos(sums: &mut Sums, connections: &[ConnectionRow], streams: &FxHashMap<ConnectionId, StreamBytes>, lost: bool) {
    for c in connections {
        let Some(s) = streams.get(&c.connection) else { continue };
        let expected = s.arrived.saturating_sub(s.dropped);
        let read = c.bytes_read.unwrap_or(s.copied);
        let found = read + s.waiting;
        if expected == 0 && found == 0 {
            continue;
        }
        let lost = lost || s.cut;
        // What lay unread when the recording began is read later.
        let older = found > expected && !c.born.is_some_and(|state| BEGINS.contains(&state));
        let r = row(sums, BalanceKind::CoalesceFifo, Some(c.connection));
        r.units = 1;
        (r.bytes_expected, r.bytes_found) = (expected, found);
        r.unexplained_bytes = expected.abs_diff(found);
        r.matched = u64::from(r.unexplained_bytes == 0);
        r.confidence = match (lost || older, c.bytes_read) {
            (true, _) => Confidence::Unknown,
            (_, None) => Confidence::Weak,
            _ => Confidence::Strong,
        };
        r.because = match (lost, expected.cmp(&found)) {
            (_, Ordering::Equal) => "",
            (true, _) => "events were lost, or the recording began later: arrivals or reads may be missing",
            _ if older => "older than the recording: what lay unread in it then was read, too",
            _ if c.bytes_read.is_none() => {
                "no event counts what was read: copies alone, of skbs that may never have been seen to arrive"
            }
            (_, Ordering::Less) if (found - expected) % PROBED_MODULO == 0 => {
                "tcp_probe keeps 16 bits of a length: segments that the backlog merged to more than 128 KiB count less by 65536 each"
            }
            (_, Ordering::Less) => {
                "more was read than tcp_probe showed: it is silent in the handshake, in closing states, and for what the backlog merged"
            }
            (_, Ordering::Greater) => {
                "more arrived than was read: duplicates that TCP trimmed, or reads without events"
            }
        };
    }
}
