//! What each CPU ran lately.

use std::collections::VecDeque;

/// Slices of a CPU that are remembered: who ran instead of a thread that waited longer is asked of these alone.
const REMEMBERED: usize = 64;

/// One CPU.
#[derive(Debug, Default)]
pub struct CpuRuns {
    /// (since, thread), ascending; the last one runs.
    slices: VecDeque<(i64, i32)>,
    /// Threads woken on it while it was idle.
    pub leaving_idle: Vec<i32>,
    /// Its last event, in a walk of all events.
    pub last_ns: Option<i64>,
}

impl CpuRuns {
    /// The thread it runs, 0 the idle task.
    pub fn current(&self) -> Option<i32> {
        self.slices.back().map(|s| s.1)
    }
    /// It switches.
    pub fn switch(&mut self, ts: i64, next: i32) {
        if self.slices.len() >= REMEMBERED {
            self.slices.pop_front();
        }
        self.slices.push_back((ts, next));
    }
    /// The thread that had most of `[from, to)`; 0: the idle task.
    pub fn longest(&self, from: i64, to: i64) -> Option<i32> {
        let ends = self.slices.iter().skip(1).map(|s| s.0).chain([to]);
        let mut of: Vec<(i32, i64)> = vec![];
        let pieces = self.slices.iter().zip(ends).map(|((since, pid), end)| {
            let ns = end.min(to).saturating_sub((*since).max(from));
            (*pid, ns)
        });
        for (pid, ns) in pieces.filter(|(pid, ns)| *pid >= 0 && *ns > 0) {
            match of.iter_mut().find(|o| o.0 == pid) {
                Some(o) => o.1 = o.1.saturating_add(ns),
                None => of.push((pid, ns)),
            }
        }
        // Of equals a thread rather than nobody.
        of.into_iter().max_by_key(|o| (o.1, o.0 > 0)).map(|o| o.0)
    }
}
