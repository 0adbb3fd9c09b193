//! The times of one stage over many rows: of the certain and strong ones, and of all.

use super::Waits;
use crate::stat::Distribution;

/// What time in no stage is called.
pub const UNTOLD: &str = "in no stage: no event tells more";

/// A stage and its times.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct StageTimes {
    /// Name; the column is `stage_<name>_ns`.
    pub stage: &'static str,
    /// What passes in it.
    pub meaning: &'static str,
    /// Certain and strong units.
    pub solid: Distribution,
    /// All units.
    pub all: Distribution,
    /// Share of the summed time of all units that was spent here.
    pub share: f64,
}

/// `get` of every row. `whole_ns` is the time that the share is of. Rows where the stage is not known count as unknown.
pub fn times<R: Waits>(
    stage: &'static str,
    meaning: &'static str,
    rows: &[&R],
    whole_ns: i64,
    get: impl Fn(&R) -> Option<i64>,
) -> StageTimes {
    let pick = |solid: bool| {
        let (mut values, mut unknown) = (vec![], 0);
        for r in rows.iter().filter(|r| !solid || r.confidence().is_solid()) {
            match get(r) {
                Some(v) => values.push(v),
                None => unknown += 1,
            }
        }
        Distribution::of(values, unknown)
    };
    let (solid, all) = (pick(true), pick(false));
    let share = if whole_ns > 0 {
        all.sum_ns as f64 / whole_ns as f64
    } else {
        0.0
    };
    StageTimes {
        stage,
        meaning,
        solid,
        all,
        share,
    }
}
