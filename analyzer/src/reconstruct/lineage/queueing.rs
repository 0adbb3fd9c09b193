//! What a device's queue drops while it is asked to take a packet: segments of that one, or of what lay in it.
//!
//! In: packets queued and cut, and frees at the end of that. Out: how many segments of a packet were refused, or that order tells
//! nothing more of a device's segments. Must not take every drop for a refusal: a queue that drops its head (pfifo_head_drop,
//! sfq, fq_codel, cake) has the new packet. Such a segment is named by no event, so whose it was is not known.
//!
//! ```text
//! queue(P) consume(P, tbf_..)  kfree(?)..   a full queue refuses segments of P at its tail: counted
//! queue(P) kfree(P, tbf_..)    kfree(?)..   it refused all of them; or it dropped others for each, and has them
//! queue(Q)                     kfree(?)     Q is whole: what else was dropped had been taken    ─┐ the queue drops what it has taken:
//! queue(Q)                     kfree(R)     R was queued there before                           ─┴ of no drop there is it known whose it is
//! ```

use rustc_hash::FxHashSet;

use super::queues::Queue;
use super::split::{Splits, Way};
use super::tables::{Conserved, LineageKind};
use super::why::Why;
use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::name::Name;

/// What was queued last on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Queueing {
    /// Nothing, or what software GSO cut right after.
    #[default]
    Nothing,
    /// A packet that is whole, and what runs: thread and CPU.
    Whole(Name, SkbId, (i32, u16)),
    /// A packet that the queue cut up and took of.
    Cut(Way, SkbId),
    /// A packet that the queue cut up, and said that it took nothing of.
    Refused(Name),
}

impl Splits {
    /// A packet is queued on the CPU, or cut there: drops that follow are not of the last packet's segments.
    pub fn is_at(&mut self, cpu: u16, what: Queueing) {
        let (at, closed) = (usize::from(cpu), self.units.len());
        if self.last.len() <= at {
            self.last.resize(at + 1, (Queueing::default(), 0));
        }
        if let Some((of, begun)) = self.last.get_mut(at) {
            if matches!(what, Queueing::Whole(..)) {
                *begun = closed;
            }
            *of = what;
        }
    }

    fn queueing(&self, cpu: u16) -> (Queueing, usize) {
        self.last.get(usize::from(cpu)).copied().unwrap_or_default()
    }

    /// A packet was freed as dropped by the queue that had cut it up.
    pub fn refused(&mut self, ts: i64, cpu: u16, dev: Name) {
        // Its segments may be there; of which queue of that name no event tells.
        self.last_cut.insert(Queue::unnamed(dev), ts);
        if self.inside.contains(&dev) {
            self.shuffled(dev);
        }
        self.is_at(cpu, Queueing::Refused(dev));
    }

    /// An skb that no event introduced was dropped by the transmit path; `in_queueing`: by what asks a device's queue to take a packet. `who`: what runs.
    pub fn dropped(&mut self, cpu: u16, who: (i32, u16), in_queueing: bool) {
        let (what, begun) = self.queueing(cpu);
        let dev = match what {
            Queueing::Whole(dev, _, of) if in_queueing && of == who => {
                self.shows(dev);
                dev
            }
            Queueing::Cut(way, parent) => {
                let of = self.ways.get_mut(&way);
                let of = of.and_then(|of| of.iter_mut().rev().find(|c| c.parent == parent));
                if let Some(cut) = of {
                    cut.dropped += 1;
                }
                way.queue.dev
            }
            Queueing::Refused(dev) => dev,
            _ => return,
        };
        if self.inside.contains(&dev) {
            self.shuffled(dev);
            // It is freed only when the queue has been asked to give what follows, too.
            self.untold.push((dev, begun, self.units.len()));
        } else {
            self.assumed.entry(dev).or_insert(self.units.len());
        }
    }

    /// A device's queue drops what it has taken: drops before this, that were taken for refusals, may be of this kind.
    fn shows(&mut self, dev: Name) {
        if self.inside.insert(dev) {
            self.shuffled(dev);
            let since = self.assumed.remove(&dev).unwrap_or(self.units.len());
            self.untold.push((dev, since, self.units.len()));
        }
    }

    /// A packet of a device's queue, handed to no driver, was dropped while that queue was asked to take one.
    pub fn taken_out(&mut self, cpu: u16, dev: Name, skb: SkbId) {
        let other = match self.queueing(cpu).0 {
            Queueing::Whole(of, asked, _) => of == dev && asked != skb,
            Queueing::Cut(way, _) => way.queue.dev == dev,
            Queueing::Refused(of) => of == dev,
            Queueing::Nothing => false,
        };
        if other {
            self.shows(dev);
        }
    }

    /// Some queue let go of an skb that no event introduced.
    pub fn let_go(&mut self) {
        let of = self.ways.keys().filter(|w| w.cpu.is_none());
        let waiting: FxHashSet<Name> = of.map(|w| w.queue.dev).collect();
        self.shuffle(&waiting);
    }

    /// Segments of some packet of a device's queue are gone: what comes next may be of any.
    fn shuffled(&mut self, dev: Name) {
        self.shuffle(&FxHashSet::from_iter([dev]));
    }

    fn shuffle(&mut self, of: &FxHashSet<Name>) {
        self.aligned.retain(|queue| !of.contains(&queue.dev));
        let of = self
            .ways
            .keys()
            .filter(|w| w.cpu.is_none() && of.contains(&w.queue.dev));
        let mut of: Vec<Way> = of.copied().collect();
        of.sort_unstable_by_key(|w| w.queue);
        for way in of {
            let known = self.known_headers(way.queue);
            for cut in self.ways.remove(&way).into_iter().flatten() {
                self.close(way, cut, known);
            }
        }
    }

    /// Why a packet's segments may be another's.
    pub(super) fn unordered(&self, queue: Queue) -> Why {
        match self.inside.contains(&queue.dev) {
            true => Why::QueueDrops,
            false if self.of_any(queue) => Why::Devices,
            false => Why::Order,
        }
    }

    /// Whether it may be any of several devices' queues.
    pub(super) fn of_any(&self, queue: Queue) -> bool {
        queue.qdisc == 0 && self.several.contains(&queue.dev)
    }

    /// Of packets whose segments may be among those dropped nothing is known.
    pub(super) fn doubt(&mut self) {
        let mut parents: FxHashSet<SkbId> = FxHashSet::default();
        for (of, from, to) in std::mem::take(&mut self.untold) {
            let first = self.of_queue.partition_point(|(at, _)| *at < from);
            let units = self.of_queue.get(first..).unwrap_or(&[]).iter();
            for (at, _) in units.take_while(|(at, _)| *at < to).filter(|(_, dev)| *dev == of) {
                if let Some(unit) = self.units.get_mut(*at) {
                    (unit.conserved, unit.why) = (Conserved::Unknown, Why::QueueDrops);
                    parents.insert(unit.skb);
                }
            }
        }
        let of = |kind: LineageKind| kind == LineageKind::QdiscSegment;
        for row in self
            .rows
            .iter_mut()
            .filter(|r| of(r.kind) && parents.contains(&r.parent))
        {
            (row.conserved, row.why) = (Conserved::Unknown, Why::QueueDrops);
            row.confidence = row.confidence.min(Confidence::Weak);
        }
    }
}
