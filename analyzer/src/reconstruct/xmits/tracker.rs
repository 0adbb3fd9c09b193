//! The machine: from the queue to the driver and its completion.

use netmortem_formats::kallsyms::Kallsyms;
use rustc_hash::FxHashMap;

use super::frames::{Frames, Inside};
use super::known::Known;
use super::queues::Queues;
use super::segments::{Closed, Parent, Segmenting};
use super::stops::Stops;
use super::tables::PassEnd;
use super::work::Work;
use crate::confidence::Confidence;
use crate::ingest::{Event, GapRow};
use crate::name::Name;
use crate::reconstruct::dispatch::Tracker;
use crate::reconstruct::skb::tables::DeathKind;
use crate::reconstruct::skb::{Frees, Identity};

/// NETDEV_TX_BUSY: the packet goes back to the qdisc.
pub(super) const BUSY: i32 = 0x10;

/// A dequeue of several packets, of which the event named the first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bulk {
    pub qdisc: u32,
    pub txq: u32,
    pub left: i32,
}

/// What a CPU is at.
#[derive(Debug, Default)]
pub(super) struct CpuState {
    pub frames: Frames,
    /// Pass of the last `net_dev_queue`.
    pub queueing: Option<u32>,
    /// Packets cut into segments that this CPU will send itself (software GSO).
    pub gso: Segmenting,
    /// The qdisc and the pass of the last packet that a qdisc cut up, in the call that queued it.
    pub segmented: Option<(u32, u32)>,
    pub bulk: Option<Bulk>,
    /// Transmit queue of the transmit that ended just now.
    pub fresh: Option<u32>,
    /// Entry of the running NET_TX softirq.
    pub net_tx: Option<i64>,
    /// Last raise of NET_TX.
    pub raised: Option<i64>,
    /// The raise that the running NET_TX answers.
    pub answered: Option<i64>,
    /// The packet freed or handed on last, where no event tells that a driver has it.
    pub gone: Option<(u64, u32)>,
}

/// The machine's state.
pub(super) struct Xmits<'i> {
    pub identity: &'i Identity,
    pub symbols: &'i Kallsyms,
    /// Code that frees.
    pub frees: Frees<'i>,
    /// What the bundle says of devices and queues.
    pub known: Known,
    /// A driver that gives a packet to a receiver of this host is seen to do so.
    pub handing_on_is_told: bool,
    /// Begins of drivers' transmit functions are recorded (Linux 3.14 and later).
    pub starts_are_told: bool,
    pub work: Vec<Work>,
    /// Pass that an address is in.
    pub open: FxHashMap<u64, u32>,
    pub cpus: Vec<CpuState>,
    pub queues: Queues,
    pub stops: Stops,
    /// Queue of a device name and number; `None`: several have them.
    pub by_name: FxHashMap<(Name, u16), Option<(u32, u32)>>,
    /// When a held whole packet left each qdisc last: when that one had been queued.
    pub last_whole: FxHashMap<u32, i64>,
    /// Where frees happen, by address of the code.
    pub places: FxHashMap<u64, Option<bool>>,
    pub barrier: i64,
}

impl Tracker for Xmits<'_> {
    fn gap(&mut self, gap: &GapRow) {
        self.barrier = self.barrier.max(gap.end_ns.unwrap_or(i64::MAX));
        *self.cpu(gap.cpu as u16) = CpuState::default();
        // What was cut up, sent or woken meanwhile is not known.
        let cut: Vec<Parent> = self.queues.qdiscs().flat_map(|q| q.fifo.drain()).collect();
        for q in self.queues.qdiscs() {
            q.fifo.forget();
        }
        for p in cut {
            self.close(Closed::broken(p));
        }
        for t in self.queues.txqs() {
            (t.looked, t.stopped) = (true, None);
        }
    }
}

impl Xmits<'_> {
    pub fn cpu(&mut self, cpu: u16) -> &mut CpuState {
        let at = usize::from(cpu);
        if self.cpus.len() <= at {
            self.cpus.resize_with(at + 1, CpuState::default);
        }
        &mut self.cpus[at]
    }
    pub fn pass(&mut self, at: u32) -> Option<&mut Work> {
        self.work.get_mut(at as usize)
    }
    /// The pass that the event's skb is in.
    pub fn of(&mut self, e: &Event<'_>, addr: u64) -> Option<u32> {
        let at = *self.open.get(&addr)?;
        let id = self.identity.of(e.index)?;
        let barrier = self.barrier;
        let w = self.pass(at).filter(|w| w.skb == Some(id))?;
        if w.queued.or(w.start).is_some_and(|t| t < barrier) {
            w.link(Confidence::Weak);
        }
        Some(at)
    }
    fn begin(&mut self, e: &Event<'_>, addr: u64, len: u32, dev: Name) -> u32 {
        let skb = self.identity.of(e.index);
        let mut w = Work::new(skb, addr, dev, Some(len), e.cpu);
        if let Some(life) = skb.and_then(|s| self.identity.life(s)) {
            w.link(life.links);
            // What would have left doubt of it may be among what was lost.
            if life.death_kind == DeathKind::Lost {
                w.link(Confidence::Strong);
            }
        }
        w.unsplit = !self.starts_are_told;
        self.work.push(w);
        let at = (self.work.len() - 1) as u32;
        self.open.insert(addr, at);
        at
    }
    /// All segments of a packet were seen: how sure the links are is known now.
    pub fn close(&mut self, c: Closed) {
        for s in c.parent.segments {
            if let Some(w) = self.pass(s) {
                w.link(c.confidence);
            }
        }
    }

    /// `net_dev_queue`.
    pub fn queue(&mut self, e: &Event<'_>, addr: u64, len: u32, dev: Name) {
        self.settle(e.cpu);
        let at = self.begin(e, addr, len, dev);
        if let Some(w) = self.pass(at) {
            w.queued = Some(e.ts);
        }
        let c = self.cpu(e.cpu);
        (c.queueing, c.segmented, c.fresh) = (Some(at), None, None);
        if !c.frames.sending() {
            c.bulk = None;
        }
    }

    /// Segments that this CPU had not sent when it went on to something else wait in their qdisc.
    pub fn settle(&mut self, cpu: u16) {
        let c = self.cpu(cpu);
        if c.gso.is_empty() {
            return;
        }
        for p in c.gso.drain().collect::<Vec<_>>().into_iter().rev() {
            self.put_back(p, None);
        }
    }

    /// What is left of a packet that was cut up goes back to its qdisc.
    pub fn put_back(&mut self, p: Parent, asked: Option<(u32, u32)>) {
        let of = self.pass(p.pass).map(|w| {
            if let Some((q, t)) = asked.filter(|_| w.qdisc.is_none()) {
                (w.qdisc, w.txq) = (Some(q), Some(t));
            }
            (w.qdisc, w.fate == PassEnd::Segmented)
        });
        let qdisc = of.filter(|f| f.1).and_then(|f| self.queues.qdisc_mut(f.0?));
        match qdisc {
            Some(q) => q.fifo.push_front(p),
            None => self.close(Closed::broken(p)),
        }
    }

    /// `net_dev_start_xmit`; `network` is the length of the headers before the transport header.
    pub fn start(&mut self, e: &Event<'_>, addr: u64, len: u32, dev: Name, queue: u16, network: u32) {
        let again = self.of(e, addr).filter(|at| {
            let w = self.work.get(*at as usize);
            w.is_some_and(|w| w.start.is_none() || w.rc == Some(BUSY))
        });
        let (at, counted) = match again {
            Some(at) => (at, false),
            None => {
                let at = self.begin(e, addr, len, dev);
                (at, self.segment(e.cpu, at, len, network))
            }
        };
        if !counted {
            self.of_bulk(e.cpu, at);
        }
        let by_name = &mut self.by_name;
        let Some(w) = self.work.get_mut(at as usize) else {
            return;
        };
        if let (Some(end), Some(BUSY)) = (w.end, w.rc) {
            w.refused = w.refused.wrapping_add(e.ts.wrapping_sub(end));
        }
        (w.start, w.end, w.rc, w.cpu) = (Some(e.ts), None, None, e.cpu);
        w.first_start = w.first_start.or(Some(e.ts));
        w.queue = Some(queue);
        match (w.qdisc, w.txq) {
            (Some(q), Some(t)) => {
                let known = by_name.entry((dev, queue)).or_insert(Some((q, t)));
                if known.is_some_and(|k| k.1 != t) {
                    *known = None; // the same name in two network namespaces
                }
                if let Some(x) = self.queues.txq_mut(t) {
                    (x.dev, x.queue) = (dev, Some(queue));
                }
            }
            // It bypassed its qdisc, which other packets named.
            _ => {
                if let Some(Some((q, t))) = by_name.get(&(dev, queue)) {
                    (w.qdisc, w.txq) = (Some(*q), Some(*t));
                }
            }
        }
        let c = self.cpu(e.cpu);
        c.fresh = None;
        c.frames.begin(Inside::Xmit { pass: at, addr }, e.ts);
    }

    /// A packet of a bulk, or a segment of one: by the order on the CPU.
    fn of_bulk(&mut self, cpu: u16, at: u32) {
        let c = self.cpu(cpu);
        // A transmit inside another one is of another device.
        let sending = c.frames.sending();
        let Some(b) = c.bulk.as_mut().filter(|b| b.left > 0 && !sending) else {
            return;
        };
        let of = *b;
        b.left -= 1;
        let Some(w) = self.work.get_mut(at as usize) else {
            return;
        };
        (w.qdisc, w.txq, w.held) = (Some(of.qdisc), Some(of.txq), true);
        let queued = w.queued.filter(|_| w.parent.is_none());
        self.whole(of.qdisc, queued);
    }

    /// A packet that was not cut up left its qdisc.
    fn whole(&mut self, qdisc: u32, queued: Option<i64>) {
        // Behind one that was queued before a loss, what was queued meanwhile follows.
        let queued = queued.filter(|t| *t >= self.barrier);
        let (Some(q), Some(queued)) = (self.queues.qdisc_mut(qdisc), queued) else {
            return;
        };
        let last = self.last_whole.insert(qdisc, queued).unwrap_or(i64::MIN);
        for c in q.fifo.whole(queued, last) {
            self.close(c);
        }
    }

    /// A packet that was never queued under its address: a segment of one that was. True: of one that this CPU cut up when
    /// it had taken it from the qdisc, and that was counted then.
    fn segment(&mut self, cpu: u16, at: u32, len: u32, network: u32) -> bool {
        let bulk = self.cpu(cpu).bulk;
        let found = match self.cpu(cpu).gso.segment(at, len, network) {
            Some(f) => Some((f, Confidence::Certain)),
            None => bulk
                .and_then(|b| self.queues.qdisc_mut(b.qdisc))
                .and_then(|q| Some((q.fifo.segment(at, len, network)?, Confidence::Strong))),
        };
        let Some(((parent, closed), link)) = found else {
            return false;
        };
        let of = self.work.get(parent as usize).cloned();
        if let (Some(w), Some(p)) = (self.pass(at), of) {
            (w.parent, w.queued, w.qdisc, w.txq, w.held) = (p.skb, p.queued, p.qdisc, p.txq, p.held);
            w.link(link.min(p.confidence));
        }
        if let Some(p) = self.pass(parent) {
            p.fate = PassEnd::Segmented;
        }
        if let Some(mut c) = closed {
            // Sent by the CPU that cut it up, one after the other: the order is certain, the bytes decide.
            if link == Confidence::Certain && c.conserved {
                c.confidence = Confidence::Certain;
            }
            self.close(c);
        }
        link == Confidence::Certain
    }

    /// `net_dev_xmit`.
    pub fn xmit(&mut self, e: &Event<'_>, addr: u64, rc: i32, dev: Name) {
        if !self.starts_are_told {
            return self.returned(e, addr, rc, dev);
        }
        let fits = |i: &Inside| matches!(i, Inside::Xmit { addr: a, .. } if *a == addr);
        let Some(f) = self.cpu(e.cpu).frames.end(fits, e.ts) else {
            return;
        };
        let Inside::Xmit { pass, .. } = f.of else { return };
        let Some(w) = self.pass(pass) else { return };
        (w.end, w.rc) = (Some(e.ts), Some(rc));
        let nested = super::tables::within(&f.inner, f.start, e.ts);
        let own = e.ts.wrapping_sub(f.start).wrapping_sub(nested);
        w.driver = Some(w.driver.unwrap_or(0).wrapping_add(own));
        w.nested = w.nested.wrapping_add(nested);
        w.inside = f.inner.into();
        if rc == BUSY {
            w.requeues = w.requeues.saturating_add(1);
        } else if w.fate == PassEnd::Open {
            w.fate = PassEnd::Sent;
        }
        let (txq, guessed) = (w.txq, !w.held);
        self.cpu(e.cpu).fresh = txq;
        if let Some(t) = txq.and_then(|t| self.queues.txq_mut(t)) {
            (t.last_xmit, t.looked, t.last_guessed) = (Some((e.ts, e.cpu)), false, guessed);
            if rc == BUSY && t.stopped.is_none() {
                t.stopped = Some((e.ts, super::stops::DRV_XOFF, e.ts));
            }
        }
    }
}
