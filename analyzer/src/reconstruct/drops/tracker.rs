//! The machine.

use netmortem_formats::Capture;
use netmortem_formats::event_format::ValueTable;
use netmortem_formats::tracepoints::kfree_skb::KfreeSkb;
use rustc_hash::FxHashMap;

use super::judge;
use super::tables::DropRow;
use crate::ingest::Trace;
use crate::name::Name;
use crate::reconstruct::dispatch::{Routes, Tracker};
use crate::reconstruct::skb::Identity;

#[derive(Default)]
struct Drops {
    rows: Vec<DropRow>,
}

impl Tracker for Drops {}

/// Reads the trace; rows in time order.
pub fn run(
    trace: &Trace<'_>,
    capture: &Capture,
    identity: &Identity,
    reasons: Option<&ValueTable>,
) -> (Vec<DropRow>, Vec<String>) {
    let mut routes = Routes::<Drops>::new("drops");
    routes.on::<KfreeSkb<'static>>(&trace.schema, |t, e, p| {
        t.rows.push(DropRow {
            time_ns: e.ts,
            cpu: e.cpu,
            reason: p.reason,
            location: p.location,
            dev: Name::default(),
            // The position for now; the life below.
            skb_id: Some(crate::facts::SkbId(e.index)),
            protocol: p.protocol,
            expected: None,
            why: "",
            confidence: Default::default(),
        });
    });
    let mut t = Drops::default();
    routes.run(trace, &mut t);
    let mut names: FxHashMap<u32, String> = FxHashMap::default();
    for r in &mut t.rows {
        r.skb_id = r.skb_id.and_then(|at| identity.of(at.0));
        if let Some(life) = r.skb_id.and_then(|id| identity.life(id)) {
            r.dev = life.last_dev;
        }
        let reason = r.reason.map(|n| {
            let name = || {
                reasons
                    .and_then(|t| t.name(u64::from(n)))
                    .unwrap_or_else(|| format!("reason {n}"))
            };
            names.entry(n).or_insert_with(name).as_str()
        });
        let location = capture.kallsyms.resolve(r.location).map(|(name, _)| name);
        (r.expected, r.why, r.confidence) = judge(reason, location, r.protocol, r.skb_id.is_some());
    }
    (t.rows, routes.missing)
}
