//! The machine's part for ends: completions, drops, packets cut up, and those that go on as received ones.

use super::segments::Parent;
use super::tables::PassEnd;
use super::tracker::{BUSY, Xmits};
use super::work::Work;
use crate::confidence::Confidence;
use crate::ingest::Event;
use crate::name::Name;
use crate::reconstruct::skb::FreePlace;
use crate::reconstruct::skb::tables::DeathKind;

impl Xmits<'_> {
    /// The skb goes on as a received one: its driver gave it away (loopback, veth).
    pub fn handed_on(&mut self, e: &Event<'_>, addr: u64) {
        let told = self.starts_are_told;
        if let Some(at) = self.of(e, addr)
            && self.pass(at).is_some_and(|w| w.start.is_some() || !told)
        {
            self.open.remove(&addr);
            self.cpu(e.cpu).gone = Some((addr, at)).filter(|_| !told);
        }
    }

    /// `net_dev_xmit` where no event says when the driver began: it had the packet, which may be gone since.
    pub(super) fn returned(&mut self, e: &Event<'_>, addr: u64, rc: i32, dev: Name) {
        let gone = self.cpu(e.cpu).gone.take().filter(|g| g.0 == addr).map(|g| g.1);
        // The event may come after the packet's life.
        let Some(at) = self.open.get(&addr).copied().or(gone) else {
            return;
        };
        let barrier = self.barrier;
        // A stacked device's own end is none of the device's below it, whose queue may hold the packet for longer.
        let first = |w: &&mut Work| w.dev == dev && (w.end.is_none() || w.rc == Some(BUSY));
        let Some(w) = self
            .pass(at)
            .filter(|w| w.queued.is_none_or(|t| t >= barrier))
            .filter(first)
        else {
            return;
        };
        (w.end, w.rc, w.cpu) = (Some(e.ts), Some(rc), e.cpu);
        if rc == BUSY {
            w.requeues = w.requeues.saturating_add(1);
        } else if matches!(w.fate, PassEnd::Open | PassEnd::Consumed) {
            w.fate = PassEnd::Sent;
        }
    }

    /// A free of a packet that no event shows with its driver: after `net_dev_xmit` the driver's completion, before it anybody's.
    /// `kfree`: by `kfree_skb`; with `unsaid` it gave no reason.
    fn freed_untold(&mut self, e: &Event<'_>, (addr, at): (u64, u32), location: u64, (kfree, unsaid): (bool, bool)) {
        let completes = self.completes(at, location);
        let segmented = self.died_segmented(at);
        let refused = self.frees.place(location) == FreePlace::Transmit;
        self.cpu(e.cpu).gone = Some((addr, at));
        let Some(w) = self.pass(at) else { return };
        match w.fate {
            PassEnd::Sent if completes && kfree && !unsaid => w.fate = PassEnd::Dropped,
            PassEnd::Sent if completes => (w.completed, w.fate) = (Some(e.ts), PassEnd::Completed),
            PassEnd::Open if segmented => (w.end, w.fate) = (Some(e.ts), PassEnd::Segmented),
            PassEnd::Open if !kfree => {
                (w.end, w.fate) = (Some(e.ts), PassEnd::Consumed);
                // Its driver's function may return later, on another CPU.
                w.link(Confidence::Weak);
            }
            PassEnd::Open if completes || refused => (w.end, w.fate) = (Some(e.ts), PassEnd::Dropped),
            _ => {}
        }
    }

    /// Whether a free at `location`, outside the driver's transmit function, is the completion of what the driver took. Where no event tells that
    /// a driver handed the packet on, the code that freed it may (a protocol frees what it received), or the device; of any other it is not told.
    fn completes(&mut self, at: u32, location: u64) -> bool {
        let Some(dev) = self.pass(at).map(|w| w.dev) else {
            return false;
        };
        let received = matches!(self.frees.place(location), FreePlace::Tcp | FreePlace::Receiver);
        !received && (self.handing_on_is_told || self.known.hands_on(dev) == Some(false))
    }

    /// `consume_skb`.
    pub fn consumed(&mut self, e: &Event<'_>, addr: u64, location: u64) {
        self.cpu(e.cpu).fresh = None;
        let Some(at) = self.of(e, addr) else { return };
        self.open.remove(&addr);
        if !self.starts_are_told {
            return self.freed_untold(e, (addr, at), location, (false, false));
        }
        let completes = self.cpu(e.cpu).frames.in_xmit(at) || self.completes(at, location);
        let segmented = self.died_segmented(at);
        let bulk = self.cpu(e.cpu).bulk.filter(|b| b.left > 0);
        let Some(w) = self.pass(at) else { return };
        if w.start.is_some() {
            if completes {
                (w.completed, w.fate) = (Some(e.ts), PassEnd::Completed);
            }
            return;
        }
        w.end = Some(e.ts);
        w.fate = if segmented {
            PassEnd::Segmented
        } else {
            PassEnd::Consumed
        };
        if let (Some(b), None) = (bulk, w.txq) {
            (w.qdisc, w.txq, w.held) = (Some(b.qdisc), Some(b.txq), true);
        }
        let (len, queued) = (w.bytes.unwrap_or(0), w.queued.unwrap_or(e.ts));
        if let Some(b) = self.cpu(e.cpu).bulk.as_mut().filter(|_| bulk.is_some()) {
            b.left -= 1;
        }
        let gso_size = self.gso_size(at);
        self.cpu(e.cpu).gso.push(Parent::new(at, addr, (len, gso_size), queued));
    }

    /// What drivers were told of its segments.
    fn gso_size(&self, at: u32) -> u16 {
        let skb = self.work.get(at as usize).and_then(|w| w.skb);
        skb.and_then(|skb| self.identity.life(skb)).map_or(0, |l| l.gso_size)
    }

    /// The tracker of lives says that its segments were built.
    fn died_segmented(&self, at: u32) -> bool {
        let id = self.work.get(at as usize).and_then(|w| w.skb);
        id.and_then(|s| self.identity.life(s))
            .is_some_and(|l| l.death_kind == DeathKind::Segmented)
    }

    /// `kfree_skb`; `unsaid`: no reason was given.
    pub fn dropped(&mut self, e: &Event<'_>, addr: u64, location: u64, packet: bool, unsaid: bool) {
        let Some(at) = self.of(e, addr) else {
            // No event named it before: a segment of the packet that this CPU is queueing.
            if self.identity.of(e.index).is_none() && packet {
                self.dropped_segment(e, location);
            }
            return;
        };
        self.open.remove(&addr);
        if !self.starts_are_told {
            return self.freed_untold(e, (addr, at), location, (true, unsaid));
        }
        let inside = self.cpu(e.cpu).frames.in_xmit(at);
        let completes = inside || self.completes(at, location);
        let Some(w) = self.pass(at) else { return };
        match (w.start.is_some(), inside) {
            // It had been handed on: a receiver dropped it.
            (true, false) if !completes => (),
            // Drivers that free what they sent by kfree_skb give no reason.
            (true, false) if unsaid => (w.completed, w.fate) = (Some(e.ts), PassEnd::Completed),
            (true, _) => (w.fate, w.completed) = (PassEnd::Dropped, None),
            (false, _) => (w.end, w.fate) = (Some(e.ts), PassEnd::Dropped),
        }
    }

    fn dropped_segment(&mut self, e: &Event<'_>, location: u64) {
        let Some((q, parent)) = self.cpu(e.cpu).segmented else {
            return;
        };
        let symbols = self.symbols;
        let place = self.places.entry(location).or_insert_with(|| {
            let name = symbols.resolve(location)?.0;
            let queueing = ["__dev_queue_xmit", "__dev_xmit_skb", "dev_qdisc_enqueue"];
            Some(queueing.iter().any(|q| name.starts_with(q)))
        });
        let link = match place {
            Some(true) => Confidence::Strong,
            Some(false) => return,
            None => Confidence::Weak,
        };
        let Some(p) = self.work.get(parent as usize).cloned() else {
            return;
        };
        let mut w = Work::new(None, 0, p.dev, None, e.cpu);
        (w.parent, w.queued, w.qdisc, w.txq, w.held) = (p.skb, p.queued, p.qdisc, p.txq, true);
        (w.end, w.fate) = (Some(e.ts), PassEnd::Dropped);
        w.link(link.min(p.confidence));
        self.work.push(w);
        if let Some(q) = self.queues.qdisc_mut(q) {
            q.fifo.dropped(parent);
        }
    }
}
