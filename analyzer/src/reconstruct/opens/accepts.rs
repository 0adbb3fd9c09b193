//! Calls of `accept`: those that failed for want of descriptors or memory (the connections that they were to take stay in the accept queue, unread), and by
//! name of their threads how many took a connection and how many found none.

use std::collections::BTreeMap;

use netmortem_formats::Capture;

use super::tables::{Accepting, NotAccepted};
use crate::ingest::Event;
use crate::name::Name;
use crate::reconstruct::comms::Comms;
use crate::snapshots::tasks::{listening, processes};

/// Errors by which `accept` says so: EMFILE, ENFILE, ENOMEM, ENOBUFS.
const NO_ROOM: [i32; 4] = [24, 23, 12, 105];
/// Threads, and threads and errors, that are kept.
const CALLERS: usize = 4096;

/// EAGAIN: there was none to take.
const NONE: i32 = 11;

#[derive(Debug, Default)]
pub(super) struct Accepts {
    /// By thread and errno.
    failed: BTreeMap<(i32, i32), NotAccepted>,
    /// By thread: its first call, connections taken, calls that found none.
    calls: BTreeMap<i32, (i64, u64, u64)>,
}

impl Accepts {
    /// A call returned.
    pub(super) fn returned(&mut self, e: &Event<'_>, ret: i64) {
        let error = i32::try_from(ret.wrapping_neg()).unwrap_or(0);
        if (ret >= 0 || error == NONE) && (self.calls.len() < CALLERS || self.calls.contains_key(&e.pid)) {
            let (_, taken, none) = self.calls.entry(e.pid).or_insert((e.ts, 0, 0));
            let n = if ret >= 0 { taken } else { none };
            *n = n.saturating_add(1);
        }
        let key = (e.pid, error);
        if !NO_ROOM.contains(&error) || self.failed.len() >= CALLERS && !self.failed.contains_key(&key) {
            return;
        }
        let of = self.failed.entry(key).or_insert(NotAccepted {
            pid: e.pid,
            task: Name::default(),
            error,
            times: 0,
            first_ns: e.ts,
            last_ns: e.ts,
            port: None,
        });
        (of.times, of.last_ns) = (of.times.saturating_add(1), e.ts);
    }
    /// The rows, those with most calls first.
    pub(super) fn rows(self, comms: &Comms) -> (Vec<NotAccepted>, Vec<Accepting>) {
        let mut by: BTreeMap<Name, Accepting> = BTreeMap::new();
        for (pid, (at, taken, none)) in &self.calls {
            let task = comms.at(*pid, *at);
            let of = by.entry(task).or_insert(Accepting {
                task,
                threads: 0,
                taken: 0,
                none: 0,
            });
            of.threads = of.threads.saturating_add(1);
            of.taken = of.taken.saturating_add(*taken);
            of.none = of.none.saturating_add(*none);
        }
        let mut rows: Vec<NotAccepted> = self.failed.into_values().collect();
        for row in &mut rows {
            row.task = comms.at(row.pid, row.first_ns);
        }
        rows.sort_by_key(|r| std::cmp::Reverse(r.times));
        (rows, by.into_values().collect())
    }
}

/// Says at which port the process of each listens, where that is one.
pub fn at_ports(rows: &mut [NotAccepted], capture: &Capture) {
    if rows.is_empty() {
        return;
    }
    let (processes, listening) = (processes(capture), listening(capture));
    for row in rows {
        let process = processes.get(&row.pid).map_or(row.pid, |p| p.0);
        let mut ports = listening.iter().filter(|(_, p)| **p == process).map(|(port, _)| *port);
        row.port = ports.next().filter(|_| ports.next().is_none());
    }
}
