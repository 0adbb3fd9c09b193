//! Small messages that lay in their own socket behind a large one: head-of-line blocking in the send buffer.
//!
//! Needs `behind`, of the transmit side. A stream leaves in the order in which it was written, so what is written while a large message has not left
//! waits for all of it, however idle the line is for others.
//!
//! ```text
//! send(1.2 MB) ──> segments leave as the window, pacing and the line let them ───────────────┐
//!      send(90 B) ·················· unsent, behind the rest of the large one ··············· ┴─> leaves
//! ```

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::analyses::tcp::label;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::transmit::BehindRow;
use crate::stat::{Distribution, nearest_rank};

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
    /// From the send call of each late one until the large one had left.
    pub wait: Distribution,
    /// Of these, those of which it is less certain when they left.
    pub unsure: u64,
    /// Large messages that they lay behind.
    pub large: u64,
    /// Payload of these, median, bytes.
    pub large_bytes: i64,
    /// From the begin of their send call until their last segment left, median, ns.
    pub large_ns: i64,
}

/// The connection with most small messages that were late so.
pub(super) fn own_line(facts: &Facts) -> Option<OwnLine> {
    // A send that was lost would be a message of another length.
    if !facts.gaps.is_empty() {
        return None;
    }
    // What it waits for when the large one has left is not that one.
    let wait = |r: &BehindRow| r.left_ns.min(r.large_left_ns).saturating_sub(r.at_ns);
    let mut by: FxHashMap<ConnectionId, Vec<&BehindRow>> = FxHashMap::default();
    for r in facts.behind.iter().filter(|r| wait(r) >= LATE_NS) {
        by.entry(r.connection).or_default().push(r);
    }
    let (c, rows) = by.into_iter().max_by_key(|(c, of)| (of.len(), std::cmp::Reverse(*c)))?;
    let large: BTreeMap<i64, &BehindRow> = rows.iter().map(|r| (r.large_at_ns, *r)).collect();
    let of_large = |value: fn(&BehindRow) -> i64| {
        let mut all: Vec<i64> = large.values().map(|r| value(r)).collect();
        nearest_rank(&mut all, 50).unwrap_or(0)
    };
    (rows.len() as u64 >= FEWEST).then(|| OwnLine {
        label: facts.connections.get(c.0 as usize).map_or_else(String::new, label),
        task: rows.first().map_or_else(String::new, |r| r.task.text().into_owned()),
        wait: Distribution::of(rows.iter().map(|r| wait(r)).collect(), 0),
        unsure: rows.iter().filter(|r| !r.confidence.is_solid()).count() as u64,
        large: large.len() as u64,
        large_bytes: of_large(|r| i64::try_from(r.large_bytes).unwrap_or(i64::MAX)),
        large_ns: of_large(|r| r.large_left_ns.saturating_sub(r.large_at_ns)),
    })
}
