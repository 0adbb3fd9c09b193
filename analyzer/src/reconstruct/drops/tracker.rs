//! The machine.

use netmortem_formats::Capture;
use netmortem_formats::event_format::ValueTable;
use netmortem_formats::tracepoints::kfree_skb::KfreeSkb;
use netmortem_formats::tracepoints::net_dev_queue::NetDevQueue;
use rustc_hash::FxHashMap;

use super::judge;
use super::otherhost::{self, Hindsight};
use super::rules::is_for_another_host;
use super::tables::DropRow;
use crate::ingest::{Event, GapRow, Trace};
use crate::name::Name;
use crate::reconstruct::dispatch::{Routes, Tracker, Walk, ready};
use crate::reconstruct::skb::Identity;

/// Where qdisc drops are freed, right after the enqueue that caused them (net/core/dev.c).
const QDISC_PLACE: &str = "__dev_queue_xmit";

struct Drops<'i> {
    identity: &'i Identity,
    capture: &'i Capture,
    reasons: Option<&'i ValueTable>,
    names: FxHashMap<u32, String>,
    /// Device of the last `net_dev_queue` per CPU.
    queued: FxHashMap<u16, Name>,
    freed: Freed,
}

/// What was freed; judged by what was known then.
#[derive(Debug, Default)]
pub struct Freed {
    rows: Vec<DropRow>,
    /// Rows of frames for another host.
    otherhost: Vec<usize>,
    /// What the capture lacks.
    pub missing: Vec<String>,
}

impl Freed {
    /// Every place that a free was at.
    pub fn locations(&self) -> impl Iterator<Item = u64> + '_ {
        self.rows.iter().map(|r| r.location)
    }
    /// The rows, judged by what is known after the walk too.
    pub fn rows(mut self, known: &Hindsight<'_>) -> Vec<DropRow> {
        otherhost::judge(&mut self.rows, &self.otherhost, known);
        self.rows
    }
}

impl Tracker for Drops<'_> {
    fn gap(&mut self, gap: &GapRow) {
        self.queued.remove(&(gap.cpu as u16));
    }
}

/// Reads the trace; rows in time order.
pub fn walk<'f>(
    trace: &'f Trace<'_>,
    capture: &'f Capture,
    identity: &'f Identity,
    reasons: Option<&'f ValueTable>,
) -> impl Walk<Out = Freed> {
    let mut routes = Routes::<Drops<'_>>::new("drops");
    routes.on::<NetDevQueue<'static>>(&trace.schema, |t, e, p| {
        t.queued.insert(e.cpu, Name::new(p.name));
    });
    // Only a help for the device: its absence is no reason against the answer.
    routes.missing.clear();
    routes.on::<KfreeSkb<'static>>(&trace.schema, |t, e, p| t.freed(e, &p));
    let t = Drops {
        identity,
        capture,
        reasons,
        names: FxHashMap::default(),
        queued: FxHashMap::default(),
        freed: Freed::default(),
    };
    ready(trace, routes, t, |t, missing| Freed { missing, ..t.freed })
}

impl Drops<'_> {
    fn freed(&mut self, e: &Event<'_>, p: &KfreeSkb<'_>) {
        let skb_id = self.identity.of(e.index);
        let dev = skb_id
            .and_then(|id| self.identity.life(id))
            .map_or(Name::default(), |l| l.last_dev);
        let reason = p.reason.map(|n| {
            let table = self.reasons;
            let name = || {
                table
                    .and_then(|t| t.name(u64::from(n)))
                    .unwrap_or_else(|| format!("reason {n}"))
            };
            self.names.entry(n).or_insert_with(name).as_str()
        });
        let location = self.capture.kallsyms.resolve(p.location).map(|(name, _)| name);
        // A segment dropped by the qdisc that built it has no life; the packet queued last on this CPU named its device.
        let dev = match location {
            Some(QDISC_PLACE) if dev.is_empty() => self.queued.get(&e.cpu).copied().unwrap_or_default(),
            _ => dev,
        };
        let (expected, why, confidence) = judge(reason, location, p.protocol, skb_id.is_some());
        if is_for_another_host(reason) {
            self.freed.otherhost.push(self.freed.rows.len());
        }
        self.freed.rows.push(DropRow {
            time_ns: e.ts,
            cpu: e.cpu,
            reason: p.reason,
            location: p.location,
            dev,
            skb_id,
            protocol: p.protocol,
            expected,
            why,
            confidence,
        });
    }
}
