//! The machine.

use netmortem_formats::tracepoints::napi_poll::NapiPoll;
use netmortem_formats::tracepoints::softirq_entry::SoftirqEntry;
use netmortem_formats::tracepoints::softirq_exit::SoftirqExit;

use super::tables::{PollContext, PollRow};
use crate::confidence::Confidence;
use crate::ingest::{GapRow, Trace};
use crate::name::Name;
use crate::reconstruct::context::Cpus;
use crate::reconstruct::dispatch::{Routes, Tracker};
use crate::reconstruct::softirq::tables::NET_RX;

#[derive(Default)]
struct Polls {
    cpus: Cpus,
    rows: Vec<PollRow>,
}

impl Tracker for Polls {
    fn gap(&mut self, gap: &GapRow) {
        self.cpus.at(gap.cpu as u16).forget();
    }
}

/// Reads the trace; rows in order of end.
pub fn run(trace: &Trace<'_>) -> (Vec<PollRow>, Vec<String>) {
    let mut routes = Routes::<Polls>::new("polls");
    let schema = &trace.schema;
    routes.on::<SoftirqEntry<'static>>(schema, |t, e, p| {
        t.cpus.at(e.cpu).softirq_entry(e, p.vec);
    });
    routes.on::<SoftirqExit<'static>>(schema, |t, e, p| {
        t.cpus.at(e.cpu).softirq_exit(p.vec);
    });
    routes.on::<NapiPoll<'static>>(schema, |t, e, p| {
        let cpu = t.cpus.at(e.cpu);
        let in_run = cpu.run.is_some_and(|r| r.vec == NET_RX) && e.in_softirq();
        let at = if in_run { cpu.poll_end(e) } else { None };
        let context = match (in_run, e.in_task()) {
            (true, _) => PollContext::Softirq,
            (false, true) => PollContext::Task,
            (false, false) => PollContext::Unknown,
        };
        t.rows.push(PollRow {
            cpu: e.cpu,
            start_ns: at.map(|a| a.0),
            end_ns: e.ts,
            napi: p.napi,
            dev: Name::new(p.dev_name),
            work: p.work,
            budget: p.budget,
            nth: at.map(|a| a.1),
            context,
            confidence: if at.is_some() {
                Confidence::Strong
            } else {
                Confidence::Unknown
            },
        });
    });
    let mut tracker = Polls::default();
    routes.run(trace, &mut tracker);
    (tracker.rows, routes.missing)
}
