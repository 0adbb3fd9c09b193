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

use super::squeeze::Limits;
use super::tables::{SoftirqRow, VECTORS};
use super::tracker::{OnCpu, Tells, is_ksoftirqd};
use crate::ingest::Trace;
use crate::name::Name;
use crate::reconstruct::comms::Comms;
use crate::reconstruct::context::{BH_OFF, RunBy, Who};
use crate::reconstruct::dispatch::{Gaps, Routes, Tracker};

/// Records looked at for a sign of bottom halves off.
const LOOK: usize = 100_000;

/// Reads the trace; rows in order of start. The sentences say what the capture does not have.
pub fn run(trace: &Trace<'_>, capture: &Capture, comms: &Comms) -> (Vec<SoftirqRow>, Vec<String>) {
    let routes = routes(trace);
    let limits = Limits::of(capture);
    let tells = Tells {
        bh_off: (0..trace.recs.len().min(LOOK)).any(|i| trace.event(i).is_some_and(|e| e.flags & BH_OFF != 0)),
        irqs: trace.info.recorded("irq:irq_handler_entry"),
        polls: trace.info.recorded("napi:napi_poll"),
        raises: trace.info.recorded("irq:softirq_raise"),
    };
    let per_cpu = trace.recs.cpus().into_par_iter().map(|cpu| {
        let mut t = OnCpu::new(cpu, limits, tells);
        walk(trace, &routes, cpu, &mut t);
        t.rows
    });
    let mut rows: Vec<SoftirqRow> = per_cpu
        .collect::<Vec<_>>()
        .into_iter()
        .flatten()
        .map(|(row, who)| named(row, who, comms))
        .collect();
    rows.par_sort_by_key(|r| (r.start_ns, r.cpu));
    (rows, routes.missing)
}

fn walk(trace: &Trace<'_>, routes: &Routes<OnCpu>, cpu: u16, t: &mut OnCpu) {
    let entry = trace.schema.format("irq", "softirq_entry").map(|f| f.id);
    let mut gaps = Gaps::of(trace.gaps.iter().filter(|g| g.cpu == u32::from(cpu)).collect());
    let mut passed = None;
    for r in trace.of_cpu(cpu) {
        gaps.until(r.ts, |g| {
            passed = None;
            t.gap(g);
        });
        if !t.waits() && !routes.wants(r.kind) {
            passed = Some(r);
            continue;
        }
        if let Some(p) = passed.take() {
            t.passed(&trace.alone(p));
        }
        let e = trace.alone(r);
        t.before(&e, Some(e.kind) == entry);
        routes.feed(trace, t, &e);
        t.after(&e);
    }
    t.cut();
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
    routes.on::<SchedSwitch<'static>>(s, |t, _, p| {
        let runnable = p.prev_state & 0xff == 0;
        t.switch((p.prev_pid, p.prev_comm, runnable), (p.next_pid, p.next_comm));
    });
    routes.on::<SchedWaking<'static>>(s, |t, _, p| t.wake(p.pid, p.comm));
    routes.on::<SchedWakeup<'static>>(s, |t, _, p| t.wake(p.pid, p.comm));
    routes.missing.truncate(needed);
    routes
}

/// The row with the names of its threads.
fn named(mut row: SoftirqRow, who: Who, comms: &Comms) -> SoftirqRow {
    row.comm = comms.at(row.pid, row.start_ns);
    if is_ksoftirqd(row.comm.bytes()) {
        row.run_by = RunBy::Ksoftirqd;
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
