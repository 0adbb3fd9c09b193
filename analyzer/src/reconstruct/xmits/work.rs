//! A pass while it is put together, and how it becomes a row.

use super::known::{Known, NOQUEUE};
use super::queues::Queues;
use super::stops::Stops;
use super::tables::{Pass, PassEnd, within};
use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::name::Name;

/// A pass in the making.
#[derive(Debug, Clone)]
pub(super) struct Work {
    pub skb: Option<SkbId>,
    pub parent: Option<SkbId>,
    pub addr: u64,
    pub dev: Name,
    pub queue: Option<u16>,
    pub bytes: Option<u32>,
    pub cpu: u16,
    /// Position of the root qdisc and of the transmit queue, once an event named them.
    pub qdisc: Option<u32>,
    pub txq: Option<u32>,
    /// A qdisc held it: it was enqueued, or a dequeue gave it.
    pub held: bool,
    /// Where it left the qdisc for its driver is not recorded: that time has no parts.
    pub unsplit: bool,
    pub queued: Option<i64>,
    pub first_start: Option<i64>,
    pub start: Option<i64>,
    pub end: Option<i64>,
    pub completed: Option<i64>,
    /// In transmit functions, what nests in them left out.
    pub driver: Option<i64>,
    pub nested: i64,
    /// What nested in the last transmit function.
    pub inside: Box<[(i64, i64)]>,
    /// Between a refusal and the next start.
    pub refused: i64,
    pub requeues: u16,
    pub rc: Option<i32>,
    pub fate: PassEnd,
    pub confidence: Confidence,
}

impl Work {
    pub fn new(skb: Option<SkbId>, addr: u64, dev: Name, bytes: Option<u32>, cpu: u16) -> Work {
        Work {
            skb,
            parent: None,
            addr,
            dev,
            queue: None,
            bytes,
            cpu,
            qdisc: None,
            txq: None,
            held: false,
            unsplit: false,
            queued: None,
            first_start: None,
            start: None,
            end: None,
            completed: None,
            driver: None,
            nested: 0,
            inside: Box::default(),
            refused: 0,
            requeues: 0,
            rc: None,
            fate: PassEnd::Open,
            confidence: Confidence::Certain,
        }
    }
    pub fn link(&mut self, c: Confidence) {
        self.confidence = self.confidence.min(c);
    }

    /// The row: differences of neighbours; what is in none of them is unattributed, so the parts sum by construction.
    /// Nothing is clamped: a negative part is the clocks' error and is shown.
    pub fn row(&self, queues: &Queues, stops: &Stops, told: bool, known: &Known) -> Pass {
        let first = self.queued.or(self.start).or(self.end).unwrap_or_default();
        let ended = self.end.or(self.start).unwrap_or(first);
        let last = self.completed.unwrap_or(ended);
        // Freed by another CPU before the driver's function returned: that ends the driver's part, and there is no completion
        // of its own. What is before the start is the clocks' error and is shown.
        let late = self.completed.filter(|c| *c > ended).map(|c| c.wrapping_sub(ended));
        let (mut driver, mut nested) = (self.driver, self.nested);
        if let (Some(c), Some(end)) = (self.completed.filter(|c| *c < ended), self.end) {
            let cut = within(&self.inside, c, end);
            driver = driver.map(|d| d.wrapping_sub(end.wrapping_sub(c)).wrapping_add(cut));
            nested = nested.wrapping_sub(cut);
        }
        let without_driver = self.end.filter(|_| self.start.is_none() && !self.unsplit);
        let left_qdisc = self.first_start.or(without_driver);
        let kind = match self.qdisc.and_then(|q| queues.qdisc(q)) {
            Some(q) => known.qdisc(self.dev, q),
            // No qdisc event named its queue: a device without one, or bypassed throughout.
            None => known.device(self.dev),
        };
        let bypass = match (self.held, told) {
            (true, _) => Some(false),
            // There is none to wait in.
            _ if kind.is_some_and(|k| k.text() == NOQUEUE) && self.first_start.is_some() => Some(true),
            // Dropped by a qdisc without having been taken.
            (false, true)
                if self.queued.is_some() && (self.first_start.is_some() || self.fate == PassEnd::Segmented) =>
            {
                Some(true)
            }
            _ => None,
        };
        let waited = self.queued.zip(left_qdisc).map(|(a, b)| b.wrapping_sub(a));
        let (mut bql, mut ring) = (0, 0);
        if let (Some(from), Some(to), Some(txq)) = (self.queued, left_qdisc, self.txq) {
            (bql, ring) = stops.within(txq, from, to);
        }
        let in_qdisc = match bypass {
            Some(true) => Some(0),
            _ => waited.map(|w| w.wrapping_sub(bql).wrapping_sub(ring)),
        };
        let ring = ring.wrapping_add(self.refused);
        let some = |ns: i64| (ns != 0).then_some(ns);
        let mut row = Pass {
            skb_id: self.skb,
            parent: self.parent,
            dev: self.dev,
            ifindex: self.qdisc.and_then(|q| queues.qdisc(q)).map(|q| q.ifindex),
            queue: self.queue,
            qdisc: kind.unwrap_or_default(),
            bypass,
            bytes: self.bytes,
            queued_ns: self.queued,
            started_ns: self.start,
            ended_ns: self.end,
            completed_ns: self.completed,
            qdisc_ns: in_qdisc,
            bql_ns: some(bql),
            ring_ns: some(ring),
            driver_ns: driver,
            nested_ns: some(nested),
            inside: self.inside.clone(),
            completion_ns: late,
            total_ns: last.wrapping_sub(first),
            unattributed_ns: 0,
            requeues: self.requeues,
            rc: self.rc,
            end: self.fate,
            cpu: self.cpu,
            confidence: self.confidence,
        };
        let parts = row.parts();
        let sum = parts.iter().fold(0i64, |s, p| s.wrapping_add(p.1.unwrap_or(0)));
        row.unattributed_ns = row.total_ns.wrapping_sub(sum);
        row
    }
}
