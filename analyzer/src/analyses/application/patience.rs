//! Requests that were closed without an answer where others of their kind are held as long by design, or always take as long: long polls, and a tab that was closed.
//!
//! Needs `responses`, `connections`, `tx`. No event tells what a request asks for: how long it is stands for its kind. Inferred. Must not be said of a server that stands still (what else was asked meanwhile is answered late, too), of a kind that
//! has fast answers as well or stood once (all its answers end at one moment, or in one part of the recording), of who waits no longer for any, of more than were answered.
//!
//! ```text
//! same program, server, length:   ask ────────────────────── answer    nearly all take longer, as many as were closed at least, through much of the recording
//!                                 ask ───────── close                  this one left
//! others at that server:               ask ─ answer   ask ─ answer     while it waited: it does not stand still
//! ```
//! What the server's threads did meanwhile is asked where it is told (`verdict::left_early`).

use std::collections::BTreeMap;

use super::asked_bytes::asked_bytes;
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::opens::tables::End;
use crate::stat::nearest_rank;

/// Fewest of them that were answered, at moments so far apart, ns: what one held up together comes together.
const LEAST: usize = 5;
const APART_NS: i64 = 100_000_000;
/// Part of them that took longer than any that was closed.
const NEARLY: f64 = 0.9;
/// From the first of their answers to the last: one part in so many of the recording, at least; none can come before it was held.
const THROUGH: i64 = 3;
/// An answer to what else was asked meanwhile is soon in one part in so many of that time. Most of them must be, for nearly all that were closed.
const SOON: i64 = 10;
const MOST: f64 = 0.5;
/// The longest of those closed is at most one part in so many longer than the shortest: of one kind.
const ALIKE: u64 = 16;

/// One that was closed: begin, close, bytes.
pub(super) type Closed = (i64, i64, u64);

/// Those of their kind that were answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patience {
    /// How many.
    pub answered: u64,
    /// Their median, ns.
    pub p50_ns: i64,
    /// Of them, those that took longer than any that was closed.
    pub longer: u64,
    /// Shortest and longest of those closed, bytes.
    pub bytes: (u64, u64),
}

/// Begin, end, bytes of an answer's request.
type Asked = (i64, i64, u64);

/// Answers, by who asked whom.
pub(super) struct Answers {
    by: BTreeMap<(Name, End), Vec<Asked>>,
    /// Of all programs, by begin.
    of: BTreeMap<End, Vec<(i64, i64)>>,
    duration_ns: i64,
}

impl Answers {
    pub(super) fn of(facts: &Facts) -> Answers {
        let answered = facts.responses.iter().filter(|r| !r.overlap);
        let sends = asked_bytes(facts, answered.map(|r| (r.connection, r.send_ns)));
        let mut out = Answers {
            by: BTreeMap::new(),
            of: BTreeMap::new(),
            duration_ns: facts.capture.duration_ns,
        };
        for r in facts.responses.iter().filter(|r| !r.overlap) {
            let Some(row) = facts.connections.get(r.connection.0 as usize) else {
                continue;
            };
            let Some(address) = row.daddr else { continue };
            let end = (address.to_canonical(), row.dport);
            out.of.entry(end).or_default().push((r.send_ns, r.read_ns));
            // What was sent in several calls has no length here.
            let bytes = sends.get(&(r.connection, r.send_ns)).filter(|_| r.sends <= 1);
            if let Some(bytes) = bytes {
                let of = out.by.entry((row.task, end)).or_default();
                of.push((r.send_ns, r.read_ns, *bytes));
            }
        }
        out.of.values_mut().for_each(|of| of.sort_unstable());
        out
    }

    /// Whether these were left by who did not want to wait for as long as such take.
    pub(super) fn patience(&self, task: Name, end: End, closed: &[Closed]) -> Option<Patience> {
        let longest = closed.iter().map(|c| c.1.saturating_sub(c.0)).max()?;
        let bytes = (closed.iter().map(|c| c.2).min()?, closed.iter().map(|c| c.2).max()?);
        let alike = bytes.1.saturating_sub(bytes.0) <= bytes.0 / ALIKE && bytes.0 > 0;
        let kind = self.by.get(&(task, end)).into_iter().flatten();
        let kind: Vec<_> = kind.filter(|a| (bytes.0..=bytes.1).contains(&a.2)).collect();
        let mut took: Vec<i64> = kind.iter().map(|a| a.1.saturating_sub(a.0)).collect();
        let longer = took.iter().filter(|ns| **ns > longest).count();
        let mut ends: Vec<i64> = kind.iter().map(|a| a.1).collect();
        ends.sort_unstable();
        let far = ends
            .windows(2)
            .filter(|w| matches!(w, [a, b] if b.saturating_sub(*a) >= APART_NS));
        let moments = far.count() + 1;
        let through = ends.last()?.saturating_sub(*ends.first()?);
        let held = longer >= LEAST.max(closed.len())
            && longer as f64 >= NEARLY * kind.len() as f64
            && moments >= LEAST
            && through.saturating_mul(THROUGH) >= self.duration_ns;
        if !alike || !held {
            return None;
        }
        let others = self.of.get(&end)?;
        let beside = |c: &&Closed| {
            let soon = c.1.saturating_sub(c.0) / SOON;
            let from = others.partition_point(|a| a.0 < c.0);
            let within = others.get(from..).unwrap_or_default();
            let within = || within.iter().take_while(|a| a.0 <= c.1);
            let in_time = within().filter(|a| a.1.saturating_sub(a.0) <= soon).count();
            in_time > 0 && in_time as f64 >= MOST * within().count() as f64
        };
        let works = closed.iter().filter(beside).count() as f64 >= NEARLY * closed.len() as f64;
        works.then(|| Patience {
            answered: kind.len() as u64,
            p50_ns: nearest_rank(&mut took, 50).unwrap_or(0),
            longer: longer as u64,
            bytes,
        })
    }
}
