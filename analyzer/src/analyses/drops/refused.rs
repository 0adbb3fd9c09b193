//! Packets that a queue refused although it had room: what they are, not how many.
//!
//! Needs `counters` (fq's own), `drops`, `hops`, settings. Sources: net/sched/sch_fq.c `fq_enqueue` (`flows_plimit`, `horizon_drops`); net/sched/sch_tbf.c
//! `tbf_enqueue`: what is longer than the burst is dropped however empty the queue is.

use rustc_hash::{FxHashMap, FxHashSet};

use super::full::MOSTLY;
use super::{Full, Group};
use crate::counters::{FLOWS_PLIMIT, HORIZON_DROPS};
use crate::facts::{Facts, SkbId};
use crate::reconstruct::drops::tables::DropRow;

/// Part of a queue's drops that must have been counted for this.
const NEARLY: f64 = 0.95;
/// Fewest that were dropped, and that went on, for their sizes to tell.
const FEWEST: usize = 10;
/// Settings of a queue, and what each says of a length.
const LENGTHS: [(&str, &str); 2] = [("burst", "its burst is"), ("minburst", "its minburst is")];

/// What fq refuses by rules of its own, by its counters.
fn by_fq(facts: &Facts, g: &Group) -> Option<String> {
    let fq = format!("{} fq ", g.dev);
    let rose = |name: &str| {
        let of = facts.counters.iter();
        let mut of = of.filter(|c| c.source == "qdisc" && c.name == name && c.of.starts_with(&fq));
        // Of several devices of one name nothing tells which it was; the readings enclose the recording.
        let rose = of.next().filter(|_| of.next().is_none())?.rise()?;
        let these = rose as f64 >= NEARLY * g.count as f64 && rose as f64 * MOSTLY <= g.count as f64;
        these.then_some(rose)
    };
    if let Some(n) = rose(FLOWS_PLIMIT) {
        return Some(format!(
            "fq there takes only flow_limit packets of one flow, whatever room the queue has: it counted {n} more {FLOWS_PLIMIT}"
        ));
    }
    let n = rose(HORIZON_DROPS)?;
    Some(format!(
        "the time at which they were to be sent, by SO_TXTIME or pacing, lay further ahead than fq's horizon, whatever room the queue has: it counted {n} more {HORIZON_DROPS}"
    ))
}

/// A length of a queue's settings, bytes: `tbf rate=1 burst=1500B`.
fn length(setting: &str, name: &str) -> Option<u64> {
    let words = setting.split(' ').filter_map(|w| w.split_once('='));
    let mut of = words.filter(|(key, _)| *key == name).map(|(_, v)| v);
    of.next()?.strip_suffix('B')?.parse().ok()
}

/// All that are longer than any that went on.
fn by_length(facts: &Facts, g: &Group, rows: &[&DropRow]) -> Option<String> {
    // Namespaces have devices of one name: what left by which of them is not known.
    if facts.routes.links.several(&g.dev) {
        return None;
    }
    let dropped: FxHashSet<SkbId> = rows.iter().filter_map(|r| r.skb_id).collect();
    if dropped.len() < FEWEST || dropped.len() != rows.len() {
        return None;
    }
    let mut queued: FxHashMap<SkbId, u32> = FxHashMap::default();
    for hop in facts.hops.iter().filter(|h| h.kind == "queue" && h.dev.text() == g.dev) {
        queued.insert(hop.skb_id, hop.bytes?);
    }
    let least = dropped.iter().map(|s| queued.get(s)).min()??;
    let passed = || queued.iter().filter(|(s, _)| !dropped.contains(s)).map(|(_, n)| n);
    let most = passed()
        .max()
        .filter(|most| *most < least && passed().count() >= FEWEST)?;
    let setting = facts.settings.0.get(&format!("{} qdisc", g.dev))?;
    // Without such a setting lengths may only go along with what is refused: another class, a filter.
    let says = LENGTHS.iter().find_map(|(name, says)| {
        let bytes = length(setting, name)?;
        (u64::from(*most) <= bytes && bytes < u64::from(*least)).then(|| format!(", {says} {bytes} bytes"))
    })?;
    let kind = setting.split(' ').next().unwrap_or_default();
    Some(format!(
        "by their size, not for want of room: {kind} there refused all that had {least} bytes or more, and none of the {} with {most} or fewer{says}",
        passed().count()
    ))
}

/// By what a queue refused them, where that is known; counted, or shown by all seen there.
pub(super) fn refused(facts: &Facts, g: &Group, rows: &[&DropRow]) -> Option<Full> {
    let says = by_fq(facts, g).or_else(|| by_length(facts, g, rows))?;
    Some(Full { says, counted: true })
}
