//! Sockets that began to listen, and such that were closed: who took a port over, and since when nobody listens there.

use super::tables::{End, LISTENS, ListenRow};
use crate::ingest::Event;
use crate::name::Name;
use crate::reconstruct::comms::Comms;
use crate::reconstruct::tcp::Tuple;

/// By time.
#[derive(Debug, Default)]
pub(super) struct Listens(Vec<ListenRow>);

impl Listens {
    /// A socket began to listen, or a listening one was closed.
    pub(super) fn changed(&mut self, e: &Event<'_>, sk: u64, tuple: Option<Tuple>, opened: bool) {
        let at: Option<End> = tuple.map(|t| (t.saddr, t.sport)).filter(|at| at.1 != 0);
        if let Some(at) = at.filter(|_| self.0.len() < LISTENS) {
            self.0.push(ListenRow {
                time_ns: e.ts,
                sk,
                at,
                opened,
                pid: if e.in_task() { e.pid.max(0) } else { 0 },
                task: Name::default(),
            });
        }
    }
    pub(super) fn rows(mut self, comms: &Comms) -> Vec<ListenRow> {
        for row in &mut self.0 {
            row.task = comms.at(row.pid, row.time_ns);
        }
        self.0.sort_by_key(|r| r.time_ns);
        self.0
    }
}
