//! Who had the CPU while read units waited for it: before the softirq, and while their reader was runnable.

use std::collections::BTreeMap;

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
    let mut by: BTreeMap<(&'static str, &'static str, String), (u64, i64)> = BTreeMap::new();
    let mut add = |stage: Stage, ns: i64, part: &'static str, who: String| {
        let (units, sum) = by.entry((stage.name(), part, who)).or_default();
        *units += 1;
        *sum = sum.saturating_add(ns);
    };
    for r in read {
        for stage in [Stage::SoftirqWait, Stage::Rps] {
            if let Some(ns) = r.stage(stage) {
                let (part, who) = r.softirq_blame.map_or((Part::Unknown.word(), String::new()), |b| {
                    (b.part.word(), b.who.text().into_owned())
                });
                add(stage, ns, part, who);
            }
        }
        if let Some(ns) = r.stage(Stage::RunQueue) {
            let (part, who) = match r.run_queue_task.is_empty() {
                true => (Part::Unknown.word(), String::new()),
                false => (Part::Task.word(), r.run_queue_task.text().into_owned()),
            };
            add(Stage::RunQueue, ns, part, who);
        }
    }
    let mut all: Vec<Blamed> = by
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
