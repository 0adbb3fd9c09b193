//! Which events feed the machine, CPU by CPU, and what the rows need from outside the CPU: names.

use netmortem_formats::Capture;
use netmortem_formats::tracepoints::irq_handler_entry::IrqHandlerEntry;
use netmortem_formats::tracepoints::irq_handler_exit::IrqHandlerExit;
use netmortem_formats::tracepoints::napi_poll::NapiPoll;
use netmortem_formats::tracepoints::sched_switch::SchedSwitch;
use netmortem_formats::tracepoints::sched_wakeup::SchedWakeup;
use netmortem_formats::tracepoints::sched_waking::SchedWaking;
use netmortem_formats::tracepoints::softirq_entry::SoftirqEntry;
use netmortem_formats::tracepoints::softirq_exit::SoftirqExit;
use netmortem_formats::tracepoints::softirq_raise::SoftirqRaise;
use rayon::prelude::*;

use super::away::{Away, Aways};
use super::squeeze::Limits;
use super::tables::{SoftirqRow, VECTORS};
use super::tracker::{OnCpu, Tells, is_softirq_thread};
use crate::ingest::{Event, Rec, Trace};
use crate::name::Name;
use crate::reconstruct::comms::Comms;
use crate::reconstruct::context::{BH_OFF, RunBy, Who};
use crate::reconstruct::dispatch::{Gaps, Machine, Routes, Tracker};

/// Records looked at for a sign of bottom halves off.
const LOOK: usize = 100_000;

/// Runs, walked CPU by CPU.
pub struct Softirqs<'t> {
    trace: &'t Trace<'t>,
    routes: Routes<OnCpu>,
    limits: Limits,
    tells: Tells,
    entry: Option<u16>,
}

impl<'t> Softirqs<'t> {
    /// Of a trace.
    pub fn new(trace: &'t Trace<'t>, capture: &Capture) -> Softirqs<'t> {
        let looked = 0..trace.recs.len().min(LOOK);
        Softirqs {
            trace,
            routes: routes(trace),
            limits: Limits::of(capture),
            tells: Tells {
                bh_off: looked
                    .into_iter()
                    .any(|i| trace.event(i).is_some_and(|e| e.flags & BH_OFF != 0)),
                irqs: trace.info.recorded("irq:irq_handler_entry"),
                polls: trace.info.recorded("napi:napi_poll"),
                raises: trace.info.recorded("irq:softirq_raise"),
                switches: trace.info.recorded("sched:sched_switch"),
            },
            entry: trace.schema.format("irq", "softirq_entry").map(|f| f.id),
        }
    }
    /// The machine of a CPU.
    pub fn on(&self, cpu: u16) -> Runs<'_> {
        Runs {
            routes: &self.routes,
            entry: self.entry,
            gaps: Gaps::of_cpu(self.trace, cpu),
            passed: None,
            cpu,
            machine: OnCpu::new(cpu, self.limits, self.tells),
        }
    }
    /// Rows in order of start, when their threads were away, and what the capture does not have.
    pub fn rows(self, of: Vec<OfCpu>, comms: &Comms) -> (Vec<SoftirqRow>, Aways, Vec<String>) {
        let (runs, away): (Vec<_>, Vec<_>) = of.into_iter().map(|of| (of.runs, (of.cpu, of.away))).unzip();
        let runs = runs.into_iter().flatten();
        let mut rows: Vec<SoftirqRow> = runs.map(|(row, who)| named(row, who, comms)).collect();
        rows.par_sort_by_key(|r| (r.start_ns, r.cpu));
        (rows, Aways::of(away), self.routes.missing)
    }
}

/// What was found on one CPU, without names.
pub struct OfCpu {
    cpu: u16,
    runs: Vec<(SoftirqRow, Who)>,
    away: Vec<Away>,
}

/// Follows one CPU.
pub struct Runs<'w> {
    routes: &'w Routes<OnCpu>,
    entry: Option<u16>,
    gaps: Gaps<'w>,
    /// The last record, when nobody looked at it.
    passed: Option<Rec>,
    cpu: u16,
    machine: OnCpu,
}

impl Runs<'_> {
    /// What it found.
    pub fn finish(self) -> OfCpu {
        let cpu = self.cpu;
        let (runs, away) = self.machine.finish();
        OfCpu { cpu, runs, away }
    }
}

impl Machine for Runs<'_> {
    fn wants(&self, kind: u16) -> bool {
        self.routes.wants(kind)
    }
    fn record(&mut self, trace: &Trace<'_>, r: &Rec, e: Option<&Event<'_>>) {
        let t = &mut self.machine;
        let passed = &mut self.passed;
        self.gaps.until(r.ts, |g| {
            *passed = None;
            t.gap(g);
        });
        if !t.waits() && !self.routes.wants(r.kind) {
            *passed = Some(*r);
            return;
        }
        if let Some(p) = passed.take() {
            t.passed(&trace.alone(&p));
        }
        let e = e.copied().unwrap_or_else(|| trace.alone(r));
        t.before(&e, Some(e.kind) == self.entry);
        self.routes.feed(trace, t, &e);
        t.after(&e);
    }
}

fn routes(trace: &Trace<'_>) -> Routes<OnCpu> {
    let mut routes = Routes::<OnCpu>::new("softirqs");
    let s = &trace.schema;
    routes.on::<IrqHandlerEntry<'static>>(s, |t, e, p| t.irq_entry(e, p.name));
    routes.on::<IrqHandlerExit<'static>>(s, |t, e, _| t.irq_exit(e));
    routes.on::<SoftirqRaise<'static>>(s, |t, e, p| t.raise(e, p.vec));
    routes.on::<SoftirqEntry<'static>>(s, |t, e, p| t.entry(e, p.vec));
    routes.on::<SoftirqExit<'static>>(s, |t, e, p| t.exit(e, p.vec));
    let needed = routes.missing.len();
    // Without these a wait is divided less finely; the trackers that need them say so.
    routes.on::<NapiPoll<'static>>(s, |t, e, p| t.poll(e, p.work, p.budget));
    routes.on::<SchedSwitch<'static>>(s, |t, e, p| {
        let runnable = p.prev_state & 0xff == 0;
        t.switch(e, (p.prev_pid, p.prev_comm, runnable), (p.next_pid, p.next_comm));
    });
    routes.on::<SchedWaking<'static>>(s, |t, _, p| t.wake(p.pid, p.comm));
    routes.on::<SchedWakeup<'static>>(s, |t, _, p| t.wake(p.pid, p.comm));
    routes.missing.truncate(needed);
    routes
}

/// The row with the names of its threads.
fn named(mut row: SoftirqRow, who: Who, comms: &Comms) -> SoftirqRow {
    row.comm = comms.at(row.pid, row.start_ns);
    if is_softirq_thread(row.comm.bytes()) {
        row.run_by = RunBy::Ksoftirqd;
    }
    if let Some(p) = &mut row.preempted {
        p.by = comms.ran(p.pid, row.start_ns);
    }
    if let Some(b) = &mut row.blame {
        b.who = match who {
            Who::Irq(name) => name,
            Who::Vector(v) => {
                let name = v.and_then(|v| VECTORS.get(v as usize));
                name.map_or(Name::default(), |n| Name::new(n.as_bytes()))
            }
            Who::Task(pid) => comms.at(pid, row.start_ns),
            Who::Nobody => Name::default(),
        };
    }
    row
}
