//! In which order metrics are told.

use super::compare::Metric;
use crate::diff::said::verdict::Outcome;
use crate::diff::servers::answers;
use crate::diff::values::{
    breakdown::{Breakdown, contribution},
    rtt,
};

impl Metric {
    /// Worse ones first; of these what users feel, then the stages that say where; of these the one that adds most to its ledger.
    pub(in crate::diff) fn rank(&self, breakdowns: &[Breakdown]) -> (Outcome, [bool; 4], i64, String) {
        let moved = self.shifts.iter().map(|s| s.shift.saturating_abs()).max().unwrap_or(0);
        let size = contribution(breakdowns, &self.which).map_or(moved, i64::saturating_abs);
        let first = match self.which.ledger {
            answers::LEDGER => self.which.stage == answers::QUEUE,
            _ => !self.which.is_stage(),
        };
        let order = [
            self.which.ledger != answers::LEDGER,
            !rtt::is(&self.which),
            self.follows(),
            first,
        ];
        (self.outcome, order, size.saturating_neg(), self.metric.clone())
    }
    /// Whether it is an inner time that tells nothing by itself: in no stage, lives of skbs, and stages whose units are others.
    pub(in crate::diff) fn follows(&self) -> bool {
        let inner = self.which.ledger == "lifetime" || self.which.stage == "unattributed";
        inner || self.mix.is_some() && self.which.ledger != answers::LEDGER
    }
}
