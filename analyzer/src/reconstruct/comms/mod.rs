//! Names of tasks: the comm that sched events stated last for a thread, else the one saved with the recording.
//!
//! In: sched_switch and the capture's saved list. Out: `Comms::at`. A comm can change (exec, prctl):
//! the latest statement before the question is used.

use rustc_hash::FxHashMap;

use netmortem_formats::Capture;
use netmortem_formats::tracepoints::sched_switch::SchedSwitch;

use crate::ingest::Trace;
use crate::name::Name;
use crate::reconstruct::dispatch::{Routes, Tracker};
use crate::reconstruct::thread::IDLE;

#[cfg(test)]
mod tests;

/// Names by thread id, with the time each was first stated.
#[derive(Debug, Default)]
pub struct Comms {
    seen: FxHashMap<i32, Vec<(i64, Name)>>,
    saved: FxHashMap<i32, Name>,
}

impl Tracker for Comms {}

impl Comms {
    /// Reads the trace.
    pub fn read(trace: &Trace<'_>, capture: &Capture) -> Comms {
        let mut comms = Comms::default();
        for (pid, comm) in &capture.comms {
            comms.saved.insert(*pid, Name::new(comm.as_bytes()));
        }
        let mut routes = Routes::<Comms>::new("comms");
        routes.on::<SchedSwitch<'static>>(&trace.schema, |c, e, s| {
            c.state(e.ts, s.prev_pid, s.prev_comm);
            c.state(e.ts, s.next_pid, s.next_comm);
        });
        routes.run(trace, &mut comms);
        comms
    }
    fn state(&mut self, ts: i64, pid: i32, comm: &[u8]) {
        let name = Name::new(comm);
        let of = self.seen.entry(pid).or_default();
        if of.last().is_none_or(|(_, n)| *n != name) {
            of.push((ts, name));
        }
    }
    /// Whether a thread was stated to have another name than `name` after a time: it executed another program, or was named.
    pub fn renamed(&self, pid: i32, after: i64, name: Name) -> bool {
        let stated = self.seen.get(&pid).map_or(&[][..], |of| of.as_slice());
        let before = stated.partition_point(|(t, _)| *t <= after);
        let then = stated.get(before..).unwrap_or_default();
        then.iter().any(|(_, n)| *n != name) || self.saved.get(&pid).is_some_and(|n| stated.is_empty() && *n != name)
    }
    /// As [`Comms::at`], of what a CPU ran: [`IDLE`] of the idle task.
    pub fn ran(&self, pid: i32, ts: i64) -> Name {
        match pid {
            0 => Name::new(IDLE.as_bytes()),
            pid => self.at(pid, ts),
        }
    }
    /// The name of a thread at a time; empty when nothing states it.
    pub fn at(&self, pid: i32, ts: i64) -> Name {
        let stated = self.seen.get(&pid).and_then(|of| {
            let i = of.partition_point(|(t, _)| *t <= ts);
            of.get(i.saturating_sub(1)).map(|(_, n)| *n)
        });
        stated.or_else(|| self.saved.get(&pid).copied()).unwrap_or_default()
    }
}
