//! The machine.

use netmortem_formats::tracepoints::irq_handler_entry::IrqHandlerEntry;
use netmortem_formats::tracepoints::irq_handler_exit::IrqHandlerExit;
use netmortem_formats::tracepoints::softirq_entry::SoftirqEntry;
use netmortem_formats::tracepoints::softirq_exit::SoftirqExit;
use netmortem_formats::tracepoints::softirq_raise::SoftirqRaise;

use super::tables::{Runner, SoftirqRow};
use crate::confidence::Confidence;
use crate::ingest::{GapRow, Trace};
use crate::name::Name;
use crate::reconstruct::comms::Comms;
use crate::reconstruct::context::{Cpus, Run};
use crate::reconstruct::dispatch::{Routes, Tracker};

#[derive(Default)]
struct Softirqs {
    cpus: Cpus,
    rows: Vec<SoftirqRow>,
    /// Whether a hard interrupt would have been seen: without that, none seen is no 0.
    irqs_recorded: bool,
}

impl Tracker for Softirqs {
    fn gap(&mut self, gap: &GapRow) {
        let cpu = gap.cpu as u16;
        if let Some(run) = self.cpus.at(cpu).run.take() {
            self.close(cpu, run, None);
        }
        self.cpus.at(cpu).forget();
    }
}

impl Softirqs {
    fn close(&mut self, cpu: u16, run: Run, end_ns: Option<i64>) {
        let runner = match run.raise {
            Some(r) if r.in_hardirq => Runner::IrqTail,
            Some(_) => Runner::TaskBh,
            None => Runner::Unknown,
        };
        self.rows.push(SoftirqRow {
            cpu,
            start_ns: run.start,
            end_ns,
            vec: run.vec,
            raise_ns: run.raise.map(|r| r.ts),
            runner,
            pid: run.pid,
            comm: Name::default(),
            irq_ns: self.irqs_recorded.then_some(run.irq_ns),
            confidence: if end_ns.is_some() {
                Confidence::Certain
            } else {
                Confidence::Unknown
            },
        });
    }
}

/// Reads the trace; rows in order of start. `missing` says what the capture does not have.
pub fn run(trace: &Trace<'_>, comms: &Comms) -> (Vec<SoftirqRow>, Vec<String>) {
    let mut routes = Routes::<Softirqs>::new("softirqs");
    let schema = &trace.schema;
    routes.on::<IrqHandlerEntry<'static>>(schema, |t, e, p| t.cpus.at(e.cpu).irq_entry(e, p.name));
    routes.on::<IrqHandlerExit<'static>>(schema, |t, e, _| t.cpus.at(e.cpu).irq_exit(e));
    routes.on::<SoftirqRaise<'static>>(schema, |t, e, p| t.cpus.at(e.cpu).raise(e, p.vec));
    routes.on::<SoftirqEntry<'static>>(schema, |t, e, p| {
        if let Some(run) = t.cpus.at(e.cpu).softirq_entry(e, p.vec) {
            t.close(e.cpu, run, None);
        }
    });
    routes.on::<SoftirqExit<'static>>(schema, |t, e, p| {
        let open = t.cpus.at(e.cpu).run;
        if let Some(run) = t.cpus.at(e.cpu).softirq_exit(p.vec) {
            t.close(e.cpu, run, Some(e.ts));
        } else if let Some(run) = open {
            t.close(e.cpu, run, None);
        }
    });
    let mut tracker = Softirqs {
        irqs_recorded: trace.info.recorded("irq:irq_handler_entry"),
        ..Softirqs::default()
    };
    routes.run(trace, &mut tracker);
    for cpu in 0..=trace.info.streams.iter().map(|s| s.cpu as u16).max().unwrap_or(0) {
        if let Some(run) = tracker.cpus.at(cpu).run.take() {
            tracker.close(cpu, run, None);
        }
    }
    let mut rows = tracker.rows;
    for r in &mut rows {
        r.comm = comms.at(r.pid, r.start_ns);
        if r.comm.bytes().starts_with(b"ksoftirqd/") {
            r.runner = Runner::Ksoftirqd;
        }
    }
    rows.sort_by_key(|r| (r.start_ns, r.cpu));
    (rows, routes.missing)
}
