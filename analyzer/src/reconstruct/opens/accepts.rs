//! Calls of `accept` that failed for want of descriptors or memory: the connections that they were to take stay in the accept queue, unread.

use std::collections::BTreeMap;

use netmortem_formats::Capture;

use super::tables::NotAccepted;
use crate::ingest::Event;
use crate::name::Name;
use crate::reconstruct::comms::Comms;
use crate::snapshots::tasks::{listening, processes};

/// Errors by which `accept` says so: EMFILE, ENFILE, ENOMEM, ENOBUFS.
const NO_ROOM: [i32; 4] = [24, 23, 12, 105];
/// Threads and errors that are kept.
const CALLERS: usize = 1024;

/// By thread and errno.
#[derive(Debug, Default)]
pub(super) struct Accepts(BTreeMap<(i32, i32), NotAccepted>);

impl Accepts {
    /// A call returned.
    pub(super) fn returned(&mut self, e: &Event<'_>, ret: i64) {
        let error = i32::try_from(ret.wrapping_neg()).unwrap_or(0);
        let key = (e.pid, error);
        if !NO_ROOM.contains(&error) || self.0.len() >= CALLERS && !self.0.contains_key(&key) {
            return;
        }
        let of = self.0.entry(key).or_insert(NotAccepted {
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
    pub(super) fn rows(self, comms: &Comms) -> Vec<NotAccepted> {
        let mut rows: Vec<NotAccepted> = self.0.into_values().collect();
        for row in &mut rows {
            row.task = comms.at(row.pid, row.first_ns);
        }
        rows.sort_by_key(|r| std::cmp::Reverse(r.times));
        rows
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
