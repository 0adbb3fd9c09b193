//! Where the kernel's events saw packets pass the places at which a packet socket sees them: `net_dev_start_xmit` on the way
//! out (the socket sees the packet just before), `netif_receive_skb` on the way in (just after).

use netmortem_formats::Capture;
use netmortem_formats::tracepoints::Tracepoint;
use netmortem_formats::tracepoints::net_dev_start_xmit::NetDevStartXmit;
use netmortem_formats::tracepoints::netif_receive_skb::NetifReceiveSkb;
use rustc_hash::FxHashMap;

use crate::facts::SkbId;
use crate::ingest::{Options, Trace};
use crate::name::Name;
use crate::reconstruct::skb;

/// One sight.
#[derive(Debug, Clone, Copy)]
pub struct Sight {
    /// Trace clock.
    pub ts: i64,
    /// The life; `None` when the event names none that is known.
    pub skb: Option<SkbId>,
    /// Bytes: with the link-layer header on the way out, without it on the way in.
    pub bytes: u32,
}

/// Sights by device and direction (true: out), in order of time.
pub type Sights = FxHashMap<(Name, bool), Vec<Sight>>;

/// Reads the trace once more.
pub fn sights(capture: &Capture) -> Sights {
    let trace = Trace::read(capture, &Options::default());
    let identity = skb::identify(&trace, capture);
    let out = trace.schema.bind::<NetDevStartXmit<'static>>().ok();
    let into = trace.schema.bind::<NetifReceiveSkb<'static>>().ok();
    let mut found = Sights::default();
    let wanted = [out.as_ref().map(|b| b.0), into.as_ref().map(|b| b.0)];
    for e in trace.events(|k| wanted.contains(&Some(k))) {
        let of_out = out.as_ref().filter(|b| b.0 == e.kind);
        let of_in = into.as_ref().filter(|b| b.0 == e.kind);
        let seen = match (of_out, of_in) {
            (Some((_, b)), _) => NetDevStartXmit::read(b, e.payload).map(|p| (true, Name::new(p.name), p.len)),
            (_, Some((_, b))) => NetifReceiveSkb::read(b, e.payload).map(|p| (false, Name::new(p.name), p.len)),
            _ => None,
        };
        let Some((way, dev, bytes)) = seen else { continue };
        found.entry((dev, way)).or_default().push(Sight {
            ts: e.ts,
            skb: identity.of(e.index),
            bytes,
        });
    }
    for of in found.values_mut() {
        of.sort_by_key(|s| s.ts);
    }
    found
}
