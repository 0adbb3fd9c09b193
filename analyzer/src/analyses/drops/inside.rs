//! Which tunnel's packets a group of drops was of: they had been put in by it and were not taken out again.
//!
//! Needs `drops`, `hops`, `lineage`, links by name. A name that is a tunnel's in one namespace alone tells nothing.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::drops::segments::is_cut;
use crate::reconstruct::drops::tables::DropRow;

/// Packets that were inside a tunnel when they were dropped.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Inside {
    /// The tunnel.
    pub dev: String,
    /// Its kind (IFLA_INFO_KIND).
    pub kind: String,
    /// How many.
    pub count: u64,
}

/// Those of the tunnel with most.
pub(super) fn inside(facts: &Facts, rows: &[&DropRow]) -> Option<Inside> {
    if !facts.routes.links.has_tunnels() {
        return None;
    }
    let packet = |r: &DropRow| r.skb_id.or(r.cut_from);
    let dropped: FxHashSet<SkbId> = rows.iter().filter_map(|r| packet(r)).collect();
    // A segment that was cut inside has the way of its packet before.
    let cut = facts.lineage.iter().filter(|l| is_cut(l.kind));
    let parents: FxHashMap<SkbId, SkbId> = cut
        .filter(|l| dropped.contains(&l.child))
        .map(|l| (l.child, l.parent))
        .collect();
    let asked: FxHashSet<SkbId> = dropped.iter().chain(parents.values()).copied().collect();
    // What is a tunnel in one namespace and none in another takes packets out, or does not: what they are inside of then is not known.
    let mut tunnels: FxHashMap<Name, Option<bool>> = FxHashMap::default();
    let mut last: FxHashMap<SkbId, Vec<(i64, Name, bool)>> = FxHashMap::default();
    for h in facts.hops.iter().filter(|h| asked.contains(&h.skb_id)) {
        let is = *tunnels
            .entry(h.dev)
            .or_insert_with(|| facts.routes.links.is_tunnel(&h.dev.text()));
        if is != Some(false) {
            let into = is == Some(true) && h.kind != "rx" && h.confidence.is_solid();
            last.entry(h.skb_id).or_default().push((h.time_ns, h.dev, into));
        }
    }
    let mut by: BTreeMap<String, u64> = BTreeMap::new();
    for row in rows {
        let Some(skb) = packet(row) else { continue };
        let of = |skb: SkbId| {
            let steps = last.get(&skb)?;
            steps.iter().rev().find(|(at, ..)| *at <= row.time_ns)
        };
        let step = of(skb).or_else(|| of(*parents.get(&skb)?));
        // What a tunnel refused itself was not inside yet.
        if let Some((_, dev, true)) = step.filter(|(_, dev, _)| *dev != row.dev) {
            *by.entry(dev.text().into_owned()).or_default() += 1;
        }
    }
    let (dev, count) = by.into_iter().max_by_key(|(_, n)| *n)?;
    let kind = facts.routes.links.tunnel(&dev)?.to_owned();
    Some(Inside { dev, kind, count })
}
