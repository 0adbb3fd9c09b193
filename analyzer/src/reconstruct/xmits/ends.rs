//! The machine's part for ends: completions, drops, packets cut up, and those that go on as received ones.

use super::segments::Parent;
use super::tables::PassEnd;
use super::tracker::Xmits;
use super::work::Work;
use crate::confidence::Confidence;
use crate::ingest::Event;
use crate::reconstruct::skb::FreePlace;
use crate::reconstruct::skb::tables::DeathKind;

impl Xmits<'_> {
    /// The skb goes on as a received one: its driver gave it away (loopback, veth).
    pub fn handed_on(&mut self, e: &Event<'_>, addr: u64) {
        if let Some(at) = self.of(e, addr)
            && self.pass(at).is_some_and(|w| w.start.is_some())
        {
            self.open.remove(&addr);
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
