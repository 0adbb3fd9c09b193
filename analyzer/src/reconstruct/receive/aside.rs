//! Packets that TCP put aside: the socket was in a thread's hands, so they waited in its backlog, where `tcp_add_backlog`
//! merges them silently into the one before. No event names those merged, and before 6.9 none names the first either.
//!
//! ```text
//! netif_receive_skb (softirq)  A B C D      no tcp_probe in this burst: put aside, whatever becomes of their addresses;
//!                                           the thread may begin before the burst is over
//! tcp_probe (in the thread's call)  data_len = payload of A + B + C, 16 bits of it      the run A B C: one read, three rows
//! tcp_probe                         data_len = payload of D
//! ```
//! A run is packets of one flow, in order, whose payloads sum to the length modulo 65536: by that the whole length is known
//! too, however often the 16 bits wrapped. Source: net/ipv4/tcp_ipv4.c `tcp_add_backlog`, net/core/sock.c `__release_sock`.

use super::tracker::Ledger;
use super::unit::{Key, Unit};
use super::units::UnitId;
use crate::confidence::Confidence;
use crate::facts::ConnectionId;
use crate::ingest::Event;
use crate::name::Name;

/// Packets put aside at most.
const MOST: usize = 65_536;
/// Packets merged into one at most: a backlog holds some MB.
const MERGED: usize = 4_096;
/// First packets of a run that are tried: those before it are of sockets that never processed them.
const TRIED: usize = 64;
/// Longer than a socket is in a thread's hands, ns.
const OLD_NS: i64 = 2_000_000_000;
/// Longest IP and TCP headers: what is longer carries payload.
const HEADERS: u32 = 140;

/// What a socket's packets look like, of those processed as they came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) dev: Name,
    /// Flow hash; 0: none.
    pub(super) hash: u32,
    /// Header of its last packet with payload, bytes.
    pub(super) header: u32,
}

/// Packets that one probe stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Run {
    /// In order.
    pub(super) units: Vec<UnitId>,
    /// Payload of the first, and of all, bytes.
    pub(super) own: u32,
    pub(super) bytes: u32,
    /// Others came before it that no probe stood for.
    pub(super) skipped: bool,
}

impl Ledger<'_> {
    /// Packets of a burst that is over: those that nothing claimed may lie in a backlog.
    pub(super) fn put_aside(&mut self, units: Vec<UnitId>, now: i64) {
        for id in units {
            let waits = |u: &&mut Unit| u.unclaimed && u.key.is_none() && u.recv.is_some() && !u.recv_in_task;
            if let Some(u) = self.units.get_mut(id).filter(waits) {
                u.aside = true;
                self.aside.push_back(id);
            }
        }
        while let Some(id) = self.aside.front().copied() {
            let young = |u: &Unit| u.aside && u.recv.is_some_and(|t| now.saturating_sub(t) < OLD_NS);
            if self.aside.len() <= MOST && self.units.get(id).is_some_and(young) {
                break;
            }
            self.aside.pop_front();
            self.give_up(id);
        }
    }

    /// A packet put aside that no probe stood for.
    fn give_up(&mut self, id: UnitId) {
        let Some(u) = self.units.get_mut(id).filter(|u| u.aside) else {
            return;
        };
        u.aside = false;
        if !u.unclaimed {
            return;
        }
        let counts = u.recv_len.is_some_and(|l| l > HEADERS);
        let over = !u.open;
        self.out.unclaimed += u64::from(counts);
        if over {
            self.units.remove(id);
        }
    }

    /// The recording is over.
    pub(super) fn give_up_all(&mut self) {
        for at in 0..self.states.len() {
            let of = self.states.get_mut(at).map(|s| std::mem::take(&mut s.unclaimed));
            self.put_aside(of.unwrap_or_default(), i64::MIN);
        }
        for id in std::mem::take(&mut self.aside) {
            self.give_up(id);
        }
    }

    /// Its life ended silently. One put aside may have been merged: it is kept until its probe comes.
    pub(super) fn lapse(&mut self, id: UnitId) {
        match self.units.get_mut(id).filter(|u| u.aside && u.unclaimed) {
            Some(u) => u.open = false,
            None => self.close(id),
        }
    }

    /// What a socket's packets look like, learned from one that was processed as it came.
    pub(super) fn learn(&mut self, c: ConnectionId, id: UnitId, bytes: u32) {
        if let Some((u, len)) = self.units.get(id).and_then(|u| Some((u, u.recv_len?))) {
            let look = Look {
                dev: u.dev,
                hash: u.hash,
                header: len.saturating_sub(bytes),
            };
            self.looks.insert(c, look);
        }
    }

    /// The packets that a probe in a thread's call stands for: those of its flow behind `head`, or, where that is not
    /// known, the first that fit.
    pub(super) fn run(&self, e: &Event<'_>, c: ConnectionId, data_len: u16, head: Option<UnitId>) -> Option<Run> {
        let look = self.looks.get(&c)?;
        let of_flow = |u: &Unit| match (look.hash, u.hash) {
            (0, _) | (_, 0) => u.dev == look.dev,
            (a, b) => a == b,
        };
        let payload = |u: &Unit| u.recv_len.and_then(|l| l.checked_sub(look.header)).filter(|b| *b > 0);
        // A socket processes in order: what came before its last is through.
        let since = self.through.get(&c).copied().unwrap_or(i64::MIN);
        let fresh = |u: &Unit| u.recv.is_some_and(|t| t > since && t <= e.ts);
        let waits = |u: &Unit| u.unclaimed && u.key.is_none() && of_flow(u) && fresh(u);
        let after = head.and_then(|id| self.units.get(id)?.recv);
        let fitting = |id: &UnitId| {
            let u = self.units.get(*id).filter(|u| waits(u))?;
            let behind = Some(*id) != head && (head.is_none() || u.recv > after);
            Some((*id, payload(u).filter(|_| behind)?, u))
        };
        let aside = self.aside.iter().filter_map(fitting).filter(|(_, _, u)| u.aside);
        // Another CPU's burst may still fill the backlog that this thread works off.
        let bursts = self.states.iter().enumerate().filter(|s| s.0 != usize::from(e.cpu));
        let bursts = bursts.flat_map(|(_, s)| &s.unclaimed).filter_map(fitting);
        let bursts = bursts.filter(|(_, _, u)| !u.aside && !u.recv_in_task);
        let mut of: Vec<_> = aside.take(TRIED + MERGED).chain(bursts).collect();
        of.sort_by_key(|(_, _, u)| u.recv);
        let mut of: Vec<(UnitId, u32)> = of.into_iter().map(|(id, bytes, _)| (id, bytes)).collect();
        if let Some(id) = head {
            of.insert(0, (id, payload(self.units.get(id)?)?));
        }
        let firsts = if head.is_some() { 1 } else { TRIED };
        for first in 0..of.len().min(firsts) {
            let mut bytes = 0u32;
            let rest = of.get(first..).unwrap_or_default();
            for (n, (_, payload)) in rest.iter().take(MERGED).enumerate() {
                bytes = bytes.saturating_add(*payload);
                if bytes as u16 == data_len {
                    return Some(Run {
                        units: rest.iter().take(n + 1).map(|x| x.0).collect(),
                        own: rest.first()?.1,
                        bytes,
                        skipped: first > 0,
                    });
                }
            }
        }
        None
    }

    /// The first of a run has the others with it: they are read when its last byte is.
    pub(super) fn merge(&mut self, run: &Run) {
        let Some((head, tails)) = run.units.split_first() else {
            return;
        };
        for id in tails {
            if let Some(u) = self.units.get_mut(*id) {
                (u.unclaimed, u.aside) = (false, false);
            }
        }
        if let Some(u) = self.units.get_mut(*head) {
            (u.aside, u.own, u.tails) = (false, Some(run.own), tails.to_vec());
            if run.skipped {
                u.link(Confidence::Weak);
            }
        }
    }

    /// The tails of a unit whose row is about to be written have its times from the probe on.
    pub(super) fn tails(&mut self, head: UnitId) -> Vec<UnitId> {
        let Some(h) = self.units.get_mut(head).filter(|u| !u.tails.is_empty()) else {
            return vec![];
        };
        let tails = std::mem::take(&mut h.tails);
        h.bytes = h.own.or(h.bytes);
        let h = h.clone();
        let header = match h.key {
            Some(Key::Tcp(c)) => self.looks.get(&c).map_or(0, |l| l.header),
            _ => 0,
        };
        for id in &tails {
            let Some(u) = self.units.get_mut(*id) else { continue };
            (u.proto, u.backlog, u.held, u.ready) = (h.proto, h.backlog, h.held, h.ready);
            (u.connection, u.key, u.bytes) = (h.connection, h.key, u.recv_len.map(|l| l.saturating_sub(header)));
            (u.copy, u.clock, u.nested, u.read_by) = (h.copy, h.clock, h.nested, h.read_by);
            (u.read, u.exit, u.pid) = (h.read, h.exit, h.pid);
            // Which read took their bytes is known of the last byte of all.
            u.link(h.confidence.min(Confidence::Strong));
        }
        tails
    }
}
