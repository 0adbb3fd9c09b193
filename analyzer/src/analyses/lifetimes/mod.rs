//! How long do skbs live? Life times by class and device; lives whose end is not known are counted, never averaged in.

use std::collections::BTreeMap;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::analyses::{Outcome, reasons};
use crate::explain::{Id, Kind};
use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::skb::tables::{DeathKind, SkbClass};
use crate::stat::Distribution;

#[cfg(test)]
mod tests;

/// Lives of one class on one device.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Group {
    /// `rx`, `tx_original`, `tx_clone`, `tx_other`.
    pub class: &'static str,
    /// First device; empty when none was named.
    pub dev: String,
    /// Certain and strong lives with both ends known.
    pub solid: Distribution,
    /// All lives with both ends known.
    pub all: Distribution,
    /// The longest of the certain and strong ones, else of all; of equals the one with the smallest id.
    pub worst: Option<Id>,
    /// Lives by how they ended.
    pub deaths: BTreeMap<&'static str, u64>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Lifetimes {
    /// All lives.
    pub lives: u64,
    /// Lives with both ends known.
    pub measured: u64,
    /// Distinct addresses they had.
    pub addresses: u64,
    /// By class and device.
    pub groups: Vec<Group>,
}

/// Asks.
pub fn answer(facts: &Facts) -> Outcome<Lifetimes> {
    if facts.skbs.is_empty() {
        return Outcome::Unknown(reasons(facts, "skbs", "no event of this recording names an skb"));
    }
    #[derive(Default)]
    struct Acc {
        solid: Vec<i64>,
        all: Vec<i64>,
        unknown: (u64, u64),
        worst: Option<(bool, i64, SkbId)>,
        deaths: BTreeMap<DeathKind, u64>,
    }
    let mut groups: FxHashMap<(SkbClass, Name), Acc> = FxHashMap::default();
    for s in &facts.skbs {
        let a = groups.entry((s.class, s.dev)).or_default();
        *a.deaths.entry(s.death_kind).or_insert(0) += 1;
        let solid = s.confidence.is_solid();
        match s.life_ns() {
            Some(v) => {
                a.all.push(v);
                // A solid one before others, then the longest; rows are in order of ids.
                if a.worst.is_none_or(|(of, most, _)| (solid, v) > (of, most)) {
                    a.worst = Some((solid, v, s.skb_id));
                }
                if solid {
                    a.solid.push(v);
                }
            }
            None => {
                a.unknown.0 += u64::from(solid);
                a.unknown.1 += 1;
            }
        }
    }
    let mut groups: Vec<((SkbClass, Name), Acc)> = groups.into_iter().collect();
    groups.sort_unstable_by_key(|(key, _)| *key);
    let groups: Vec<Group> = groups
        .into_par_iter()
        .map(|((class, dev), a)| Group {
            class: class.word(),
            dev: dev.text().into_owned(),
            solid: Distribution::of(a.solid, a.unknown.0),
            all: Distribution::of(a.all, a.unknown.1),
            worst: a.worst.map(|(.., skb)| Id::new(Kind::Skb, skb.0)),
            deaths: a.deaths.into_iter().map(|(kind, n)| (kind.word(), n)).collect(),
        })
        .collect();
    let addresses: FxHashSet<u64> = facts.skbs.iter().map(|s| s.skbaddr).collect();
    Outcome::Findings(Lifetimes {
        lives: facts.skbs.len() as u64,
        measured: groups.iter().map(|g| g.all.n).sum(),
        addresses: addresses.len() as u64,
        groups,
    })
}
