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
use crate::ingest::{Stretch, Trace};
use crate::reconstruct::dispatch::{Gaps, Routes, Tracker};

/// Reads the trace again, with every event; the payloads only of those that have a handler; `threads` knows nothing yet.
pub fn read(trace: &Trace<'_>, routes: &Routes<Threads>, mut threads: Threads) -> Threads {
    let mut gaps = Gaps::of(trace.gaps.iter().collect());
    let mut running = Running::default();
    for (position, place) in trace.recs.places().enumerate() {
        let Some(r) = trace.recs.at(place) else { continue };
        gaps.until(r.ts, |g| threads.gap(g));
        threads.seen(r.ts, r.cpu.into(), running.at(&trace.stretches, r.cpu, place));
        if routes.wants(r.kind)
            && let Some(e) = trace.event(position)
        {
            routes.feed(trace, &mut threads, &e);
        }
    }
    gaps.rest(|g| threads.gap(g));
    threads
}

/// Where the records of each CPU are in the stretches.
#[derive(Default)]
struct Running(Vec<usize>);

impl Running {
    /// The thread that a record names; -1 when not recorded.
    #[inline]
    fn at(&mut self, stretches: &[Stretch], cpu: u16, place: u32) -> i32 {
        let cpu = usize::from(cpu);
        if self.0.len() <= cpu {
            self.0.resize(cpu + 1, 0);
        }
        let Some(at) = self.0.get_mut(cpu) else { return -1 };
        let holds = |s: &&Stretch| s.from <= place && place < s.to;
        if let Some(s) = stretches.get(*at).filter(holds) {
            return s.pid;
        }
        // The next one, unless several streams are of that CPU.
        *at += 1;
        if stretches.get(*at).is_none_or(|s| !holds(&s)) {
            *at = stretches.partition_point(|s| s.to <= place);
        }
        stretches.get(*at).filter(holds).map_or(-1, |s| s.pid)
    }
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
