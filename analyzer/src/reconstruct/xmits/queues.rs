//! Qdiscs and transmit queues, as their events name them: by address. Device names repeat in other network namespaces.

use rustc_hash::FxHashMap;

use super::segments::Segmenting;
use crate::name::Name;

/// A root qdisc.
#[derive(Debug, Default)]
pub(super) struct Qdisc {
    pub ifindex: i32,
    pub handle: u32,
    pub parent: u32,
    /// Packets it built segments of, whose segments have not all left.
    pub fifo: Segmenting,
}

/// A transmit queue.
#[derive(Debug, Default)]
pub(super) struct Txq {
    pub addr: u64,
    pub ifindex: i32,
    pub dev: Name,
    pub queue: Option<u16>,
    /// End of the last transmit on it, and on which CPU.
    pub last_xmit: Option<(i64, u16)>,
    /// That it was on this queue is a guess by the device's name: no qdisc event named its packet.
    pub last_guessed: bool,
    /// Its qdisc was asked, or has been scheduled, since.
    pub looked: bool,
    /// Last time its qdisc was asked.
    pub last_look: i64,
    /// A stop that an event showed: since when, its `txq_state` bits, when it was shown last.
    pub stopped: Option<(i64, u64, i64)>,
}

/// All of them, by position.
#[derive(Debug, Default)]
pub(super) struct Queues {
    qdiscs: Vec<Qdisc>,
    txqs: Vec<Txq>,
    qdisc_at: FxHashMap<u64, u32>,
    txq_at: FxHashMap<u64, u32>,
}

/// What the events of the class `qdisc` say of the queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Named {
    pub qdisc: u64,
    pub txq: u64,
    pub ifindex: i32,
    pub handle: u32,
    pub parent: u32,
}

impl Queues {
    /// Positions of the qdisc and the transmit queue that an event names.
    pub fn of(&mut self, n: Named) -> (u32, u32) {
        let known = self.qdisc_at.get(&n.qdisc).copied();
        // Another qdisc may take the address of one that was destroyed.
        let same = known.filter(|q| {
            let is = |x: &Qdisc| (x.ifindex, x.handle, x.parent) == (n.ifindex, n.handle, n.parent);
            self.qdiscs.get(*q as usize).is_some_and(is)
        });
        let q = same.unwrap_or_else(|| {
            self.qdiscs.push(Qdisc {
                ifindex: n.ifindex,
                handle: n.handle,
                parent: n.parent,
                ..Qdisc::default()
            });
            let q = (self.qdiscs.len() - 1) as u32;
            self.qdisc_at.insert(n.qdisc, q);
            q
        });
        let t = *self.txq_at.entry(n.txq).or_insert_with(|| {
            self.txqs.push(Txq {
                addr: n.txq,
                ifindex: n.ifindex,
                last_look: i64::MIN,
                ..Txq::default()
            });
            (self.txqs.len() - 1) as u32
        });
        (q, t)
    }
    pub fn qdisc(&self, at: u32) -> Option<&Qdisc> {
        self.qdiscs.get(at as usize)
    }
    pub fn qdisc_mut(&mut self, at: u32) -> Option<&mut Qdisc> {
        self.qdiscs.get_mut(at as usize)
    }
    pub fn txq(&self, at: u32) -> Option<&Txq> {
        self.txqs.get(at as usize)
    }
    pub fn txq_mut(&mut self, at: u32) -> Option<&mut Txq> {
        self.txqs.get_mut(at as usize)
    }
    pub fn qdiscs(&mut self) -> impl Iterator<Item = &mut Qdisc> {
        self.qdiscs.iter_mut()
    }
    pub fn txqs(&mut self) -> impl Iterator<Item = &mut Txq> {
        self.txqs.iter_mut()
    }
}
