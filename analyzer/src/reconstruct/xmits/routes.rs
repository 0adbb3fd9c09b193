//! Which events feed the machine, its start and its end.

use netmortem_formats::Capture;
use netmortem_formats::tracepoints::consume_skb::ConsumeSkb;
use netmortem_formats::tracepoints::irq_handler_entry::IrqHandlerEntry;
use netmortem_formats::tracepoints::irq_handler_exit::IrqHandlerExit;
use netmortem_formats::tracepoints::kfree_skb::KfreeSkb;
use netmortem_formats::tracepoints::napi_gro_receive_entry::NapiGroReceiveEntry;
use netmortem_formats::tracepoints::net_dev_queue::NetDevQueue;
use netmortem_formats::tracepoints::net_dev_start_xmit::NetDevStartXmit;
use netmortem_formats::tracepoints::net_dev_xmit::NetDevXmit;
use netmortem_formats::tracepoints::netif_receive_skb::NetifReceiveSkb;
use netmortem_formats::tracepoints::netif_rx::NetifRx;
use netmortem_formats::tracepoints::netif_rx_entry::NetifRxEntry;
use netmortem_formats::tracepoints::qdisc_dequeue::QdiscDequeue;
use netmortem_formats::tracepoints::qdisc_enqueue::QdiscEnqueue;
use netmortem_formats::tracepoints::softirq_entry::SoftirqEntry;
use netmortem_formats::tracepoints::softirq_exit::SoftirqExit;
use netmortem_formats::tracepoints::softirq_raise::SoftirqRaise;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::frames::Inside;
use super::known::Known;
use super::passes::Passes;
use super::queues::{Named, Queues};
use super::segments::Closed;
use super::stops::Stops;
use super::tracker::Xmits;
use crate::confidence::Confidence;
use crate::ingest::Trace;
use crate::name::Name;
use crate::reconstruct::dispatch::{Routes, Walk, ready};
use crate::reconstruct::skb::{Frees, Identity};

/// Length of the headers before the transport header, where the event tells none: Ethernet and IPv4.
const NETWORK: u32 = 34;
/// `SKB_DROP_REASON_NOT_SPECIFIED` by the recording's own table.
const NO_REASON: &str = "NOT_SPECIFIED";

/// Reads the trace.
pub fn walk<'f>(trace: &'f Trace<'_>, capture: &'f Capture, identity: &'f Identity) -> impl Walk<Out = Passes> {
    let recorded = |keys: [&str; 2]| keys.iter().any(|key| trace.info.recorded(key));
    let t = Xmits {
        identity,
        symbols: &capture.kallsyms,
        frees: Frees::new(&capture.kallsyms),
        known: Known::read(capture),
        // veth and loopback hand on by the one, or by the other.
        handing_on_is_told: recorded(["net:netif_rx", "net:netif_rx_entry"])
            && recorded(["net:napi_gro_receive_entry", "net:netif_receive_skb"]),
        starts_are_told: trace.info.recorded("net:net_dev_start_xmit"),
        work: trace.room(&["net:net_dev_queue"]),
        open: FxHashMap::default(),
        cpus: vec![],
        queues: Queues::default(),
        stops: Stops::default(),
        by_name: FxHashMap::default(),
        last_whole: FxHashMap::default(),
        places: FxHashMap::default(),
        barrier: i64::MIN,
    };
    let told = trace.info.recorded("qdisc:qdisc_dequeue");
    ready(trace, routes(trace), t, move |t, missing| t.finish(told, missing))
}

fn routes<'i>(trace: &Trace<'_>) -> Routes<Xmits<'i>> {
    let s = &trace.schema;
    let mut r = Routes::<Xmits<'i>>::new("xmits");
    let unsaid = s
        .format("skb", "kfree_skb")
        .and_then(|f| netmortem_formats::event_format::ValueTable::of(f, "reason"))
        .and_then(|t| t.entries.iter().find(|(_, n)| n == NO_REASON).map(|(v, _)| *v));
    r.on::<NetDevQueue<'static>>(s, |t, e, p| t.queue(e, p.skbaddr, p.len, Name::new(p.name)));
    r.on::<NetDevStartXmit<'static>>(s, |t, e, p| {
        let told = p.transport_offset_valid && p.transport_offset > 0;
        let network = if told { p.transport_offset as u32 } else { NETWORK };
        t.start(e, p.skbaddr, p.len, Name::new(p.name), p.queue_mapping, network);
    });
    r.on::<NetDevXmit<'static>>(s, |t, e, p| t.xmit(e, p.skbaddr, p.rc, Name::new(p.name)));
    r.on::<QdiscDequeue<'static>>(s, |t, e, p| {
        let n = Named {
            qdisc: p.qdisc,
            txq: p.txq,
            ifindex: p.ifindex,
            handle: p.handle,
            parent: p.parent,
        };
        t.dequeued(e, n, p.packets, p.skbaddr, p.txq_state);
    });
    r.on::<ConsumeSkb<'static>>(s, |t, e, p| {
        t.consumed(e, p.skbaddr, p.location.unwrap_or(0));
    });
    r.on::<KfreeSkb<'static>>(s, move |t, e, p| {
        let none = p.reason.is_none() || p.reason.map(u64::from) == unsaid;
        t.dropped(e, p.skbaddr, p.location, p.protocol != 0, none);
    });
    // The rest only sharpens the answer: its absence is no reason against it.
    let missing = std::mem::take(&mut r.missing);
    r.on::<QdiscEnqueue<'static>>(s, |t, e, p| {
        let n = Named {
            qdisc: p.qdisc,
            txq: p.txq,
            ifindex: p.ifindex,
            handle: p.handle,
            parent: p.parent,
        };
        t.enqueued(e, n, p.skbaddr);
    });
    r.on::<SoftirqRaise<'static>>(s, |t, e, p| t.raise(e, p.vec));
    r.on::<SoftirqEntry<'static>>(s, |t, e, p| t.softirq(e, p.vec));
    r.on::<SoftirqExit<'static>>(s, |t, e, p| t.softirq_end(e, p.vec));
    r.on::<IrqHandlerEntry<'static>>(s, |t, e, _| {
        let c = t.cpu(e.cpu);
        c.fresh = None;
        c.frames.begin(Inside::Irq, e.ts);
    });
    r.on::<IrqHandlerExit<'static>>(s, |t, e, _| {
        t.cpu(e.cpu).frames.end(|f| *f == Inside::Irq, e.ts);
    });
    r.on::<NetifRxEntry<'static>>(s, |t, e, p| t.handed_on(e, p.skbaddr));
    r.on::<NetifRx<'static>>(s, |t, e, p| t.handed_on(e, p.skbaddr));
    r.on::<NapiGroReceiveEntry<'static>>(s, |t, e, p| t.handed_on(e, p.skbaddr));
    r.on::<NetifReceiveSkb<'static>>(s, |t, e, p| t.handed_on(e, p.skbaddr));
    r.missing = missing;
    r
}

impl Xmits<'_> {
    fn finish(mut self, told: bool, missing: Vec<String>) -> Passes {
        let mut left = vec![];
        for q in self.queues.qdiscs() {
            let aligned = q.fifo.sure();
            left.extend(q.fifo.drain().map(|parent| Closed {
                parent,
                confidence: aligned,
                conserved: false,
            }));
        }
        for c in left {
            self.close(c);
        }
        let mut ends = vec![];
        for (i, t) in self.queues.txqs().enumerate() {
            ends.extend(t.stopped.take().map(|s| (i as u32, s)));
        }
        for (t, (from, bits, _)) in ends {
            self.stops.add(t, from, None, bits);
        }
        let (queues, known) = (&self.queues, &self.known);
        self.stops.resolve(|t| queues.txq(t).and_then(|t| known.bql(t)));
        for w in &mut self.work {
            let left = w.first_start.or(w.end);
            if let (Some(txq), Some(from), Some(to)) = (w.txq, w.queued, left) {
                self.stops.waited(txq, from, to);
                let link = self.stops.confidence(txq, from, to);
                w.link(link.max(Confidence::Weak));
            }
        }
        let (queues, stops) = (&self.queues, &self.stops);
        let rows = self
            .work
            .par_iter()
            .map(|w| w.row(queues, stops, told, known))
            .collect();
        Passes::new(rows, stops.rows(queues), missing)
    }
}
