//! Which events tell edges, and the edges that one event tells.

use netmortem_formats::Capture;
use netmortem_formats::tracepoints::consume_skb::ConsumeSkb;
use netmortem_formats::tracepoints::kfree_skb::KfreeSkb;
use netmortem_formats::tracepoints::napi_gro_frags_entry::NapiGroFragsEntry;
use netmortem_formats::tracepoints::napi_gro_frags_exit::NapiGroFragsExit;
use netmortem_formats::tracepoints::napi_gro_receive_entry::NapiGroReceiveEntry;
use netmortem_formats::tracepoints::napi_gro_receive_exit::NapiGroReceiveExit;
use netmortem_formats::tracepoints::net_dev_queue::NetDevQueue;
use netmortem_formats::tracepoints::net_dev_start_xmit::NetDevStartXmit;
use netmortem_formats::tracepoints::netif_receive_skb::NetifReceiveSkb;
use netmortem_formats::tracepoints::qdisc_dequeue::QdiscDequeue;
use netmortem_formats::tracepoints::qdisc_enqueue::QdiscEnqueue;
use netmortem_formats::tracepoints::tcp_probe::TcpProbe;
use netmortem_formats::tracepoints::tcp_retransmit_skb::TcpRetransmitSkb;
use rustc_hash::FxHashMap;

use super::gro::{Given, Gro, Place};
use super::queueing::Queueing;
use super::queues::{Queue, Taken, of_several};
use super::sent::{self, Sent};
use super::split::{Segment, Splits, Way};
use super::tables::{Conserved, LineageKind, LineageRow, Rule};
use super::unit::Unit;
use super::why::Why;
use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::ingest::{Event, GapRow, Trace};
use crate::name::Name;
use crate::reconstruct::dispatch::{Lost, Routes, Tracker, Walk, ready};
use crate::reconstruct::receive::Coalesced;
use crate::reconstruct::skb::tables::SkbClass;
use crate::reconstruct::skb::{FreePlace, Frees, Identity};
use crate::reconstruct::tcp::Tcp;

/// What the tracker found.
#[derive(Debug, Default)]
pub struct Lineage {
    /// View `lineage`, by time.
    pub rows: Vec<LineageRow>,
    /// Heads and packets cut, whose bytes must add up.
    pub units: Vec<Unit>,
    /// What the capture lacks.
    pub missing: Vec<String>,
}

/// Share of a socket's bytes that may be unexplained before the order of its FIFO is doubted.
const UNEXPLAINED: f64 = 0.005;

/// Pid and CPU.
type Context = (i32, u16);

/// What runs: a thread, wherever it is, or a CPU: in interrupts (`i32::MIN`), idle (0), or in what was not recorded (-1).
fn context(e: &Event<'_>) -> Context {
    match e.in_task() {
        true if e.pid > 0 => (e.pid, 0),
        true => (e.pid, e.cpu),
        false => (i32::MIN, e.cpu),
    }
}

/// The longest that the event of a retransmission follows its frame: the driver's function lies between, and a receiver in this host.
const FOLLOWS_NS: i64 = 1_000_000;

struct Edges<'f> {
    identity: &'f Identity,
    tcp: &'f Tcp,
    frees: Frees<'f>,
    gro: Gro,
    splits: Splits,
    /// Frames queued and not yet handed to a driver: device, length, when.
    queued: FxHashMap<SkbId, (Name, u32, i64)>,
    /// The last frame queued in each context: a peer in this host may answer on the same CPU before the event that tells
    /// what was sent again.
    last: FxHashMap<Context, (i64, SkbId)>,
    /// Copies that a capture let go of since the last frame of the CPU.
    taps: Vec<Vec<(i64, SkbId)>>,
    probe_at: usize,
    rows: Vec<LineageRow>,
}

impl Tracker for Edges<'_> {
    fn gap(&mut self, _: &GapRow) {
        self.gro.forget();
        self.splits.forget();
        self.queued.clear();
        self.last.clear();
        self.taps.clear();
    }
}

/// Reads the trace.
pub fn walk<'f>(
    trace: &'f Trace<'_>,
    capture: &'f Capture,
    identity: &'f Identity,
    tcp: &'f Tcp,
) -> impl Walk<Out = Lineage> {
    let told = ["qdisc:qdisc_enqueue", "qdisc:qdisc_dequeue"];
    let told = told.iter().all(|key| trace.info.recorded_all(key));
    let mut t = Edges {
        identity,
        tcp,
        frees: Frees::new(&capture.kallsyms),
        gro: Gro::default(),
        splits: Splits::new(of_several(capture), told),
        queued: FxHashMap::default(),
        last: FxHashMap::default(),
        taps: vec![],
        probe_at: 0,
        rows: vec![],
    };
    let (routes, exits, receives) = routes(trace);
    (t.gro.has_exit, t.gro.has_receive) = (exits, receives);
    // Lives are told apart by addresses: while events of any CPU are missing, one may have ended unseen.
    let lost = Lost::of(&trace.gaps);
    ready(trace, routes, t, move |t, mut missing| {
        if !exits {
            missing.push("no GRO exit event was recorded: merges are told by the growth of heads alone".into());
        }
        t.finish(&lost, missing)
    })
}

impl Edges<'_> {
    fn finish(self, lost: &Lost, missing: Vec<String>) -> Lineage {
        let (mut rows, mut units) = self.gro.finish();
        let (cut, packets) = self.splits.finish();
        rows.extend(self.rows);
        rows.extend(cut);
        units.extend(packets);
        rows.extend(self.identity.clones.iter().map(|c| LineageRow {
            ts_ns: c.ts_ns,
            parent: c.original,
            child: c.clone,
            kind: LineageKind::Fclone,
            rule: match c.confidence {
                Confidence::Certain => Rule::FcloneDistance,
                _ => Rule::SlabPlace,
            },
            bytes: None,
            conserved: Conserved::Unknown,
            why: Why::default(),
            confidence: c.confidence,
        }));
        // A part may be among what was lost while its whole lived.
        for u in units.iter_mut().filter(|u| u.conserved == Conserved::No) {
            let life = self.identity.life(u.skb);
            if life.is_some_and(|l| lost.within(l.birth_ns, l.last_ns)) {
                u.conserved = Conserved::Unknown;
            }
        }
        Lineage { rows, units, missing }
    }
}

impl Lineage {
    /// Says of what TCP sent how many bytes it was, and whether these are what it had. Adds what TCP put behind other skbs in receive queues, and puts all edges in order of time; those of times in which events are missing,
    /// and of lives in doubt, are weak. Whether their bytes add up is judged by socket: `fifo` says what of the bytes of a head's socket is
    /// unexplained, as a share of all.
    pub fn finish(
        &mut self,
        coalesced: &[Coalesced],
        (identity, lost, of_tcp): (&Identity, &Lost, Sent<'_>),
        fifo: impl Fn(SkbId) -> Option<f64>,
    ) {
        sent::bytes(&mut self.rows, identity, lost, of_tcp);
        self.rows.extend(coalesced.iter().map(|c| {
            let conserved = match fifo(c.head) {
                Some(0.0) => Conserved::Yes,
                Some(share) if share > UNEXPLAINED => Conserved::No,
                _ => Conserved::Unknown,
            };
            LineageRow {
                ts_ns: c.ts_ns,
                parent: c.head,
                child: c.tail,
                kind: LineageKind::Coalesce,
                rule: Rule::ByteFifo,
                bytes: Some(c.bytes),
                conserved,
                why: Why::default(),
                confidence: match conserved {
                    Conserved::No => c.confidence.min(Confidence::Weak),
                    _ => c.confidence,
                },
            }
        }));
        // Of an end that may be another packet's (its own was among what was lost) an edge is no surer.
        let doubtful = |skb: SkbId| identity.life(skb).is_some_and(|l| l.links <= Confidence::Weak);
        for r in &mut self.rows {
            if lost.within(r.ts_ns, r.ts_ns) || doubtful(r.parent) || doubtful(r.child) {
                r.confidence = r.confidence.min(Confidence::Weak);
            }
        }
        self.rows.sort_by_key(|r| (r.ts_ns, r.child, r.parent));
    }
}

fn routes<'f>(trace: &Trace<'_>) -> (Routes<Edges<'f>>, bool, bool) {
    let s = &trace.schema;
    let mut r = Routes::<Edges<'f>>::new("lineage");
    r.on::<NapiGroReceiveEntry<'static>>(s, |t, e, p| t.given(e, p.napi_id, p.name, p.len, p.hash));
    r.on::<NapiGroFragsEntry<'static>>(s, |t, e, p| t.given(e, p.napi_id, p.name, p.len, p.hash));
    let exits = r.on::<NapiGroReceiveExit<'static>>(s, |t, e, p| t.gro.exit(e.ts, e.cpu, p.ret));
    r.on::<NapiGroFragsExit<'static>>(s, |t, e, p| t.gro.exit(e.ts, e.cpu, p.ret));
    let receives = r.on::<NetifReceiveSkb<'static>>(s, |t, e, p| {
        if let Some(skb) = t.identity.of(e.index) {
            t.gro.receive(e.ts, e.cpu, skb, p.len);
        }
    });
    r.on::<TcpProbe<'static>>(s, |t, e, p| t.probe(e, p.data_len));
    r.on::<NetDevQueue<'static>>(s, |t, e, p| t.queue(e, p.name, p.len));
    r.on::<NetDevStartXmit<'static>>(s, |t, e, p| {
        let transport = u32::try_from(p.transport_offset).ok();
        let transport = transport.filter(|_| p.transport_offset_valid);
        t.start_xmit(e, p.skbaddr, (p.name, p.len), transport);
    });
    r.on::<ConsumeSkb<'static>>(s, |t, e, p| t.consume(e, p.skbaddr, p.location.unwrap_or(0)));
    r.on::<KfreeSkb<'static>>(s, |t, e, p| t.kfree(e, p.location, p.protocol != 0));
    r.on::<TcpRetransmitSkb<'static>>(s, |t, e, p| {
        if p.err.unwrap_or(0) == 0 {
            t.retransmit(e);
        }
    });
    // These only tell queues of one name apart.
    let missing = std::mem::take(&mut r.missing);
    r.on::<QdiscEnqueue<'static>>(s, |t, e, p| t.splits.enqueued(e.cpu, p.qdisc, p.skbaddr));
    r.on::<QdiscDequeue<'static>>(s, |t, e, p| {
        t.splits.dequeued((e.ts, e.cpu), p.qdisc, p.skbaddr, p.packets);
    });
    r.missing = missing;
    (r, exits, receives)
}

fn slot<T: Default>(of: &mut Vec<T>, cpu: u16) -> Option<&mut T> {
    let at = usize::from(cpu);
    if of.len() <= at {
        of.resize_with(at + 1, T::default);
    }
    of.get_mut(at)
}

impl Edges<'_> {
    fn class(&self, skb: SkbId) -> Option<SkbClass> {
        self.identity.life(skb).map(|l| l.class)
    }

    fn given(&mut self, e: &Event<'_>, napi_id: u32, dev: &[u8], len: u32, hash: u32) {
        let Some(skb) = self.identity.of(e.index) else { return };
        let place = Place {
            napi_id,
            cpu: if napi_id == 0 { e.cpu } else { 0 },
            dev: Name::new(dev),
        };
        self.gro.entry(e.cpu, Given { skb, len, hash, place });
    }

    fn probe(&mut self, e: &Event<'_>, data_len: u16) {
        let probes = &self.tcp.probes;
        while probes.get(self.probe_at).is_some_and(|p| p.0 < e.index) {
            self.probe_at += 1;
        }
        let connection = probes.get(self.probe_at).filter(|p| p.0 == e.index).map(|p| p.1);
        if let Some(skb) = self.identity.of(e.index) {
            self.gro.probe(skb, data_len, connection);
        }
    }

    fn queue(&mut self, e: &Event<'_>, dev: &[u8], len: u32) {
        let Some(skb) = self.identity.of(e.index) else { return };
        self.queued.insert(skb, (Name::new(dev), len, e.ts));
        self.splits.settle(e.cpu);
        self.splits
            .is_at(e.cpu, Queueing::Whole(Name::new(dev), skb, context(e)));
        self.last.insert(context(e), (e.ts, skb));
    }

    fn start_xmit(&mut self, e: &Event<'_>, addr: u64, (dev, len): (&[u8], u32), transport: Option<u32>) {
        let Some(skb) = self.identity.of(e.index) else { return };
        let (dev, queued) = (Name::new(dev), self.queued.remove(&skb));
        let of = self.identity.life(skb);
        let born = of.is_some_and(|l| l.class == SkbClass::TxSegment && l.birth_ns == e.ts);
        let queue = match born && self.splits.cuts(dev, e.cpu) {
            // Cut up behind its queue.
            true => Queue::unnamed(dev),
            false => self.splits.queues.leaves(e.cpu, addr, dev, queued.map(|q| q.2)),
        };
        if let Some((.., since)) = queued.filter(|q| q.0 == dev) {
            self.splits.passed(queue, since);
        }
        if born {
            self.splits.segment(Segment {
                skb,
                ts: e.ts,
                cpu: e.cpu,
                queue,
                len,
                transport,
            });
        } else if queued.is_none() && self.splits.waits(queue) {
            // Nobody queued it here: it may be a segment at the address of a packet whose end was not seen.
            self.splits.unalign(queue);
        }
        let taps = slot(&mut self.taps, e.cpu).map(std::mem::take).unwrap_or_default();
        for (ts_ns, tap) in taps {
            self.rows.push(LineageRow {
                ts_ns,
                parent: skb,
                child: tap,
                kind: LineageKind::Tap,
                rule: Rule::TapBeforeXmit,
                // Cloned from it right before: `dev_queue_xmit_nit` in `xmit_one`.
                bytes: Some(len),
                conserved: Conserved::Unknown,
                why: Why::Shared,
                confidence: Confidence::Strong,
            });
        }
    }

    fn consume(&mut self, e: &Event<'_>, addr: u64, location: u64) {
        let Some(skb) = self.identity.of(e.index) else { return };
        if self.class(skb) == Some(SkbClass::Tap) {
            if let Some(of) = slot(&mut self.taps, e.cpu).filter(|of| of.len() < 64) {
                of.push((e.ts, skb));
            }
            return;
        }
        let queued = self.queued.remove(&skb);
        if self.frees.place(location) == FreePlace::Segmenter
            && let Some((dev, len, since)) = queued
        {
            let len = (len, self.identity.life(skb).map_or(0, |l| l.gso_size));
            if self.frees.is_gso(location) {
                self.splits.queues.leaves(e.cpu, addr, dev, Some(since));
                self.splits.cut((e.ts, e.cpu), skb, Way::gso(dev, e.cpu), len);
                return;
            }
            self.splits.taken(e.cpu, Taken::new(e.ts, (skb, addr), dev, len));
        }
    }

    /// `packet`: it has a protocol, as what netlink and unix sockets free has not.
    fn kfree(&mut self, e: &Event<'_>, location: u64, packet: bool) {
        self.splits.settle(e.cpu);
        match self.identity.of(e.index) {
            Some(skb) => {
                let Some((dev, ..)) = self.queued.remove(&skb) else {
                    return;
                };
                if self.frees.is_tbf(location) {
                    self.splits.refused(e.ts, e.cpu, dev);
                } else if self.frees.queues(location) {
                    self.splits.taken_out(e.cpu, dev, skb);
                }
            }
            None if packet && self.frees.lets_go(location) => self.splits.let_go(),
            None if self.frees.place(location) == FreePlace::Transmit => {
                let in_queueing = self.frees.queues(location);
                self.splits.dropped(e.cpu, context(e), in_queueing);
            }
            None => {}
        }
    }

    /// The event follows its transmit: what was queued right before, in the same context, is what was sent again.
    fn retransmit(&mut self, e: &Event<'_>) {
        let Some(original) = self.identity.of(e.index) else {
            return;
        };
        // Its companion is told by its address.
        let is_copy = |(ts, skb): &(i64, SkbId)| {
            e.ts.wrapping_sub(*ts) <= FOLLOWS_NS && self.class(*skb) == Some(SkbClass::TxOther)
        };
        let Some((_, copy)) = self.last.get(&context(e)).copied().filter(is_copy) else {
            return;
        };
        self.last.remove(&context(e));
        self.rows.push(LineageRow {
            ts_ns: e.ts,
            parent: original,
            child: copy,
            kind: LineageKind::RetransmitCopy,
            rule: Rule::RetransmitFollows,
            bytes: None,
            conserved: Conserved::Unknown,
            why: Why::default(),
            confidence: Confidence::Strong,
        });
    }
}
