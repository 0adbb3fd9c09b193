//! The transmit path: write queue, device queue, qdisc, driver, and packets that are sent on.

use super::life::Phase;
use super::tables::{BirthKind, SkbClass};
use super::tracker::Skbs;
use crate::confidence::Confidence;
use crate::ingest::Event;
use crate::name::Name;

/// Without softirq events, an skb is taken for forwarded only this soon after it was received.
const MOMENT_NS: i64 = 20_000;
/// Link-layer header that a forwarded frame gains again: Ethernet, and Ethernet with one VLAN tag.
const LINK_HEADERS: [u32; 2] = [14, 18];

impl Skbs<'_> {
    /// Whether the CPU has been in one softirq run since `ts`; without softirq events, whether that was moments ago.
    pub(super) fn same_run(&self, e: &Event<'_>, ts: i64) -> bool {
        match self.softirq_since.get(usize::from(e.cpu)) {
            Some(since) if *since > i64::MIN => *since <= ts,
            _ => e.ts - ts < MOMENT_NS,
        }
    }

    /// `softirq_entry` of a CPU.
    pub(super) fn softirq(&mut self, e: &Event<'_>) {
        let at = usize::from(e.cpu);
        if self.softirq_since.len() <= at {
            self.softirq_since.resize(at + 1, i64::MIN);
        }
        if let Some(s) = self.softirq_since.get_mut(at) {
            *s = e.ts;
        }
    }

    pub(super) fn tx_class(&self, addr: u64) -> SkbClass {
        let Some(d) = self.distance else { return SkbClass::Tx };
        match self.open.get(&addr.wrapping_sub(d)) {
            Some(o) if o.class == SkbClass::TxOriginal => SkbClass::TxClone,
            _ => SkbClass::TxOther,
        }
    }

    pub(super) fn queue(&mut self, e: &Event<'_>, addr: u64, len: u32, dev: Name) {
        let link = self.open.get(&addr).and_then(|l| {
            let stacked = l.phase == Phase::TxStarted && self.stacks.in_xmit(e.cpu, l.id);
            let gained = l.last_len.map(|had| len.wrapping_sub(had));
            // A packet is sent on in the softirq that received it; later the address may be another packet of that length.
            let forwarded = l.phase == Phase::Received
                && l.last_cpu == e.cpu
                && e.in_softirq()
                && self.same_run(e, l.last_ns)
                && gained.is_some_and(|g| LINK_HEADERS.contains(&g));
            match (stacked, forwarded) {
                (true, _) => Some(Confidence::Certain),
                // Where tcp_probe names no skb (before 6.9), a freed segment's address may carry one of the same length at once.
                (_, true) if self.probe_names_skb => Some(Confidence::Certain),
                (_, true) => Some(Confidence::Strong),
                _ => None,
            }
        });
        match link {
            Some(link) => {
                self.touch(e, addr, Phase::TxQueued, link);
                self.hop(e, addr, "queue", dev, len, link);
            }
            None => {
                let class = self.tx_class(addr);
                self.birth(e, addr, class, Phase::TxQueued, BirthKind::Seen, (dev, Some(len)));
                self.hop(e, addr, "queue", dev, len, Confidence::Certain);
                if let Some(o) = self.distance.and_then(|d| self.open.get_mut(&addr.wrapping_sub(d))) {
                    // The original has been sent: as a write-queue tail its address would be a new skb.
                    o.sent |= o.class == SkbClass::TxOriginal;
                }
            }
        }
    }

    pub(super) fn start_xmit(&mut self, e: &Event<'_>, addr: u64, len: u32, dev: Name) {
        let known = self
            .open
            .get(&addr)
            .is_some_and(|l| matches!(l.phase, Phase::TxQueued | Phase::TxStarted));
        if known {
            self.touch(e, addr, Phase::TxStarted, Confidence::Certain);
        } else {
            // A segment built by software GSO or by a qdisc, or a packet queued before the recording began.
            self.birth(
                e,
                addr,
                SkbClass::TxSegment,
                Phase::TxStarted,
                BirthKind::Inferred,
                (dev, Some(len)),
            );
        }
        self.hop(e, addr, "xmit", dev, len, Confidence::Certain);
        if let Some(l) = self.open.get(&addr) {
            self.stacks.xmit_begin(e.cpu, addr, l.id);
        }
    }

    pub(super) fn write_queue(&mut self, e: &Event<'_>, addr: u64, is_tail: bool) {
        if addr == 0 {
            return;
        }
        // An original that was sent left the write queue: the same address as its tail is a new skb.
        let same = self
            .open
            .get(&addr)
            .is_some_and(|l| l.class == SkbClass::TxOriginal && !(is_tail && l.sent));
        if same {
            self.touch(e, addr, Phase::WriteQueue, Confidence::Strong);
        } else {
            self.birth(
                e,
                addr,
                SkbClass::TxOriginal,
                Phase::WriteQueue,
                BirthKind::Inferred,
                (Name::default(), None),
            );
        }
    }

    /// `qdisc_enqueue` fires after the fact, and its pointer is stale when the qdisc built segments: only a life that is
    /// waiting to be sent is meant.
    pub(super) fn in_qdisc(&mut self, e: &Event<'_>, addr: u64) {
        if self.open.get(&addr).is_some_and(|l| l.phase == Phase::TxQueued) {
            self.touch(e, addr, Phase::TxQueued, Confidence::Certain);
        }
    }
}
