//! Switches that no `sched_switch` told: some kernels record none where a CPU leaves idle (seen on a 6.18 guest, on its
//! second CPU), and recordings filtered by thread lack most of them.
//!
//! The chain shows it: a switch away from a thread that its CPU was not running. Only then are all events walked. Every
//! event names the thread its CPU runs; the first one of another thread says that the CPU switched, and not before the
//! event in front of it. Between the two nothing is known of either thread.
//!
//! ```text
//! switch to idle ── sched_wakeup of 7 (thread 0) ─ ? ─ sys_exit (thread 7)      7: IdleExit, Unknown, Running
//!                   └ still idle ────────────────┘   └ running at the latest
//! ```

use super::states::Threads;
use super::timeline::State;
use crate::ingest::Trace;
use crate::reconstruct::dispatch::{Gaps, Routes, Tracker};

/// Reads the trace again, with every event.
pub fn read(trace: &Trace<'_>, routes: &Routes<Threads>) -> Threads {
    let mut threads = Threads::default();
    let mut gaps = Gaps::of(trace.gaps.iter().collect());
    for e in trace.events(|_| true) {
        gaps.until(e.ts, |g| threads.gap(g));
        threads.seen(e.ts, e.cpu.into(), e.pid);
        routes.feed(trace, &mut threads, &e);
    }
    gaps.rest(|g| threads.gap(g));
    threads
}

impl Threads {
    /// A switch away from `prev`: counted when its CPU ran another thread before, as far as events tell.
    pub(super) fn follows(&mut self, cpu: usize, prev: i32) {
        let current = self.cpu(cpu).and_then(|c| c.current());
        self.unseen += u64::from(current.is_some_and(|c| c != prev));
    }
    /// An event of a CPU while it runs `pid`.
    fn seen(&mut self, ts: i64, cpu: usize, pid: i32) {
        let Some(c) = self.cpu(cpu).filter(|_| pid >= 0) else {
            return;
        };
        let (current, before) = (c.current(), c.last_ns.replace(ts));
        let Some(left) = current.filter(|c| *c != pid) else {
            return;
        };
        self.unseen += 1;
        let before = before.unwrap_or(ts);
        self.end_wait(before, pid, Some(left));
        for thread in [left, pid] {
            if let Some(t) = self.of.get_mut(&thread).filter(|_| thread > 0) {
                t.timeline.push(before, State::Unknown);
            }
        }
        self.run(ts, cpu, left, pid);
    }
}
