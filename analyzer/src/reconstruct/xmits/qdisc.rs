//! The machine's part for qdisc events: what was enqueued and dequeued, and when a queue was stopped.

use super::queues::Named;
use super::segments::Parent;
use super::stops::{DRV_XOFF, STACK_XOFF};
use super::tables::PassEnd;
use super::tracker::{Bulk, Xmits};
use crate::ingest::Event;

/// The softirq that runs scheduled qdiscs.
const NET_TX: u32 = 2;

impl Xmits<'_> {
    /// `qdisc_enqueue`: fires after the fact; of a packet that was cut up only the address is left.
    pub fn enqueued(&mut self, e: &Event<'_>, n: Named, addr: u64) {
        let (q, t) = self.queues.of(n);
        let c = self.cpu(e.cpu);
        c.fresh = None;
        let cut: Option<Parent> = c.gso.take_last(addr);
        let Some(at) = c.queueing else {
            return;
        };
        let Some(w) = self.pass(at).filter(|w| w.addr == addr) else {
            return;
        };
        (w.qdisc, w.txq, w.held) = (Some(q), Some(t), true);
        if let Some(p) = cut {
            w.fate = PassEnd::Segmented;
            self.cpu(e.cpu).segmented = Some((q, at));
            if let Some(q) = self.queues.qdisc_mut(q) {
                q.fifo.push(p);
            }
        }
    }

    /// `qdisc_dequeue`.
    pub fn dequeued(&mut self, e: &Event<'_>, n: Named, packets: i32, addr: u64, state: u64) {
        let (q, t) = self.queues.of(n);
        let first = self.of(e, addr).filter(|_| packets > 0);
        let queued = first.and_then(|f| self.work.get(f as usize)).and_then(|w| w.queued);
        let c = self.cpu(e.cpu);
        c.fresh = None;
        let (net_tx, answered) = (c.net_tx, c.answered);
        // Segments of software GSO that a stop kept back wait in this qdisc now.
        for p in c.gso.drain().collect::<Vec<_>>().into_iter().rev() {
            self.put_back(p, Some((q, t)));
        }
        let bits = state & (DRV_XOFF | STACK_XOFF);
        let Some(x) = self.queues.txq_mut(t) else { return };
        let last = x.last_xmit.map_or(e.ts, |l| l.0);
        let mut stop = None;
        match (packets > 0, bits) {
            (false, 0) => stop = x.stopped.take().map(|s| (s.0, e.ts, s.1)),
            (false, _) => {
                let s = x.stopped.get_or_insert((last, bits, e.ts));
                (s.1, s.2) = (s.1 | bits, e.ts);
            }
            (true, _) => {
                if let Some((from, bits, shown)) = x.stopped.take() {
                    let woken = answered.filter(|r| *r > shown).unwrap_or(e.ts);
                    stop = Some((from, woken, bits));
                } else if let (Some(entry), Some(queued)) = (net_tx, queued)
                    && !x.looked
                    && x.last_xmit.is_some()
                    // No packet bypasses a qdisc that holds one: that transmit was of a device of the same name.
                    && !(x.last_guessed && queued < last)
                    && queued.max(last) < entry
                {
                    // Nobody asked the qdisc since its last packet went out, though it held one: a qdisc of one
                    // queue is not asked (and says nothing) while that is stopped.
                    let woken = answered.filter(|r| *r > last.max(queued)).unwrap_or(e.ts);
                    stop = Some((last, woken, 0));
                }
            }
        }
        (x.looked, x.last_look) = (true, e.ts);
        if let Some((from, to, bits)) = stop {
            self.stops.add(t, from, Some(to), bits);
        }
        if packets <= 0 {
            return;
        }
        if let Some(w) = first.and_then(|f| self.pass(f)) {
            (w.qdisc, w.txq, w.held) = (Some(q), Some(t), true);
        }
        self.cpu(e.cpu).bulk = Some(Bulk {
            qdisc: q,
            txq: t,
            left: packets,
        });
    }

    /// `softirq_raise`.
    pub fn raise(&mut self, e: &Event<'_>, vec: u32) {
        if vec != NET_TX {
            return;
        }
        let c = self.cpu(e.cpu);
        c.raised = Some(e.ts);
        // The sender itself asked to go on later (its quota was used up, or a packet was put back): no stop by silence.
        if let Some(t) = c.fresh.take().and_then(|t| self.queues.txq_mut(t)) {
            t.looked = true;
        }
    }
    /// `softirq_entry`.
    pub fn softirq(&mut self, e: &Event<'_>, vec: u32) {
        let c = self.cpu(e.cpu);
        c.fresh = None;
        c.frames.begin(super::frames::Inside::Softirq, e.ts);
        if vec == NET_TX {
            (c.net_tx, c.answered) = (Some(e.ts), c.raised.take());
        }
    }
    /// `softirq_exit`.
    pub fn softirq_end(&mut self, e: &Event<'_>, vec: u32) {
        let c = self.cpu(e.cpu);
        c.frames.end(|f| *f == super::frames::Inside::Softirq, e.ts);
        c.bulk = None;
        if vec == NET_TX {
            (c.net_tx, c.answered) = (None, None);
        }
    }
}
