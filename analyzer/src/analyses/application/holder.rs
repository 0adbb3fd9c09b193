//! Who woke late answers was itself asleep in state D meanwhile: who holds a lock and waits for a disk makes all others wait.
//!
//! Needs `turnarounds` (`held_ns`, `woken_by`). Of answers whose threads waited in no recorded call until another thread woke them: how long that one, for an answer of
//! its own that was under way then, slept in state D; and the one that it waited for, and so on, since each queues behind the one before. In half or more of the
//! waiting it is told. Must not take for one: a thread that only hands work on, which has no such answer.
//!
//! ```text
//! this answer      readable | ........ waits, until woken ........... | answer
//! its waker           readable | ... state D (fdatasync) ... wakes ^ | answer
//! ```

use rustc_hash::FxHashMap;

use super::parts::Part;
use crate::facts::Facts;
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::thread::{STOPPED, TRACED, UNRECORDED};

/// Shortest answers that are looked at, ns.
const LEAST_NS: i64 = 10_000_000;
/// Part of the waiting.
const MOSTLY: f64 = 0.5;
/// How many wait for one another.
const QUEUE: usize = 8;
/// Parts of answers that are looked at: those that are said.
const PARTS: usize = 2;
/// Answers of a thread that are looked at for one that overlaps: the last before.
const BACK: usize = 8;

/// Answers by the thread that sent them, in order.
pub(super) struct Holders<'f>(FxHashMap<i32, Vec<&'f TurnaroundRow>>);

impl<'f> Holders<'f> {
    pub(super) fn of(facts: &'f Facts) -> Holders<'f> {
        let mut by: FxHashMap<i32, Vec<&TurnaroundRow>> = FxHashMap::default();
        let long = || facts.turnarounds.iter().filter(|r| r.total_ns() >= LEAST_NS);
        // Without one that slept so, nobody waited for it.
        if long().any(|r| r.held_ns > 0) {
            long().for_each(|r| by.entry(r.sender_pid).or_default().push(r));
        }
        by.values_mut().for_each(|of| of.sort_by_key(|r| r.send_ns));
        Holders(by)
    }

    /// Says, in the parts of these that another thread ended, in how much of it that one was in state D.
    pub(super) fn name(&self, parts: &mut [Part], rows: &[&TurnaroundRow]) {
        if self.0.is_empty() {
            return;
        }
        for part in parts.iter_mut().take(PARTS).filter(|p| p.lock()) {
            let waited = rows.iter().filter(|r| r.asleep_in.text() == UNRECORDED);
            let ns = waited.fold(0i64, |ns, r| ns.saturating_add(self.in_state_d(r)));
            let share = ns as f64 / part.ns.max(1) as f64;
            part.waker_in_state_d = (share >= MOSTLY).then_some(share.min(1.0));
        }
    }

    /// How much of its wait those that it waited for, one behind the other, slept in state D, ns.
    fn in_state_d(&self, row: &TurnaroundRow) -> i64 {
        let own = |h: &&TurnaroundRow| !std::ptr::eq(*h, row) && overlap(h, row) > 0;
        let (mut holder, mut ns, mut until) = (self.holder(row).filter(own), 0i64, row.send_ns);
        for _ in 0..QUEUE {
            let Some(h) = holder else { break };
            let waited = h.asleep_in.text() == UNRECORDED;
            let before = self.holder(h).filter(|b| waited && own(b));
            // It had the lock from when the one before it was done, until it was.
            let from = before.map_or(h.start_ns(), |b| b.send_ns).max(row.start_ns());
            if ![STOPPED, TRACED].contains(&h.asleep_in.text().as_ref()) {
                let had = h.send_ns.min(until).saturating_sub(from).max(0);
                ns = ns.saturating_add(h.held_ns.min(had));
            }
            (holder, until) = (before, from.min(until));
        }
        ns.min(row.woken_by_ns)
    }

    /// The answer that the one who woke this had under way: of several the one that overlaps longest.
    fn holder(&self, row: &TurnaroundRow) -> Option<&'f TurnaroundRow> {
        let of = self.0.get(&row.woken_by_pid)?;
        // What it sent last before the end of the wait may be sent just behind it.
        let from = of.partition_point(|r| r.send_ns <= row.start_ns());
        let near = of.get(from..)?.iter().take(BACK).copied();
        near.filter(|r| overlap(r, row) > 0).max_by_key(|r| overlap(r, row))
    }
}

fn overlap(a: &TurnaroundRow, b: &TurnaroundRow) -> i64 {
    let (from, to) = (a.start_ns().max(b.start_ns()), a.send_ns.min(b.send_ns));
    to.saturating_sub(from)
}
