//! How many events lie between two times, on a CPU or of a thread.

use rustc_hash::FxHashMap;

use super::cost::per_event;
use crate::ingest::{Rec, Trace};

/// Counts events and says what they cost. Costs 4 bytes per event (8 while it is built).
pub struct Observer<'t> {
    trace: &'t Trace<'t>,
    /// Positions in the merged order by thread.
    of_thread: FxHashMap<i32, Vec<u32>>,
    per_event: Option<i64>,
}

/// Where in records in order of time those at or behind `ts` begin. Where times go back it is one of several places.
fn first_at(records: &[Rec], ts: i64) -> usize {
    records.partition_point(|r| r.ts < ts)
}

impl<'t> Observer<'t> {
    /// Of a trace.
    pub fn new(trace: &'t Trace<'t>) -> Observer<'t> {
        let (per_event, of_thread) = rayon::join(|| per_event(trace), || threads(trace));
        Observer {
            trace,
            of_thread,
            per_event,
        }
    }
    /// ns that one event adds; `None` when the recording does not tell.
    pub fn per_event_ns(&self) -> Option<i64> {
        self.per_event
    }
    /// Events on a CPU in `[from, to)`.
    pub fn on_cpu(&self, cpu: u16, from: i64, to: i64) -> u64 {
        let count = |s: &[Rec]| first_at(s, to).saturating_sub(first_at(s, from)) as u64;
        self.trace.recs.of_cpu(cpu).map(count).sum()
    }
    /// Events while a thread ran, interrupts on top of it included, in `[from, to)`.
    pub fn of_thread(&self, pid: i32, from: i64, to: i64) -> u64 {
        let Some(of) = self.of_thread.get(&pid) else { return 0 };
        let before = |i: &u32, ts: i64| self.trace.recs.get(*i as usize).is_some_and(|r| r.ts < ts);
        let at = |ts: i64| of.partition_point(|i| before(i, ts));
        at(to).saturating_sub(at(from)) as u64
    }
    /// What so many events cost, ns; `None` when the recording does not tell what one costs.
    pub fn ns(&self, events: u64) -> Option<i64> {
        let n = i64::try_from(events).unwrap_or(i64::MAX);
        self.per_event.map(|ns| ns.saturating_mul(n))
    }
}

/// Positions of each thread's events; idle has none.
fn threads(trace: &Trace<'_>) -> FxHashMap<i32, Vec<u32>> {
    let mut of: FxHashMap<i32, Vec<u32>> = FxHashMap::default();
    for e in trace.events(|_| true).filter(|e| e.pid > 0) {
        of.entry(e.pid).or_default().push(e.index);
    }
    of
}
