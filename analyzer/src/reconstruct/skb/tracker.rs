//! The machine: births, continuations, deaths.

use rustc_hash::FxHashMap;

use super::again::Entry;
use super::devices::Devices;
use super::fclone::Layout;
use super::frees::Frees;
use super::identity::Sent;
use super::life::{Life, Phase};
use super::programs::Programs;
use super::stack::Stacks;
use super::tables::{BirthKind, DeathKind, HopRow, SkbClass, SkbRow};
use super::verdicts::Verdicts;
use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::ingest::{Event, GapRow};
use crate::name::Name;
use crate::reconstruct::dispatch::Tracker;

/// An skb first seen this soon after the recording began, or after a loss, may be older than its first event.
pub(super) const CENSOR_NS: i64 = 1_000_000;
/// IP and TCP headers of a segment: smallest and largest sum.
const HEADERS: std::ops::RangeInclusive<u32> = 40..=140;
/// Packets of one softirq run at most.
const DELIVERED: usize = 4096;
/// Where no softirq event tells where a run ends: what was delivered this long ago is no packet of it (`netdev_budget_usecs`), ns.
const RUN_NS: i64 = 2_000_000;
/// `gro_result` values used; the others changed meaning between kernels.
const GRO_MERGED_FREE: i32 = 1;
const GRO_MERGED: i32 = 0;

/// The machine's state.
pub(super) struct Skbs<'k> {
    pub(super) open: FxHashMap<u64, Life>,
    pub(super) rows: Vec<Option<SkbRow>>,
    pub(super) hops: Vec<HopRow>,
    pub(super) ids: Vec<u32>,
    pub(super) stacks: Stacks,
    pub(super) frees: Frees<'k>,
    pub(super) layout: Layout,
    pub(super) clones: Vec<Sent>,
    pub(super) reborn: FxHashMap<SkbId, i64>,
    pub(super) horizon: i64,
    pub(super) barrier: i64,
    pub(super) untracked_frees: u64,
    /// Copies per thread whose socket is not known yet.
    pub(super) copied: super::deaths::Copies,
    /// Entry of the last softirq run, by CPU.
    pub(super) softirq_since: Vec<i64>,
    /// Devices that sent: whether none of their frames had a link-layer header.
    pub(super) bare: FxHashMap<Name, bool>,
    pub(super) devices: Devices,
    /// Sockets of originals.
    pub(super) owners: super::owners::Owners,
    /// What programs gave to and took from their devices.
    pub(super) programs: Programs,
    /// Who lets packets of netfilter's queues go on.
    pub(super) verdicts: Verdicts,
    /// What forwarding took for each packet.
    pub(super) forwards: super::forwarded::Forwards,
    /// Frames that are being offered to queues.
    pub(super) offers: super::refused::Offers,
    /// The life of the last `netif_receive_skb`, by CPU, and the thread that it happened in; -1 in interrupts.
    pub(super) received: Vec<Option<(SkbId, i32)>>,
    /// The device of the neighbour that answers, by CPU.
    pub(super) resolved: Vec<Option<Name>>,
    /// consume_skb and kfree_skb are recorded.
    pub(super) frees_recorded: bool,
    /// tcp_probe has skbaddr.
    pub(super) probe_names_skb: bool,
    /// Where it has not: packets delivered in the current softirq run of each CPU, in order, that TCP may take.
    pub(super) delivered: Vec<Vec<(u64, SkbId)>>,
}

impl Tracker for Skbs<'_> {
    fn gap(&mut self, gap: &GapRow) {
        let end = gap.end_ns.unwrap_or(i64::MAX);
        self.barrier = self.barrier.max(end);
        self.horizon = self.horizon.max(end.saturating_add(CENSOR_NS));
        self.stacks.forget(gap.cpu as u16);
        self.forwards.forget(gap.cpu as u16);
        self.delivered.clear();
        self.received.clear();
        self.resolved.clear();
        self.owners.forget();
        self.offers.forget();
    }
}

impl Skbs<'_> {
    pub(super) fn mark(&mut self, e: &Event<'_>, id: SkbId) {
        if let Some(slot) = self.ids.get_mut(e.index as usize) {
            *slot = id.0;
        }
        self.forwards.seen(e, id);
    }

    /// Ends the life open at an address without an event, if there is one.
    pub(super) fn evict(&mut self, addr: u64, ended: bool) {
        if let Some(life) = self.open.remove(&addr) {
            let row = match life.last_ns < self.barrier {
                true => life.row(DeathKind::Lost, None, 0, Confidence::Unknown),
                false => life.end_silently(ended),
            };
            self.put(row);
        }
    }

    pub(super) fn put(&mut self, row: SkbRow) {
        let at = row.skb_id.0 as usize;
        if let Some(slot) = self.rows.get_mut(at) {
            *slot = Some(row);
        }
    }

    pub(super) fn birth(
        &mut self,
        e: &Event<'_>,
        addr: u64,
        class: SkbClass,
        phase: Phase,
        kind: BirthKind,
        (dev, len): (Name, Option<u32>),
    ) -> SkbId {
        if let Some(l) = self.open.get(&addr).filter(|l| l.class == SkbClass::TxOriginal) {
            self.reborn.insert(l.id, e.ts);
        }
        self.evict(addr, false);
        let id = SkbId(self.rows.len() as u32);
        self.rows.push(None);
        let kind = if kind != BirthKind::Seen && e.ts < self.horizon {
            BirthKind::CensoredStart
        } else {
            kind
        };
        self.open.insert(
            addr,
            Life {
                id,
                skbaddr: addr,
                class,
                phase,
                birth_ns: e.ts,
                birth_kind: kind,
                last_ns: e.ts,
                last_cpu: e.cpu,
                dev,
                last_dev: dev,
                bytes: len,
                last_len: len,
                sent: false,
                first: None,
                frame: None,
                sock: 0,
                instead: false,
                tells: false,
                merged: false,
                late: false,
                hops: 0,
                gso_size: 0,
                // Equal hashes are almost surely equal addresses.
                confidence: match self.layout.hashed {
                    true => Confidence::Strong,
                    false => Confidence::Certain,
                },
            },
        );
        self.mark(e, id);
        id
    }

    /// The event belongs to the life open at the address.
    pub(super) fn touch(&mut self, e: &Event<'_>, addr: u64, phase: Phase, link: Confidence) -> Option<SkbId> {
        let barrier = self.barrier;
        let life = self.open.get_mut(&addr)?;
        let link = if life.last_ns < barrier {
            link.min(Confidence::Weak)
        } else {
            link
        };
        life.confidence = life.confidence.min(link);
        life.phase = phase;
        (life.last_ns, life.last_cpu) = (e.ts, e.cpu);
        let id = life.id;
        self.mark(e, id);
        Some(id)
    }

    pub(super) fn hop(&mut self, e: &Event<'_>, addr: u64, kind: &'static str, dev: Name, len: u32, link: Confidence) {
        if kind == "rx" && self.devices.of_a_program(dev) {
            self.programs.gave(e, dev, len);
        }
        if let Some(life) = self.open.get_mut(&addr) {
            life.hops += 1;
            life.last_dev = dev;
            if life.dev.is_empty() {
                life.dev = dev;
            }
            life.last_len = Some(len);
            life.bytes = life.bytes.or(Some(len));
            let row = HopRow {
                skb_id: life.id,
                time_ns: e.ts,
                cpu: e.cpu,
                kind,
                dev,
                bytes: Some(len),
                confidence: link,
            };
            self.hops.push(row);
            if kind == "rx" && life.class == SkbClass::TxClone {
                self.came_in(addr);
            }
        }
    }

    pub(super) fn netif_rx(&mut self, e: &Event<'_>, addr: u64, len: u32, dev: Name) {
        match self.open.get(&addr) {
            // netif_rx follows netif_rx_entry
            Some(l)
                if l.phase == Phase::RxQueued
                    && l.last_cpu == e.cpu
                    && l.last_dev == dev
                    && l.last_len == Some(len) =>
            {
                self.touch(e, addr, Phase::RxQueued, Confidence::Certain);
            }
            Some(l) if l.phase == Phase::TxStarted && self.stacks.in_xmit(e.cpu, l.id) => {
                self.touch(e, addr, Phase::RxQueued, Confidence::Certain);
                self.hop(e, addr, "rx", dev, len, Confidence::Certain);
            }
            _ => {
                let link = self.received_again(e, addr, (Entry::NetifRx, len, dev));
                self.enter(e, addr, len, dev, link);
            }
        }
    }

    /// A packet is handed in: one that came before, or the first sight of it.
    fn enter(&mut self, e: &Event<'_>, addr: u64, len: u32, dev: Name, link: Option<Confidence>) {
        match link {
            Some(link) => {
                self.touch(e, addr, Phase::RxQueued, link);
            }
            None => {
                let first = (dev, Some(len));
                self.birth(e, addr, SkbClass::Rx, Phase::RxQueued, BirthKind::Seen, first);
            }
        }
        self.hop(e, addr, "rx", dev, len, link.unwrap_or(Confidence::Certain));
    }

    /// Whether a transmitted skb arrives again (veth with NAPI): the frame lost its Ethernet header.
    pub(super) fn crossed(&self, addr: u64, len: u32) -> bool {
        self.open
            .get(&addr)
            .is_some_and(|l| l.phase == Phase::TxStarted && l.last_len.is_some_and(|had| had == len.wrapping_add(14)))
    }

    /// `netif_receive_skb_entry`, or the entry of GRO.
    pub(super) fn handed_in(&mut self, e: &Event<'_>, addr: u64, entry: Entry, len: u32, dev: Name) {
        let crossed = self.crossed(addr, len).then_some(Confidence::Strong);
        let link = crossed.or_else(|| self.received_again(e, addr, (entry, len, dev)));
        self.enter(e, addr, len, dev, link);
    }

    pub(super) fn gro_entry(&mut self, e: &Event<'_>, addr: u64, len: u32, dev: Name) {
        self.handed_in(e, addr, Entry::Gro, len, dev);
        if let Some(l) = self.open.get(&addr) {
            self.stacks.gro_begin(e.cpu, addr, l.id);
        }
    }

    pub(super) fn gro_exit(&mut self, e: &Event<'_>, ret: i32) {
        let Some((addr, id)) = self.stacks.gro_end(e.cpu) else {
            return;
        };
        self.mark(e, id);
        let Some(life) = self.open.get_mut(&addr).filter(|l| l.id == id) else {
            return;
        };
        match ret {
            GRO_MERGED_FREE => {
                life.last_ns = e.ts;
                if let Some(life) = self.open.remove(&addr) {
                    self.put(life.row(DeathKind::GroMerged, Some(e.ts), 0, Confidence::Certain));
                }
            }
            GRO_MERGED => (life.phase, life.last_ns) = (Phase::GroMember, e.ts),
            _ => {}
        }
    }

    pub(super) fn receive(&mut self, e: &Event<'_>, addr: u64, len: u32, dev: Name) {
        let step = self.open.get(&addr).map(|l| (l.phase, l.last_dev == dev));
        match step {
            Some((Phase::RxQueued, same_dev)) => {
                self.touch(e, addr, Phase::Received, Confidence::Certain);
                match same_dev {
                    // GRO may have grown it since
                    true => self.length(addr, len),
                    false => self.hop(e, addr, "rx", dev, len, Confidence::Certain),
                }
            }
            Some((Phase::TxStarted, _)) if self.crossed(addr, len) => {
                self.touch(e, addr, Phase::Received, Confidence::Strong);
                self.hop(e, addr, "rx", dev, len, Confidence::Strong);
            }
            _ => match self.received_again(e, addr, (Entry::Receive, len, dev)) {
                Some(link) => {
                    self.touch(e, addr, Phase::Received, link);
                    self.hop(e, addr, "rx", dev, len, link);
                }
                None => {
                    let kind = self.first_sight(e);
                    self.birth(e, addr, SkbClass::Rx, Phase::Received, kind, (dev, Some(len)));
                    self.hop(e, addr, "rx", dev, len, Confidence::Certain);
                }
            },
        }
        self.note_received(e, addr);
    }

    /// Before 6.9 tcp_probe names no skb: the first packet of that payload delivered in this run. Packets of one batch are
    /// processed in the order of their delivery.
    pub(super) fn tcp_unnamed(&mut self, e: &Event<'_>, data_len: u16) {
        let open = &self.open;
        let told = matches!(self.softirq_since.get(usize::from(e.cpu)), Some(since) if *since > i64::MIN);
        let waits = |(addr, id): &(u64, SkbId)| {
            let of = open.get(addr).filter(|l| l.id == *id && l.phase == Phase::Received);
            of.filter(|l| told || e.ts.saturating_sub(l.last_ns) < RUN_NS)
        };
        let fits = |delivered: &(u64, SkbId)| {
            let len = waits(delivered).and_then(|l| l.last_len);
            len.is_some_and(|len| HEADERS.contains(&(len.wrapping_sub(data_len.into()) & 0xffff)))
        };
        let Some(of) = self.delivered.get_mut(usize::from(e.cpu)).filter(|_| e.in_softirq()) else {
            return;
        };
        // What is over, is another protocol's by now, or is of an earlier run is not asked again by each probe.
        of.retain(|delivered| waits(delivered).is_some());
        let Some(at) = of.iter().position(&fits) else { return };
        // Another of that payload may be the one: order tells, no more.
        let (addr, id) = of.remove(at);
        // It stands there again where a bridge or a tunnel handed it in again.
        let link = match of.iter().skip(at).any(|d| d.1 != id && fits(d)) {
            true => Confidence::Weak,
            false => Confidence::Strong,
        };
        // 0 where only 16 bits of a longer payload are 0.
        let phase = match self.open.get(&addr).and_then(|l| l.last_len) {
            Some(len) if data_len == 0 && len <= *HEADERS.end() => Phase::TcpDone,
            _ => Phase::TcpData,
        };
        // The event is not marked with the life: whose it is, the receive ledger decides by sockets.
        if let Some(l) = self.open.get_mut(&addr) {
            (l.phase, l.last_ns, l.last_cpu) = (phase, e.ts, e.cpu);
            l.confidence = l.confidence.min(link);
        }
    }

    /// A packet goes to the protocols.
    pub(super) fn deliver(&mut self, e: &Event<'_>, addr: u64) {
        let at = usize::from(e.cpu);
        if self.probe_names_skb {
            return;
        }
        if self.delivered.len() <= at {
            self.delivered.resize_with(at + 1, Vec::new);
        }
        if let (Some(of), Some(l)) = (self.delivered.get_mut(at), self.open.get(&addr)) {
            if of.len() >= DELIVERED {
                of.clear(); // no softirq event tells where runs end
            }
            of.push((addr, l.id));
        }
    }

    pub(super) fn length(&mut self, addr: u64, len: u32) {
        if let Some(l) = self.open.get_mut(&addr) {
            l.last_len = Some(len);
        }
    }

    pub(super) fn tcp(&mut self, e: &Event<'_>, addr: u64, data_len: u32) {
        let phase = if data_len == 0 { Phase::TcpDone } else { Phase::TcpData };
        match self.open.get(&addr).map(|l| l.phase) {
            Some(Phase::Received | Phase::RxQueued) => {
                self.touch(e, addr, phase, Confidence::Certain);
            }
            // Its receive events are missing: lost, or not recorded.
            _ => {
                let unnamed = (Name::default(), None);
                self.birth(e, addr, SkbClass::Rx, phase, BirthKind::Inferred, unnamed);
            }
        }
    }
}
