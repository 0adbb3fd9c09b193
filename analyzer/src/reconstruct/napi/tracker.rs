//! The machine of one CPU.

use netmortem_formats::tracepoints::napi_gro_frags_entry::NapiGroFragsEntry;
use netmortem_formats::tracepoints::napi_gro_receive_entry::NapiGroReceiveEntry;
use netmortem_formats::tracepoints::napi_poll::NapiPoll;
use netmortem_formats::tracepoints::netif_receive_skb::NetifReceiveSkb;
use netmortem_formats::tracepoints::softirq_entry::SoftirqEntry;
use netmortem_formats::tracepoints::softirq_exit::SoftirqExit;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::lookup::Ran;
use super::tables::{PollContext, PollRow, Threaded};
use crate::confidence::Confidence;
use crate::ingest::{Event, GapRow, Trace};
use crate::name::Name;
use crate::reconstruct::comms::Comms;
use crate::reconstruct::context::{Cpu, RunBy};
use crate::reconstruct::dispatch::{Routed, Routes, Tracker};
use crate::reconstruct::softirq::tables::{NET_RX, SoftirqRow};
use crate::reconstruct::thread::Threads;

/// The device name of the per-CPU backlog, which has no GRO entries.
const BACKLOG: &[u8] = b"(no_device)";

/// The machine.
#[derive(Default)]
pub struct OnCpu {
    state: Cpu,
    /// Last packet seen behind the last poll, which used its full weight: of its flush, or of the next poll.
    flush: Option<Flush>,
    /// Rows, and what tells who ran them.
    rows: Vec<(PollRow, By)>,
}

/// What tells who ran a poll.
#[derive(Clone, Copy)]
pub struct By {
    pid: i32,
    /// Start of the softirq run.
    softirq: Option<i64>,
}

#[derive(Default)]
struct Flush {
    last: Option<i64>,
    /// A GRO entry came: the next poll has begun.
    over: bool,
}

impl Tracker for OnCpu {
    fn gap(&mut self, _: &GapRow) {
        self.state.forget();
        self.flush = None;
    }
}

impl OnCpu {
    /// What it found.
    pub fn finish(self) -> OfCpu {
        OfCpu(self.rows)
    }
    fn packet(&mut self, e: &Event<'_>) {
        if let Some(f) = self.flush.as_mut().filter(|f| !f.over && e.in_softirq()) {
            f.last = Some(e.ts);
        }
    }
    fn gro(&mut self) {
        if let Some(f) = &mut self.flush {
            f.over = true;
        }
    }
    /// The packets behind the last poll were its flush's.
    fn flushed(&mut self) {
        if let (Some(f), Some((row, _))) = (self.flush.take(), self.rows.last_mut()) {
            row.flush_end_ns = f.last;
        }
    }
    fn poll(&mut self, e: &Event<'_>, p: &NapiPoll<'_>) {
        // Packets behind the end of the poll before may be this one's, unless it had none or began with a GRO entry.
        let own = self.flush.as_ref().is_some_and(|f| f.over) || p.work == Some(0);
        if own && p.dev_name != BACKLOG {
            self.flushed();
        }
        self.flush = None;
        let run = self.state.run.filter(|r| r.vec == NET_RX && e.in_softirq());
        let in_run = run.is_some();
        let at = if in_run { self.state.poll_end(e) } else { None };
        let flushed = self.rows.last().filter(|_| at.is_some_and(|a| a.1 > 0));
        let flushed = flushed.and_then(|(r, _)| r.flush_end_ns);
        let context = match (in_run, e.in_task()) {
            (true, _) => PollContext::Softirq,
            (false, true) => PollContext::Task,
            (false, false) => PollContext::Unknown,
        };
        let row = PollRow {
            cpu: e.cpu,
            start_ns: at.map(|a| flushed.unwrap_or(a.0)),
            end_ns: e.ts,
            napi: p.napi,
            dev: Name::new(p.dev_name),
            work: p.work,
            budget: p.budget,
            nth: at.map(|a| a.1),
            context,
            run_by: RunBy::Unknown,
            flush_end_ns: None,
            threaded: None,
            confidence: if at.is_some() {
                Confidence::Strong
            } else {
                Confidence::Unknown
            },
        };
        if in_run && row.work.zip(row.budget).is_some_and(|(w, b)| w >= b) {
            self.flush = Some(Flush::default());
        }
        let by = By {
            pid: e.pid,
            softirq: run.map(|r| r.start),
        };
        self.rows.push((row, by));
    }
}

/// Longest time in a NAPI thread's life that no event tells of (a CPU leaves idle unrecorded) with which its wait still counts, ns.
const UNKNOWN_NS: i64 = 200_000;

/// Polls, walked CPU by CPU.
pub struct Polls<'t> {
    trace: &'t Trace<'t>,
    routes: Routes<OnCpu>,
}

/// The polls of one CPU, whose runners are not yet known.
pub struct OfCpu(Vec<(PollRow, By)>);

impl<'t> Polls<'t> {
    /// Of a trace.
    pub fn new(trace: &'t Trace<'t>) -> Polls<'t> {
        let routes = routes(trace);
        Polls { trace, routes }
    }
    /// The machine of a CPU.
    pub fn on(&self, cpu: u16) -> Routed<'_, OnCpu> {
        Routed::new(self.trace, cpu, &self.routes, OnCpu::default())
    }
    /// Rows in order of end.
    pub fn rows(
        self,
        of: Vec<OfCpu>,
        softirqs: &[SoftirqRow],
        (comms, threads): (&Comms, &Threads),
    ) -> (Vec<PollRow>, Vec<String>) {
        let mut rows: Vec<(PollRow, By)> = of.into_iter().flat_map(|of| of.0).collect();
        rows.par_sort_by_key(|(r, _)| (r.end_ns, r.cpu));
        let ran = Ran::new(softirqs, &[]);
        // End of each NAPI thread's last poll.
        let mut last: FxHashMap<i32, i64> = FxHashMap::default();
        let mut threaded = |pid: i32, end_ns: i64| {
            let since = last.insert(pid, end_ns);
            let split = since.map(|from| threads.split(pid, from, end_ns));
            let known = split.filter(|s| s.unknown_ns <= UNKNOWN_NS);
            let behind = since.and_then(|from| threads.ran_instead(pid, from, end_ns));
            Box::new(Threaded {
                task: comms.at(pid, end_ns),
                pid,
                wait_ns: known.map(|s| s.waking_ns + s.idle_exit_ns + s.run_queue_ns),
                behind: behind.map_or_else(Name::default, |(who, _)| comms.ran(who, end_ns)),
            })
        };
        let who = |(mut row, by): (PollRow, By)| {
            row.run_by = match row.context {
                PollContext::Softirq => ran.run_by(row.cpu, by.softirq, row.end_ns),
                PollContext::Task => RunBy::of_task(comms.at(by.pid, row.end_ns).bytes(), row.budget),
                PollContext::Unknown => RunBy::Unknown,
            };
            row.threaded = (row.run_by == RunBy::ThreadedNapi).then(|| threaded(by.pid, row.end_ns));
            row
        };
        (rows.into_iter().map(who).collect(), self.routes.missing)
    }
}

fn routes(trace: &Trace<'_>) -> Routes<OnCpu> {
    let mut routes = Routes::<OnCpu>::new("polls");
    let s = &trace.schema;
    routes.on::<SoftirqEntry<'static>>(s, |t, e, p| {
        t.state.softirq_entry(e, p.vec);
        t.flush = None;
    });
    routes.on::<SoftirqExit<'static>>(s, |t, _, p| {
        t.state.softirq_exit(p.vec);
        t.flushed();
    });
    routes.on::<NapiPoll<'static>>(s, |t, e, p| t.poll(e, &p));
    let needed = routes.missing.len();
    routes.on::<NetifReceiveSkb<'static>>(s, |t, e, _| t.packet(e));
    routes.on::<NapiGroReceiveEntry<'static>>(s, |t, _, _| t.gro());
    routes.on::<NapiGroFragsEntry<'static>>(s, |t, _, _| t.gro());
    routes.missing.truncate(needed);
    routes
}
