//! The machine and its question.

use netmortem_formats::tracepoints::sched_switch::SchedSwitch;
use netmortem_formats::tracepoints::sched_wakeup::SchedWakeup;
use netmortem_formats::tracepoints::sched_wakeup_new::SchedWakeupNew;
use netmortem_formats::tracepoints::sched_waking::SchedWaking;
use rustc_hash::FxHashMap;

use crate::ingest::{GapRow, Trace};
use crate::reconstruct::dispatch::{Routes, Tracker};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Unknown,
    Running,
    Runnable,
    Waking,
    Asleep,
}

/// An interval divided by thread state; the parts sum to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Split {
    /// Asleep.
    pub asleep_ns: i64,
    /// Woken, not yet runnable.
    pub waking_ns: i64,
    /// Runnable, not running.
    pub runnable_ns: i64,
    /// Running.
    pub running_ns: i64,
    /// No event tells.
    pub unknown_ns: i64,
}

/// State changes of all threads.
#[derive(Debug, Default)]
pub struct Threads {
    changes: FxHashMap<i32, Vec<(i64, State)>>,
    /// Merged intervals in which events of some CPU were lost.
    gaps: Vec<(i64, i64)>,
    /// Why states may be missing.
    pub missing: Vec<String>,
}

impl Tracker for Threads {
    fn gap(&mut self, gap: &GapRow) {
        self.gaps
            .push((gap.start_ns.unwrap_or(i64::MIN), gap.end_ns.unwrap_or(i64::MAX)));
    }
}

impl Threads {
    /// Reads the trace.
    pub fn read(trace: &Trace<'_>) -> Threads {
        let mut routes = Routes::<Threads>::new("threads");
        let s = &trace.schema;
        routes.on::<SchedSwitch<'static>>(s, |t, e, p| {
            let left = if p.prev_state & 0xff == 0 {
                State::Runnable
            } else {
                State::Asleep
            };
            t.change(p.prev_pid, e.ts, left);
            t.change(p.next_pid, e.ts, State::Running);
        });
        routes.on::<SchedWaking<'static>>(s, |t, e, p| t.wake(p.pid, e.ts, State::Waking));
        routes.on::<SchedWakeup<'static>>(s, |t, e, p| t.wake(p.pid, e.ts, State::Runnable));
        routes.on::<SchedWakeupNew<'static>>(s, |t, e, p| t.wake(p.pid, e.ts, State::Runnable));
        let mut threads = Threads::default();
        routes.run(trace, &mut threads);
        threads.missing = routes.missing;
        threads.gaps.sort_unstable();
        threads.gaps.dedup_by(|next, kept| {
            let joins = next.0 <= kept.1;
            if joins {
                kept.1 = kept.1.max(next.1);
            }
            joins
        });
        threads
    }
    fn change(&mut self, pid: i32, ts: i64, state: State) {
        if pid > 0 {
            self.changes.entry(pid).or_default().push((ts, state));
        }
    }
    /// A wake-up of a thread that has not left its CPU changes nothing.
    fn wake(&mut self, pid: i32, ts: i64, state: State) {
        let of = self.changes.entry(pid).or_default();
        match of.last().map(|c| c.1) {
            Some(State::Running | State::Runnable) => {}
            Some(s) if s == state => {}
            _ => of.push((ts, state)),
        }
    }
    /// Divides `[from, to)` of a thread by state.
    pub fn split(&self, pid: i32, from: i64, to: i64) -> Split {
        let mut out = Split::default();
        let Some(of) = self.changes.get(&pid).filter(|_| to > from) else {
            return Split {
                unknown_ns: to - from,
                ..out
            };
        };
        let first = of.partition_point(|c| c.0 <= from);
        let mut at = from;
        let mut i = first;
        while at < to {
            let (since, state) = i
                .checked_sub(1)
                .and_then(|i| of.get(i))
                .copied()
                .unwrap_or((i64::MIN, State::Unknown));
            // Where times of a CPU go back, a change may lie before the one it follows.
            let end = of.get(i).map_or(to, |c| c.0.min(to).max(at));
            // What was lost after `since` may have changed the state.
            let g = self.gaps.partition_point(|g| g.1 <= since);
            let sure = self.gaps.get(g).map_or(end, |g| g.0.clamp(at, end));
            let slot = match state {
                State::Unknown => &mut out.unknown_ns,
                State::Running => &mut out.running_ns,
                State::Runnable => &mut out.runnable_ns,
                State::Waking => &mut out.waking_ns,
                State::Asleep => &mut out.asleep_ns,
            };
            *slot += sure - at;
            out.unknown_ns += end - sure;
            at = end;
            i += 1;
        }
        out
    }
}
