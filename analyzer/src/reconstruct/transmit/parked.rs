//! Packets that wait for their neighbour's address: who sent them, until they are queued after all.

use super::tracker::{Transmits, thread};
use crate::confidence::Confidence;
use crate::facts::ConnectionId;
use crate::ingest::Event;
use crate::name::Name;

/// A packet without a device queue yet: its neighbour is being resolved.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parked {
    pub(super) ts: i64,
    pub(super) pid: i32,
    pub(super) call: Option<u32>,
    pub(super) connection: Option<ConnectionId>,
    pub(super) protocol: u16,
}

impl Transmits<'_> {
    /// A packet asked for an unresolved neighbour and was put aside.
    pub(super) fn park(&mut self, e: &Event<'_>, dev: Name, key: &[u8]) {
        let of = self.parked.entry((dev, key.to_vec())).or_default();
        if of.len() < 1024 {
            of.push_back(Parked {
                ts: e.ts,
                pid: thread(e),
                call: None,
                connection: None,
                protocol: 0,
            });
        }
    }

    /// A neighbour has an address now: what was put aside is queued next on this CPU.
    pub(super) fn resolved(&mut self, e: &Event<'_>, dev: Name, key: &[u8]) {
        if let Some(of) = self.parked.remove(&(dev, key.to_vec())) {
            let thread = thread(e);
            let cpu = self.cpu(e.cpu);
            (cpu.releasing, cpu.releaser) = (of, thread);
            cpu.let_go.clear();
        }
    }

    /// All of it was queued. Where more was put aside for that device and address than came, some of it was another's: of a device of the same name in
    /// another network namespace, or dropped when the neighbour did not answer in time. Which of it came then nothing tells.
    pub(super) fn released(&mut self, e: &Event<'_>) {
        let cpu = self.cpu(e.cpu);
        let left = !std::mem::take(&mut cpu.releasing).is_empty();
        let let_go = std::mem::take(&mut cpu.let_go);
        for (at, pid) in let_go.into_iter().filter(|_| left) {
            if let Some(p) = self.packets.get_mut(at as usize) {
                (p.parked, p.call, p.connection, p.protocol) = (None, None, None, 0);
                p.link = Confidence::Weak;
            }
            if let Some(t) = self.sends.threads.get_mut(&pid) {
                t.queued.retain(|q| *q != at);
            }
        }
    }
}
