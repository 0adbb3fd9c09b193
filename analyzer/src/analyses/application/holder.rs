//! Who woke late answers was itself asleep in state D meanwhile: who holds a lock and waits for a disk makes all others wait.
//!
//! Needs `turnarounds` (`asleep_in`, `woken_by`). Of answers whose threads waited in no recorded call until another thread woke them: whether that one
//! had an answer of its own under way that slept in state D most of its time, or waited for a third that did (each queues behind the one before). In half or more
//! of that waiting it is told. Must not take for one: a thread that only hands work on, which has no such answer.
//!
//! ```text
//! this answer      readable | ........ waits, until woken ........... | answer
//! its waker           readable | ... state D (fdatasync) ... wakes ^ | answer
//! ```

use rustc_hash::FxHashMap;

use super::parts::Part;
use crate::facts::Facts;
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::thread::{UNINTERRUPTIBLE, UNRECORDED};

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
        // Without one that slept so, nobody waited for it.
        if facts.turnarounds.iter().any(in_state_d) {
            for r in facts.turnarounds.iter().filter(|r| r.total_ns() >= LEAST_NS) {
                by.entry(r.sender_pid).or_default().push(r);
            }
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
            let waited = rows
                .iter()
                .filter(|r| r.asleep_in.text() == UNRECORDED && self.in_vain(r));
            let ns = waited.fold(0i64, |ns, r| ns.saturating_add(r.woken_by_ns));
            let share = ns as f64 / part.ns.max(1) as f64;
            part.waker_in_state_d = (share >= MOSTLY).then_some(share.min(1.0));
        }
    }

    /// Whether it waited for one in state D, by others or not.
    fn in_vain(&self, row: &TurnaroundRow) -> bool {
        let mut waits = row;
        for _ in 0..QUEUE {
            let Some(holder) = self.holder(waits) else { return false };
            if in_state_d(holder) {
                return true;
            }
            if holder.asleep_in.text() != UNRECORDED {
                return false;
            }
            waits = holder;
        }
        false
    }

    /// The answer that the one who woke this had under way: of several the one that overlaps longest.
    fn holder(&self, row: &TurnaroundRow) -> Option<&'f TurnaroundRow> {
        let of = self.0.get(&row.woken_by_pid)?;
        // What it sent last before the end of the wait may be sent just behind it.
        let from = of.partition_point(|r| r.send_ns <= row.start_ns());
        let overlap = |r: &TurnaroundRow| {
            let (from, to) = (r.start_ns().max(row.start_ns()), r.send_ns.min(row.send_ns));
            to.saturating_sub(from)
        };
        let near = of.get(from..)?.iter().take(BACK).copied();
        near.filter(|r| overlap(r) > 0).max_by_key(|r| overlap(r))
    }
}

fn in_state_d(r: &TurnaroundRow) -> bool {
    r.asleep_in.text() == UNINTERRUPTIBLE && r.asleep_in_ns.saturating_mul(2) >= r.total_ns()
}
