//! What came to who woke late answers, right before it did: a thread that hands on what a third host says, as a database's sender of its log that
//! lets commits go on when the standby has said so.
//!
//! Needs `turnarounds` (`woken_by`), `rx`, `connections`. Of answers whose threads slept until one thread woke them: nearly all were woken soon after that thread had
//! read what came on one connection, on which most of their time nothing had just come. It is told in order, and why they waited is inferred. Must not take for it: the connections
//! of these answers themselves; one on which something comes all the time.
//!
//! ```text
//! the waker's connection   read .................................... read, wakes
//! these answers                 readable | ...... asleep, until woken .......... | answer
//! ```

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::parts::Part;
use super::spans::Spans;
use super::{task, who_has};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::TurnaroundRow;

/// Shortest answers that are looked at, and how soon behind the read their threads are woken, ns.
const LEAST_NS: i64 = 50_000_000;
const SOON_NS: i64 = 10_000_000;
/// Fewest such answers, and times at which they were let go.
const ANSWERS: usize = 3;
const TIMES: usize = 2;
/// Part of them that were woken so soon; part of their time that is so soon behind a read, at most.
const NEARLY_ALL: f64 = 0.8;
const BESIDE: f64 = 0.25;
/// Parts of answers that are looked at: those that are said.
const PARTS: usize = 2;

/// What a waker had read.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct WakerRead {
    /// `address:port` from where it came.
    pub from: String,
    /// `task/thread` that has the other end; empty: not in the recording, or not known.
    pub by: String,
    /// Answers whose threads were woken right behind such a read.
    pub n: u64,
    /// Of so many that it woke.
    pub of: u64,
}

/// What those who woke late answers read: by thread, when and on which connection.
pub(super) struct WakerReads<'f> {
    facts: &'f Facts,
    reads: FxHashMap<i32, Vec<(i64, ConnectionId)>>,
}

impl<'f> WakerReads<'f> {
    pub(super) fn of(facts: &'f Facts) -> WakerReads<'f> {
        let late = facts
            .turnarounds
            .iter()
            .filter(|r| r.woken_by_pid != 0 && r.total_ns() >= LEAST_NS);
        let mut reads: FxHashMap<i32, Vec<(i64, ConnectionId)>> = late.map(|r| (r.woken_by_pid, vec![])).collect();
        if !reads.is_empty() {
            for r in &facts.rx {
                if let (Some(of), Some(c)) = (reads.get_mut(&r.pid), r.connection) {
                    of.push((r.start_ns.saturating_add(r.total_ns), c));
                }
            }
        }
        WakerReads { facts, reads }
    }

    /// Names it in the parts of these answers that one thread ended.
    pub(super) fn name(&self, parts: &mut [Part], rows: &[&TurnaroundRow]) {
        for part in parts.iter_mut().take(PARTS) {
            if part.woken_by.is_some() && part.ran_meanwhile.is_none() && part.waker_held.is_none() {
                part.waker_read = self.read_before(part, rows);
            }
        }
    }
}

impl WakerReads<'_> {
    fn read_before(&self, part: &Part, rows: &[&TurnaroundRow]) -> Option<WakerRead> {
        let facts = self.facts;
        let call = part.call.as_deref()?;
        let woken = |r: &&TurnaroundRow| r.woken_by_pid != 0 && r.total_ns() >= LEAST_NS && r.asleep_in.text() == call;
        let mut by: BTreeMap<i32, Vec<&TurnaroundRow>> = BTreeMap::new();
        for r in rows.iter().copied().filter(woken) {
            by.entry(r.woken_by_pid).or_default().push(r);
        }
        let (waker, late) = by.into_iter().max_by_key(|(_, of)| of.len())?;
        let name = late.first().map(|r| task(&r.woken_by, waker));
        if late.len() < ANSWERS || name != part.woken_by {
            return None;
        }
        let own: BTreeSet<ConnectionId> = late.iter().map(|r| r.connection).collect();
        let mut reads: BTreeMap<ConnectionId, Vec<i64>> = BTreeMap::new();
        for (at, c) in self.reads.get(&waker)?.iter().filter(|(_, c)| !own.contains(c)) {
            reads.entry(*c).or_default().push(*at);
        }
        let stood = Spans::of(late.iter().map(|r| (r.start_ns(), r.send_ns)).collect());
        let whole = stood.sum();
        let of = |(c, mut at): (ConnectionId, Vec<i64>)| {
            at.sort_unstable();
            // Before the thread was woken, not only before its answer.
            let before = |ns: i64| {
                at.partition_point(|t| *t <= ns)
                    .checked_sub(1)
                    .and_then(|n| at.get(n))
                    .copied()
            };
            let soon =
                |r: &&&TurnaroundRow| before(r.woken_at_ns).filter(|t| r.woken_at_ns.saturating_sub(*t) <= SOON_NS);
            let hits: Vec<i64> = late.iter().filter_map(|r| soon(&r)).collect();
            let times: BTreeSet<i64> = hits.iter().copied().collect();
            let windows = Spans::of(at.iter().map(|t| (*t, t.saturating_add(SOON_NS))).collect());
            let within = windows.common(&stood);
            let chance = within as f64 / whole.max(1) as f64;
            let told = hits.len() as f64 >= NEARLY_ALL * late.len() as f64 && times.len() >= TIMES && chance <= BESIDE;
            told.then_some((hits.len() as u64, c))
        };
        let (n, c) = reads
            .into_iter()
            .filter_map(of)
            .max_by_key(|(n, c)| (*n, std::cmp::Reverse(*c)))?;
        let row = facts.connections.get(c.0 as usize)?;
        Some(WakerRead {
            from: row.remote()?.to_string(),
            by: who_has(facts, row.peer),
            n,
            of: late.len() as u64,
        })
    }
}
