//! Machines of one CPU in one walk of its records: the events of a few records are fetched at once, and once for all machines.

use super::{Gaps, Routes, Tracker};
use crate::ingest::{Event, Rec, Trace};

/// What follows one CPU.
pub trait Machine {
    /// Whether it has a handler for events of an id.
    fn wants(&self, kind: u16) -> bool;
    /// The next record, and its event when any machine of the walk wants that.
    fn record(&mut self, trace: &Trace<'_>, r: &Rec, e: Option<&Event<'_>>);
}

/// Walks the records of a CPU once for all machines.
pub fn on_cpu(trace: &Trace<'_>, cpu: u16, machines: &mut [&mut dyn Machine]) {
    let wanted: Vec<bool> = (0..=u16::MAX).map(|k| machines.iter().any(|m| m.wants(k))).collect();
    let wants = |kind: u16| wanted.get(usize::from(kind)).copied().unwrap_or(false);
    let mut events: Vec<Event<'_>> = Vec::new();
    trace.some_of_cpu(cpu, |records| {
        events.clear();
        events.extend(records.iter().filter(|r| wants(r.kind)).map(|r| trace.alone(r)));
        let mut next = events.iter();
        for r in records {
            let e = if wants(r.kind) { next.next() } else { None };
            machines.iter_mut().for_each(|m| m.record(trace, r, e));
        }
    });
}

/// A machine that looks at the events of its routes and at nothing else.
pub struct Routed<'r, T> {
    routes: &'r Routes<T>,
    gaps: Gaps<'r>,
    /// The machine.
    pub machine: T,
}

impl<'r, T: Tracker> Routed<'r, T> {
    /// Of one CPU.
    pub fn new(trace: &'r Trace<'_>, cpu: u16, routes: &'r Routes<T>, machine: T) -> Routed<'r, T> {
        Routed {
            routes,
            gaps: Gaps::of_cpu(trace, cpu),
            machine,
        }
    }
}

impl<T: Tracker> Machine for Routed<'_, T> {
    fn wants(&self, kind: u16) -> bool {
        self.routes.wants(kind)
    }
    fn record(&mut self, trace: &Trace<'_>, r: &Rec, e: Option<&Event<'_>>) {
        if let Some(e) = e.filter(|e| self.routes.wants(e.kind)) {
            self.gaps.until(r.ts, |g| self.machine.gap(g));
            self.routes.feed(trace, &mut self.machine, e);
        }
    }
}
