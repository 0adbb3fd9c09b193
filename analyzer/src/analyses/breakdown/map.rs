//! The map of hops: the steps that most skbs took, in the order of their way, on which CPU each was, and from where to where. In: views
//! `hops`, `rx` (readers are the last step).
//!
//! ```text
//! rx eth0      [CPU 0] [CPU 1]
//!                 | \      |        an edge: skbs whose next step was there
//! queue cni0   [CPU 0] [CPU 1]
//! ```
//! Names of devices are those of all namespaces together, as in `hops`: two devices `eth0` are one step.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::nodes::Known;
use super::{Between, Step};
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::receive::tables::RxEnd;

/// Steps on the map: those of most skbs.
pub const STEPS: usize = 24;
/// CPUs on the map: those with most steps.
pub const CPUS: usize = 16;
/// Edges on the map: those of most skbs.
pub const EDGES: usize = 300;
/// The step of a reader.
const READ: &str = "read";

/// Where packets went.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Map {
    /// Kind of step and device as `xmit eth0`, or `read`, in the order of the way: what comes first is before what follows it for as many skbs as can be.
    pub steps: Vec<String>,
    /// CPUs, by node and number.
    pub cpus: Vec<MapCpu>,
    /// What was at a step and a CPU.
    pub places: Vec<Place>,
    /// From one place to the next, most first.
    pub edges: Vec<Edge>,
    /// Steps from one place to the next and reads, on the map or not.
    pub all: u64,
    /// Those on the map.
    pub shown: u64,
    /// The reads among all.
    pub reads: u64,
    /// Those on another CPU than the unit was received on.
    pub reads_crossed: u64,
    /// Those of units that are weak: how they were read is less certain.
    pub reads_weak: u64,
}

/// A CPU of the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct MapCpu {
    /// Its number.
    pub cpu: u16,
    /// Its NUMA node, where it is known.
    pub node: Option<u32>,
}

/// A step on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct At {
    /// Which of the steps, from 0.
    pub step: usize,
    /// Number of the CPU.
    pub cpu: u16,
}

/// What was at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Place {
    /// Where.
    pub at: At,
    /// How often skbs were there; of `read` units.
    pub packets: u64,
}

/// From a place to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Edge {
    /// Where it began.
    pub from: At,
    /// Where it ended.
    pub to: At,
    /// skbs; to `read` units.
    pub packets: u64,
}

/// Kind and device.
type Way = (&'static str, Name);

/// Asks. `at`: how many skbs were at each of the steps.
pub(super) fn map(facts: &Facts, known: &Known, (steps, at, between): (&[Step], &[u64], &Between)) -> Map {
    let mut places: BTreeMap<(Way, u16), u64> = BTreeMap::new();
    for (step, n) in steps.iter().zip(at) {
        *places.entry(((step.0, step.1), step.2)).or_default() += n;
    }
    let mut edges: BTreeMap<[(Way, u16); 2], u64> = BTreeMap::new();
    let step = |nth: u32| steps.get(nth as usize).map(|s| ((s.0, s.1), s.2));
    for ((from, to), lives) in between {
        if let Some((from, to)) = step(*from).zip(step(*to)) {
            *edges.entry([from, to]).or_default() += lives.len() as u64;
        }
    }
    let reader = (READ, Name::new(b""));
    let (mut reads, mut crossed, mut weak) = (0, 0, 0);
    for row in facts.rx.iter().filter(|r| r.end == RxEnd::Read) {
        if let Some(cpu) = row.read_cpu {
            reads += 1;
            crossed += u64::from(cpu != row.cpu);
            weak += u64::from(!row.confidence.is_solid());
            *places.entry((reader, cpu)).or_default() += 1;
            *edges.entry([(("rx", row.dev), row.cpu), (reader, cpu)]).or_default() += 1;
        }
    }
    Map {
        reads,
        reads_crossed: crossed,
        reads_weak: weak,
        ..draw(known, &places, edges)
    }
}

/// The largest keys.
fn most<K: Ord + Copy + std::hash::Hash>(all: impl Iterator<Item = (K, u64)>, keep: usize) -> Vec<K> {
    let mut sums: FxHashMap<K, u64> = FxHashMap::default();
    for (key, n) in all {
        *sums.entry(key).or_default() += n;
    }
    let mut sums: Vec<(K, u64)> = sums.into_iter().collect();
    sums.sort_unstable_by_key(|(key, n)| (Reverse(*n), *key));
    sums.into_iter().take(keep).map(|(key, _)| key).collect()
}

fn draw(known: &Known, places: &BTreeMap<(Way, u16), u64>, edges: BTreeMap<[(Way, u16); 2], u64>) -> Map {
    let all = edges.values().sum();
    let ways = most(places.iter().map(|((way, _), n)| (*way, *n)), STEPS);
    let mut cpus = most(places.iter().map(|((_, cpu), n)| (*cpu, *n)), CPUS);
    cpus.sort_unstable_by_key(|cpu| (known.cpu(*cpu), *cpu));
    let ways = order(ways, &edges);
    let place = |(way, cpu): (Way, u16)| {
        let step = ways.iter().position(|w| *w == way)?;
        cpus.contains(&cpu).then_some(At { step, cpu })
    };
    let mut drawn: Vec<Edge> = edges
        .into_iter()
        .filter_map(|([from, to], packets)| {
            let (from, to) = place(from).zip(place(to))?;
            Some(Edge { from, to, packets })
        })
        .collect();
    drawn.sort_unstable_by_key(|e| (Reverse(e.packets), e.from, e.to));
    drawn.truncate(EDGES);
    let on = places.iter().filter_map(|(at, packets)| {
        let (at, packets) = (place(*at)?, *packets);
        Some(Place { at, packets })
    });
    let mut on: Vec<Place> = on.collect();
    on.sort_unstable_by_key(|p| p.at);
    Map {
        steps: ways
            .iter()
            .map(|(kind, dev)| format!("{kind} {}", dev.text()).trim_end().to_owned())
            .collect(),
        cpus: cpus
            .iter()
            .map(|cpu| MapCpu {
                cpu: *cpu,
                node: known.cpu(*cpu),
            })
            .collect(),
        places: on,
        shown: drawn.iter().map(|e| e.packets).sum(),
        edges: drawn,
        all,
        ..Map::default()
    }
}

/// The steps so that few skbs go back: what nothing of the rest leads to comes first, what leads to nothing of the rest comes last, and of a ring that
/// is broken which gives most more than it gets (Eades, Lin, Smyth 1993).
fn order(mut left: Vec<Way>, edges: &BTreeMap<[(Way, u16); 2], u64>) -> Vec<Way> {
    let mut weights: BTreeMap<(Way, Way), u64> = BTreeMap::new();
    for ([from, to], n) in edges {
        if from.0 != to.0 {
            *weights.entry((from.0, to.0)).or_default() += n;
        }
    }
    let (mut first, mut last) = (vec![], vec![]);
    while !left.is_empty() {
        let sums: Vec<(u64, u64)> = left
            .iter()
            .map(|way| {
                let with = |key: fn(Way, Way) -> (Way, Way)| -> u64 {
                    left.iter().filter_map(|other| weights.get(&key(*way, *other))).sum()
                };
                (with(|way, other| (way, other)), with(|way, other| (other, way)))
            })
            .collect();
        let sink = sums.iter().position(|(out, into)| *out == 0 && *into > 0);
        let source = sums.iter().position(|(_, into)| *into == 0);
        let most = || {
            (0..sums.len()).max_by_key(|n| {
                sums.get(*n)
                    .map(|(o, i)| (i128::from(*o) - i128::from(*i), Reverse(*n)))
            })
        };
        match (sink, source.or_else(most)) {
            (Some(nth), _) => last.push(left.remove(nth)),
            (None, Some(nth)) => first.push(left.remove(nth)),
            (None, None) => break,
        }
    }
    first.extend(last.into_iter().rev());
    chained(first, &weights)
}

/// The same with as few going back, and what follows most of the one before as near to it as can be: each is placed when all are that lead to it
/// from above.
fn chained(mut left: Vec<Way>, weights: &BTreeMap<(Way, Way), u64>) -> Vec<Way> {
    let weight = |from: &Way, to: &Way| weights.get(&(*from, *to)).copied().unwrap_or(0);
    let mut out: Vec<Way> = vec![];
    while !left.is_empty() {
        let ready = |nth: &usize| {
            let way = left.get(*nth);
            way.is_some_and(|way| left.iter().take(*nth).all(|above| weight(above, way) == 0))
        };
        let follows = |nth: &usize| {
            out.last()
                .zip(left.get(*nth))
                .map_or(0, |(last, way)| weight(last, way))
        };
        // Of equals the first; the first of all is always ready.
        let next = (0..left.len())
            .filter(ready)
            .max_by_key(|nth| (follows(nth), Reverse(*nth)));
        out.push(left.remove(next.unwrap_or(0)));
    }
    out
}
