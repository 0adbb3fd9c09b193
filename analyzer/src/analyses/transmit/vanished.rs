//! Where segments that were sent again, and SYNs, were seen last: the device that they left by, where this host saw more of their way than its first step.
//!
//! Needs `tx`, `opens`, `hops`, `lineage`, `drops`. A host that forwards, bridges or holds containers sees a packet on each of its devices: what was lost behind all of them was
//! lost beyond the last. Where none of the other segments of those connections left by that device, they went another way. Not said beside packets that this host is known to have
//! dropped, where drops were not recorded, of packets that were cut on their way, nor of segments that are such a small part of all as any network loses; that those were lost, and not only late, is inferred.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::skb::tables::HopRow;
use crate::reconstruct::transmit::tables::{TxEnd, TxKind, TxRow};
use crate::reconstruct::whose::{Carries, Owner, Whose};
use crate::snapshots::field;

/// Fewest of them, and how many of those whose way is known must have gone there.
const FEWEST: usize = 3;
const MOST: f64 = 2.0 / 3.0;
/// Least part of all data segments that are sent again.
const PART: f64 = 0.001;
/// Others of the same connections whose way must be known to say that none went there.
const OTHERS: u64 = 5;

/// Routes told, each way; RTN_UNICAST, RT_TABLE_LOCAL.
const ROUTES: usize = 3;
const UNICAST: &str = "1";
const LOCAL: &str = "255";

/// A device behind which they were not seen again.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Vanished {
    /// The device.
    pub dev: String,
    /// Segments and SYNs that were seen last when they left by it.
    pub count: u64,
    /// Of so many that were retransmitted by the same first device and whose way is known.
    pub of: u64,
    /// Others of the same connections by that first device: that left by it, too, and all whose way is known.
    pub others: (u64, u64),
    /// Device on which most of these others were seen last; empty: none, or the same.
    pub usual: String,
    /// Where none of the others went there: routes that came while the recording ran, by the lists at its ends.
    pub routes_came: Vec<String>,
    /// Such that went.
    pub routes_went: Vec<String>,
}

/// First and last device of a way, and whether the last step was out of it.
#[derive(Clone, Copy)]
struct Way {
    first: Name,
    last: Name,
    at: i64,
    out: bool,
    /// It only reached the queue of the last.
    queued: bool,
}

fn ways(facts: &Facts, of: &FxHashSet<SkbId>) -> FxHashMap<SkbId, Way> {
    let mut out: FxHashMap<SkbId, Way> = FxHashMap::default();
    for h in facts.hops.iter().filter(|h| of.contains(&h.skb_id)) {
        let step = |h: &HopRow| h.kind != "rx";
        let way = out.entry(h.skb_id).or_insert(Way {
            first: h.dev,
            last: h.dev,
            at: h.time_ns,
            out: step(h),
            queued: h.kind == "queue",
        });
        if h.time_ns >= way.at {
            (way.last, way.at, way.out) = (h.dev, h.time_ns, step(h));
            way.queued = h.kind == "queue";
        }
    }
    out
}

/// The first SYN of each attempt whose SYN was retransmitted.
fn syns(facts: &Facts) -> Vec<&TxRow> {
    let again: FxHashMap<ConnectionId, i64> = (facts.opens.iter())
        .filter(|o| o.syns_again.is_some_and(|n| n > 0))
        .filter_map(|o| Some((o.connection?, o.start_ns)))
        .collect();
    if again.is_empty() {
        return vec![];
    }
    let whose = Whose::of(facts.into());
    let of = |t: &TxRow| {
        let syn = || {
            whose
                .packet(t.skb_id)
                .filter(|o| matches!(o.carries, Carries::Syn | Carries::SynData))?
                .connection
        };
        t.connection.or_else(syn)
    };
    let mut first: FxHashMap<ConnectionId, &TxRow> = FxHashMap::default();
    // A socket that was never answered does not tell how long its headers are.
    let control = |t: &&TxRow| matches!(t.kind, TxKind::TcpControl | TxKind::TcpUnknown);
    for t in facts.tx.iter().filter(control) {
        let Some(c) = of(t).filter(|c| again.get(c).is_some_and(|at| *at <= t.t_sched_ns)) else {
            continue;
        };
        let own = first.entry(c).or_insert(t);
        if t.t_sched_ns < own.t_sched_ns {
            *own = t;
        }
    }
    first.into_values().collect()
}

pub(super) fn vanished(facts: &Facts) -> Option<Vanished> {
    let data = || {
        facts
            .tx
            .iter()
            .filter(|t| t.kind == TxKind::Tcp && t.confidence.is_solid())
    };
    let mut again: Vec<&TxRow> = data().filter(|t| t.retransmits > 0).collect();
    if (again.len() as f64) < PART * data().count() as f64 {
        again.clear();
    }
    again.extend(syns(facts));
    let drops_recorded = facts.capture.recorded("skb:kfree_skb");
    if again.len() < FEWEST || !facts.gaps.is_empty() || !drops_recorded {
        return None;
    }
    // Of what was cut each piece has a way of its own.
    let cut: FxHashSet<SkbId> = facts.lineage.iter().map(|l| l.parent).collect();
    let known = |of: &SkbId| !cut.contains(of);
    let sent_again: FxHashSet<ConnectionId> = again.iter().filter_map(|t| t.connection).collect();
    let beside: Vec<&TxRow> = data()
        .filter(|t| t.retransmits == 0 && t.end == TxEnd::Acked && known(&t.skb_id))
        .filter(|t| t.connection.is_some_and(|c| sent_again.contains(&c)))
        .collect();
    let amiss = facts.drops.iter().filter(|d| d.is_loss());
    let dropped_here: FxHashSet<SkbId> = amiss.clone().filter_map(|d| d.skb_id).collect();
    let lost = again
        .iter()
        .filter(|t| known(&t.skb_id) && !dropped_here.contains(&t.skb_id));
    let lost: Vec<&TxRow> = lost.copied().collect();
    let all: FxHashSet<SkbId> = lost.iter().chain(&beside).map(|t| t.skb_id).collect();
    let ways = ways(facts, &all);
    let started = facts.capture.recorded("net:net_dev_start_xmit");
    // By the device that they were sent by: the two ends of connections lose in different places.
    let mut by: BTreeMap<(Name, Name), Vec<&TxRow>> = BTreeMap::new();
    let of: Vec<(&TxRow, &Way)> = (lost.iter().copied())
        .filter_map(|t| Some((t, ways.get(&t.skb_id)?)))
        .collect();
    let left = |w: &Way| w.out && w.last != w.first && !(started && w.queued);
    for (row, way) in of.iter().filter(|(_, w)| left(w)) {
        by.entry((way.first, way.last)).or_default().push(row);
    }
    let most = by
        .into_iter()
        .max_by_key(|(devs, rows)| (rows.len(), std::cmp::Reverse(*devs)));
    let ((first, dev), rows) = most?;
    let count = rows.len();
    let of = of.iter().filter(|(_, w)| w.first == first).count();
    let dropped = amiss.filter(|d| {
        let theirs = |o: &Owner| matches!(o.carries, Carries::Data | Carries::Syn | Carries::SynData);
        d.owner.as_ref().is_some_and(theirs)
    });
    if count < FEWEST || (count as f64) < MOST * of as f64 || 2 * dropped.take(count).count() >= count {
        return None;
    }
    // Others of those connections: a container's device has the same name as its neighbours'.
    let theirs: FxHashSet<ConnectionId> = rows.iter().filter_map(|t| t.connection).collect();
    let beside = beside
        .iter()
        .filter(|t| t.connection.is_some_and(|c| theirs.contains(&c)));
    let mut usual: BTreeMap<Name, u64> = BTreeMap::new();
    for way in beside.filter_map(|t| ways.get(&t.skb_id)) {
        if way.first == first {
            *usual.entry(way.last).or_default() += 1;
        }
    }
    let there = usual.get(&dev).copied().unwrap_or(0);
    let whole: u64 = usual.values().sum();
    let most = usual.into_iter().max_by_key(|(dev, n)| (*n, std::cmp::Reverse(*dev)));
    let mut found = Vanished {
        dev: dev.text().into_owned(),
        count: count as u64,
        of: of as u64,
        others: (there, whole),
        usual: most
            .filter(|(of, _)| *of != dev && there == 0)
            .map_or_else(String::new, |(of, _)| of.text().into_owned()),
        routes_came: vec![],
        routes_went: vec![],
    };
    if found.another_way() {
        (found.routes_came, found.routes_went) = (routes(facts, true), routes(facts, false));
    }
    Some(found)
}

/// Routes that came, or went, each once: `default via fe80::1`. Not of the kernel's table of local addresses.
fn routes(facts: &Facts, came: bool) -> Vec<String> {
    let changed = (facts.snapshots.iter()).filter(|r| r.what == "routes" && r.start != r.end && r.end == came);
    let words = |line: &str| {
        let unicast = field(line, "type") == Some(UNICAST) && field(line, "table") != Some(LOCAL);
        let to = field(line, "to").filter(|_| unicast)?;
        let via = field(line, "via").map_or_else(String::new, |via| format!(" via {via}"));
        Some(format!("{to}{via}"))
    };
    let all: BTreeSet<String> = changed.filter_map(|r| words(&r.line)).collect();
    all.into_iter().take(ROUTES).collect()
}

impl Vanished {
    /// Whether the others went another way.
    pub(crate) fn another_way(&self) -> bool {
        self.others.0 == 0 && self.others.1 >= OTHERS
    }
}
