//! The times of one stage over many rows: of the certain and strong ones, and of all.

use crate::stat::Distribution;

/// What time in no stage is called.
pub const UNTOLD: &str = "unexplained: no event covers it";

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
