//! Who had the CPU while read units waited for it: before the softirq, and while their reader was runnable.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::name::Name;
use crate::reconstruct::context::Part;
use crate::reconstruct::receive::tables::{RxRow, Stage};

/// Kept of a stage at most: those with most time.
pub const BLAMED: usize = 20;

/// Stages in which a unit waits for a CPU, in the order of the path.
const STAGES: [Stage; 3] = [Stage::SoftirqWait, Stage::Rps, Stage::RunQueue];

/// What had a CPU for which units waited.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Blamed {
    /// Stage: `softirq_wait`, `rps`, `run_queue`.
    pub stage: &'static str,
    /// Largest part of a softirq's wait: `irq`, `softirq`, `bh_off`, `ksoftirqd`, `task`, `idle`, `unknown`; of a run queue: `task`.
    pub part: &'static str,
    /// Who had most of it: interrupt, vector or task; empty when it has no name, or is not known.
    pub who: String,
    /// Units that waited so.
    pub units: u64,
    /// Their time in the stage, ns.
    pub ns: i64,
}

/// Of read units; in the order of the path, then most time first.
pub(super) fn blamed(read: &[&RxRow]) -> Vec<Blamed> {
    let mut by: FxHashMap<(Stage, Part, Name), (u64, i64)> = FxHashMap::default();
    let mut add = |stage: Stage, ns: i64, part: Part, who: Name| {
        let (units, sum) = by.entry((stage, part, who)).or_default();
        *units += 1;
        *sum = sum.saturating_add(ns);
    };
    for r in read {
        for stage in [Stage::SoftirqWait, Stage::Rps] {
            if let Some(ns) = r.stage(stage) {
                let blame = r.softirq_blame;
                let (part, who) = blame.map_or((Part::Unknown, Name::default()), |b| (b.part, b.who));
                add(stage, ns, part, who);
            }
        }
        if let Some(ns) = r.stage(Stage::RunQueue) {
            let part = match r.run_queue_task.is_empty() {
                true => Part::Unknown,
                false => Part::Task,
            };
            add(Stage::RunQueue, ns, part, r.run_queue_task);
        }
    }
    // Names may differ and read the same.
    let mut texts: BTreeMap<(&'static str, &'static str, String), (u64, i64)> = BTreeMap::new();
    for ((stage, part, who), (units, ns)) in by {
        let of = texts
            .entry((stage.name(), part.word(), who.text().into_owned()))
            .or_default();
        *of = (of.0 + units, of.1.saturating_add(ns));
    }
    let mut all: Vec<Blamed> = texts
        .into_iter()
        .map(|((stage, part, who), (units, ns))| Blamed {
            stage,
            part,
            who,
            units,
            ns,
        })
        .collect();
    let nth = |stage: &str| STAGES.iter().position(|s| s.name() == stage);
    // Stable: ties stay in the order of their names.
    all.sort_by_key(|b| (nth(b.stage), std::cmp::Reverse(b.ns)));
    let mut kept = [0usize; STAGES.len()];
    all.retain(|b| match nth(b.stage).and_then(|at| kept.get_mut(at)) {
        Some(n) => {
            *n += 1;
            *n <= BLAMED
        }
        None => false,
    });
    all
}
