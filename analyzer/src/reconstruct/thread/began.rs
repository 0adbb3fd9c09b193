//! Since when every switch of every CPU is told. A thread that is woken, of which no event told before, has slept since then at the latest: it would
//! have left its CPU otherwise.
//!
//! ```text
//! first sched_switch of each CPU; the last of them: from here on ──── no event of 7 ──── sched_waking of 7      7 slept
//! ```
//! The first switch is taken since perf and trace-cmd switch events on one CPU after the other; whoever runs then was named by one. Not where events were
//! lost, where switches are missing (`unseen.rs`), nor where only some CPUs or threads were recorded. Who had been about to sleep and did not run again is on a run queue,
//! which nothing tells.

/// First switches; by itself it never says anything.
#[derive(Debug, Default)]
pub struct Began {
    of: Vec<bool>,
    left: usize,
    last: Option<i64>,
}

impl Began {
    /// Of a recording of so many CPUs.
    pub fn of(cpus: usize) -> Began {
        Began {
            left: cpus,
            ..Began::default()
        }
    }
    /// A switch.
    #[inline]
    pub fn switch(&mut self, cpu: u16, ts: i64) {
        if self.left == 0 {
            return;
        }
        let cpu = usize::from(cpu);
        if self.of.len() <= cpu {
            self.of.resize(cpu + 1, false);
        }
        let Some(seen) = self.of.get_mut(cpu).filter(|seen| !**seen) else {
            return;
        };
        *seen = true;
        self.left -= 1;
        if self.left == 0 {
            self.last = Some(ts);
        }
    }
    /// Events were lost: nothing is certain from then on.
    pub fn lose(&mut self) {
        (self.left, self.last) = (0, None);
    }
    /// The moment, where it is before this one.
    pub fn before(&self, ts: i64) -> Option<i64> {
        self.last.filter(|last| *last < ts)
    }
}
