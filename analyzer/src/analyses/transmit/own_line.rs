//! Small messages that lay in their own socket behind a large one: head-of-line blocking in the send buffer.
//!
//! Needs `tx`, whose segments carry the begin of the send call that wrote their first byte. A stream leaves in the order in which it was written, so what is written while a large
//! message has not left waits for all of it, however idle the line is for others.
//!
//! ```text
//! send(1.2 MB) ──> segments leave as the window, pacing and the line let them ───────────────┐
//!      send(90 B) ·················· unsent, behind the rest of the large one ··············· ┴─> leaves
//! ```

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::analyses::tcp::label;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::transmit::tables::{TxKind, TxRow, TxStart};
use crate::stat::Distribution;

/// Payload of a call from which it is a large message, and up to which it is a small one.
const LARGE: u64 = 65_536;
const SMALL: u64 = 1_448;
/// Wait from which a small one is late, ns, and the fewest of them.
const LATE_NS: i64 = 100_000_000;
const FEWEST: u64 = 5;

/// Of one connection.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct OwnLine {
    /// `saddr:sport > daddr:dport`.
    pub label: String,
    /// Task that wrote the small ones.
    pub task: String,
    /// From the send call of each late one until it left.
    pub wait: Distribution,
    /// Large messages that they lay behind.
    pub large: u64,
    /// Payload of these, median, bytes.
    pub large_bytes: i64,
    /// From the begin of their send call until their last segment left, median, ns.
    pub large_ns: i64,
}

/// A send call.
#[derive(Debug, Clone, Copy, Default)]
struct Call {
    bytes: u64,
    /// When its last segment left.
    left_ns: i64,
}

fn of_connection(rows: &[&TxRow]) -> (Vec<i64>, Vec<(i64, Call)>) {
    let mut calls: BTreeMap<i64, Call> = BTreeMap::new();
    for r in rows {
        let of = calls.entry(r.start_ns).or_default();
        of.bytes = of.bytes.saturating_add(r.bytes.unwrap_or(0).into());
        of.left_ns = of.left_ns.max(r.t_sched_ns);
    }
    let (mut waits, mut behind): (Vec<i64>, BTreeMap<i64, Call>) = (vec![], BTreeMap::new());
    let mut large: Option<(i64, Call)> = None;
    for (at, call) in &calls {
        if call.bytes >= LARGE {
            large = Some((*at, *call));
            continue;
        }
        let wait = call.left_ns.saturating_sub(*at);
        // It was written while the large one had not left.
        let of = large.filter(|(_, l)| l.left_ns > *at && call.bytes <= SMALL && wait >= LATE_NS);
        if let Some((from, of)) = of {
            waits.push(wait);
            behind.insert(from, of);
        }
    }
    (waits, behind.into_iter().collect())
}

/// The connection most of whose small messages were late so.
pub(super) fn own_line(facts: &Facts) -> Option<OwnLine> {
    let data = |t: &&TxRow| t.kind == TxKind::Tcp && t.start == TxStart::Sendmsg && t.confidence.is_solid();
    let mut by: FxHashMap<ConnectionId, Vec<&TxRow>> = FxHashMap::default();
    for t in facts.tx.iter().filter(data) {
        if let Some(c) = t.connection {
            by.entry(c).or_default().push(t);
        }
    }
    let found = by.into_iter().map(|(c, rows)| {
        let (waits, behind) = of_connection(&rows);
        (waits.len(), c, waits, behind, rows)
    });
    let (n, c, waits, behind, rows) = found.max_by_key(|f| (f.0, std::cmp::Reverse(f.1)))?;
    let middle = |mut of: Vec<i64>| crate::stat::nearest_rank(&mut of, 50).unwrap_or(0);
    (n as u64 >= FEWEST).then(|| OwnLine {
        label: facts.connections.get(c.0 as usize).map_or_else(String::new, label),
        task: rows.first().map_or_else(String::new, |t| t.task.text().into_owned()),
        wait: Distribution::of(waits, 0),
        large: behind.len() as u64,
        large_bytes: middle(
            behind
                .iter()
                .map(|(_, l)| i64::try_from(l.bytes).unwrap_or(i64::MAX))
                .collect(),
        ),
        large_ns: middle(behind.iter().map(|(at, l)| l.left_ns.saturating_sub(*at)).collect()),
    })
}
