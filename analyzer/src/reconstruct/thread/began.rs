//! Since when every switch of every CPU is told. A thread that is woken, of which no event told before, has slept since then at the latest: it would
//! have left its CPU otherwise.
//!
//! ```text
//! first sched_switch of each CPU; the last of them: from here on ──── no event of 7 ──── sched_waking of 7      7 slept
//! ```
//! The first switch is taken since perf and trace-cmd switch events on one CPU after the other; whoever runs then was named by one. Not where events were
//! lost, where switches are missing (`unseen.rs`), nor where only some CPUs or threads were recorded. Who had been about to sleep and did not run again is on a run queue,
//! which nothing tells.

use std::collections::BTreeSet;

/// First switches; by itself it never says anything.
#[derive(Debug, Default)]
pub struct Began {
    /// CPUs of which none was told yet.
    left: BTreeSet<u16>,
    last: Option<i64>,
}

impl Began {
    /// Of a recording of these CPUs; those that come later count no switch.
    pub fn of(cpus: &[u16]) -> Began {
        Began {
            left: cpus.iter().copied().collect(),
            last: None,
        }
    }
    /// A switch.
    #[inline]
    pub fn switch(&mut self, cpu: u16, ts: i64) {
        if !self.left.is_empty() && self.left.remove(&cpu) && self.left.is_empty() {
            self.last = Some(ts);
        }
    }
    /// Events were lost: nothing is certain from then on.
    pub fn lose(&mut self) {
        *self = Began::default();
    }
    /// The moment, where it is before this one.
    pub fn before(&self, ts: i64) -> Option<i64> {
        self.last.filter(|last| *last < ts)
    }
}
