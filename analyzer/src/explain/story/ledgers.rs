//! Waits of ledger rows, and the events at their ends.

use super::single::SAMPLES;
use super::{Id, Kind, Pin, Story};
use crate::analyses::verdict::duration;
use crate::explain::Ledger;
use crate::explain::stages::{self, Step};
use crate::reconstruct::lineage::tables::LineageKind;
use crate::reconstruct::receive::tables::RxRow;
use crate::reconstruct::transmit::tables::TxRow;

const RECEIVED: [&str; 2] = ["netif_receive_skb", "netif_receive_skb_entry"];

impl Story<'_, '_> {
    /// `netif_receive_skb` of a unit: the last one on its CPU that names it.
    fn received(&self, r: &RxRow) -> Option<i64> {
        let e = self.explainer;
        let kinds: Vec<u16> = RECEIVED
            .iter()
            .filter_map(|n| Some(e.trace.schema.format("net", n)?.id))
            .collect();
        let (from, to) = (r.start_ns, r.start_ns.saturating_add(r.total_ns));
        let of = e.trace.recs.iter().enumerate().filter(|(i, x)| {
            kinds.contains(&x.kind) && (from..=to).contains(&x.ts) && e.identity.of(*i as u32) == Some(r.skb_id)
        });
        let mut of: Vec<(bool, i64)> = of
            .map(|(_, x)| (x.kind == kinds.first().copied().unwrap_or(0), x.ts))
            .collect();
        // `netif_receive_skb` decides where both were recorded.
        of.sort_by_key(|x| (!x.0, x.1));
        of.first().map(|x| x.1)
    }

    pub(super) fn steps_of_rx(&self, r: &RxRow) -> Vec<Step> {
        stages::receive(r, self.received(r))
    }

    pub(super) fn receive_ledger(&mut self, r: &RxRow) {
        let steps = self.steps_of_rx(r);
        let end = r.start_ns.saturating_add(r.total_ns);
        if r.pid > 0 {
            let from = end.saturating_sub(r.total_ns.min(r.rcvq_ns.unwrap_or(0).saturating_add(after(&steps))));
            self.wanted.tasks.push((r.pid, from, end));
        }
        self.ledger(
            Id::new(Kind::Rx, r.skb_id.0),
            (r.start_ns, r.total_ns),
            steps,
            r.confidence.word(),
        );
        self.related.extend(r.connection.map(|c| Id::new(Kind::Conn, c.0)));
    }

    pub(super) fn transmit_ledger(&mut self, r: &TxRow) {
        let f = self.facts;
        let (from, to) = (r.start_ns, r.start_ns.saturating_add(r.total_ns));
        if r.pid > 0 {
            self.wanted.tasks.push((r.pid, from, r.t_sched_ns));
        }
        if let Some(c) = r.connection {
            self.related.push(Id::new(Kind::Conn, c.0));
            // The windows that held it, and the ACK that ended it.
            let of = f.tcp_samples.iter().filter(|s| s.connection == c);
            for s in of.filter(|s| (from..=to).contains(&s.time_ns)) {
                self.wanted.moments.insert(s.time_ns, &SAMPLES);
            }
        }
        let family = [Some(r.skb_id), r.original];
        for skb in family.into_iter().flatten() {
            let cut = |k: LineageKind| {
                matches!(
                    k,
                    LineageKind::Gso | LineageKind::QdiscSegment | LineageKind::Fclone | LineageKind::RetransmitCopy
                )
            };
            let children = f.lineage.iter().filter(|l| l.parent == skb && cut(l.kind));
            self.wanted.skbs.push(skb);
            self.wanted.skbs.extend(children.map(|l| l.child));
        }
        let steps = stages::transmit(r);
        self.ledger(
            Id::new(Kind::Tx, r.skb_id.0),
            (r.start_ns, r.total_ns),
            steps,
            r.confidence.word(),
        );
    }

    /// Looks for an event that the row was made from.
    pub(super) fn pin(&mut self, pin: Pin) {
        self.wanted.pins.push(pin);
    }

    /// The parts of what the story is about, whose ends are pinned by who tells it; none where there are none.
    pub(super) fn parts(&mut self, (start_ns, steps): (i64, Vec<Step>), confidence: &'static str) {
        let total_ns = steps.iter().fold(0i64, |sum, s| sum.wrapping_add(s.ns));
        if !steps.is_empty() {
            self.ledgers.push(Ledger {
                id: self.id.to_string(),
                start_ns,
                total_ns,
                steps,
                confidence,
            });
        }
    }

    fn ledger(&mut self, id: Id, (start_ns, total_ns): (i64, i64), steps: Vec<Step>, confidence: &'static str) {
        for s in steps.iter().filter(|s| s.exact) {
            self.wanted.moments.insert(s.from_ns, &[]);
            self.wanted.moments.insert(s.to_ns, &[]);
        }
        self.wanted.moments.insert(start_ns, &[]);
        self.wanted.moments.insert(start_ns.saturating_add(total_ns), &[]);
        self.ledgers.push(Ledger {
            id: id.to_string(),
            start_ns,
            total_ns,
            steps,
            confidence,
        });
    }
}

/// ns of copy and return.
fn after(steps: &[Step]) -> i64 {
    let of = steps.iter().filter(|s| s.stage == "copy" || s.stage == "return");
    of.fold(0, |sum, s| sum.saturating_add(s.ns.max(0)))
}

/// The longest wait in words.
pub(super) fn most(steps: &[Step]) -> String {
    let top = steps.iter().max_by_key(|s| s.ns).filter(|s| s.ns > 0);
    top.map_or_else(String::new, |s| format!("longest: {} {}; ", s.stage, duration(s.ns)))
}
