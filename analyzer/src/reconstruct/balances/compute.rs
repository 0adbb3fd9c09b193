//! The sums.

use std::collections::BTreeMap;

use super::tables::{BalanceKind, BalanceRow};
use crate::confidence::Confidence;
use crate::facts::ConnectionId;
use crate::reconstruct::lineage::tables::Conserved;
use crate::reconstruct::lineage::{Unit, UnitKind};
use crate::reconstruct::receive::tables::{RxEnd, RxRow};
use crate::reconstruct::tcp::tables::ConnectionRow;

type Sums = BTreeMap<(BalanceKind, Option<ConnectionId>), BalanceRow>;

/// All balances, by kind and socket. `lost`: events were lost, so nothing that spans the recording is sure to add up.
pub fn compute(units: &[Unit], connections: &[ConnectionRow], rx: &[RxRow], lost: bool) -> Vec<BalanceRow> {
    let mut sums = Sums::new();
    for u in units {
        of_unit(&mut sums, u);
    }
    fifos(&mut sums, connections, rx, lost);
    sums.into_values().collect()
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
            r.because = "the length of a part is not known";
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

/// What arrived was read, or waits. Only where both ends of the queue are recorded.
fn fifos(sums: &mut Sums, connections: &[ConnectionRow], rx: &[RxRow], lost: bool) {
    let mut waiting: BTreeMap<ConnectionId, (u64, bool)> = BTreeMap::new();
    for r in rx.iter().filter(|r| r.end == RxEnd::Queued) {
        if let (Some(c), Some(bytes)) = (r.connection, r.bytes) {
            let of = waiting.entry(c).or_default();
            of.0 += u64::from(bytes);
            of.1 |= r.confidence < Confidence::Strong;
        }
    }
    for c in connections {
        let Some(read) = c.bytes_read else { continue };
        if c.bytes_in == 0 && read == 0 {
            continue;
        }
        let (left, unsure) = waiting.get(&c.connection).copied().unwrap_or_default();
        let r = row(sums, BalanceKind::CoalesceFifo, Some(c.connection));
        r.units = 1;
        (r.bytes_expected, r.bytes_found) = (c.bytes_in, read + left);
        r.unexplained_bytes = c.bytes_in.abs_diff(read + left);
        r.matched = u64::from(r.unexplained_bytes == 0);
        r.confidence = match (lost, unsure) {
            (true, _) => Confidence::Unknown,
            (_, true) => Confidence::Weak,
            _ => Confidence::Strong,
        };
        r.because = match (lost, r.bytes_expected.cmp(&r.bytes_found)) {
            (_, std::cmp::Ordering::Equal) => "",
            (true, _) => "events were lost: arrivals or reads may be missing",
            (_, std::cmp::Ordering::Less) => {
                "more was read than tcp_probe showed: it is silent in the handshake, in closing states, and for what the backlog merged"
            }
            (_, std::cmp::Ordering::Greater) => {
                "more arrived than was read: duplicates that TCP trimmed, or reads without events"
            }
        };
    }
}
