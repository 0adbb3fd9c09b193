//! The waits of a ledger's rows: which held a row, or a set of rows, up the most. The verdict and the rigs of `tests/lab` ask the same
//! function: what is tested is what is said.
//!
//! In: rows of `rx` or `tx`. Out: the top wait, time in no stage competing as `unattributed`. Must not see events, and must
//! not choose rows: the caller says which units are meant (read ones, one connection's, one window's).
//!
//! ```text
//! rows -> Σ ns per stage (+ unattributed) -> the largest; ties: the earlier stage on the path
//! ```

use crate::confidence::Confidence;
use crate::reconstruct::receive::tables::{RxRow, Stage};
use crate::reconstruct::transmit;
use crate::reconstruct::transmit::tables::TxRow;

#[cfg(test)]
mod tests;
mod times;

pub use times::{StageTimes, UNTOLD};

/// The name under which time in no stage competes.
pub const UNATTRIBUTED: &str = "unattributed";

/// A row of a ledger: waits that sum to its total.
pub trait Waits {
    /// Stages of the path.
    const STAGES: usize;
    /// Name of the nth stage on the path.
    fn stage_name(nth: usize) -> &'static str;
    /// ns in the nth stage; `None`: did not happen, or not known.
    fn stage_ns(&self, nth: usize) -> Option<i64>;
    /// ns in no stage.
    fn unattributed_ns(&self) -> i64;
    /// ns from start to end.
    fn total_ns(&self) -> i64;
    /// Least of the row's links.
    fn confidence(&self) -> Confidence;
    /// The stages that are known, by name in the order of the path, and their ns.
    fn stages(&self) -> impl Iterator<Item = (&'static str, i64)> {
        (0..Self::STAGES).filter_map(|nth| Some((Self::stage_name(nth), self.stage_ns(nth)?)))
    }
}

impl Waits for RxRow {
    const STAGES: usize = Stage::ALL.len();
    fn stage_name(nth: usize) -> &'static str {
        Stage::ALL.get(nth).map_or("", |s| s.name())
    }
    fn stage_ns(&self, nth: usize) -> Option<i64> {
        self.stage(*Stage::ALL.get(nth)?)
    }
    fn unattributed_ns(&self) -> i64 {
        self.unattributed_ns
    }
    fn total_ns(&self) -> i64 {
        self.total_ns
    }
    fn confidence(&self) -> Confidence {
        self.confidence
    }
}

impl Waits for TxRow {
    const STAGES: usize = transmit::Stage::ALL.len();
    fn stage_name(nth: usize) -> &'static str {
        transmit::Stage::ALL.get(nth).map_or("", |s| s.name())
    }
    fn stage_ns(&self, nth: usize) -> Option<i64> {
        self.stage(*transmit::Stage::ALL.get(nth)?)
    }
    fn unattributed_ns(&self) -> i64 {
        self.unattributed_ns
    }
    fn total_ns(&self) -> i64 {
        self.total_ns
    }
    fn confidence(&self) -> Confidence {
        self.confidence
    }
}

/// The top wait.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Top {
    /// Stage, or [`UNATTRIBUTED`].
    pub stage: &'static str,
    /// Its ns, summed over the rows.
    pub ns: i64,
    /// Its share of the rows' summed total, 0 to 1; more than 1 when another stage is negative.
    pub share: f64,
    /// Rows in which it is known.
    pub n: u64,
    /// The label that rows with at least half of its time have, or exceed.
    pub confidence: Confidence,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    ns: i64,
    n: u64,
    /// ns by label, in the order of [`LABELS`].
    by_label: [i64; 4],
}

const LABELS: [Confidence; 4] = [
    Confidence::Certain,
    Confidence::Strong,
    Confidence::Weak,
    Confidence::Unknown,
];

impl Sum {
    fn add(&mut self, ns: i64, confidence: Confidence) {
        self.ns = self.ns.saturating_add(ns);
        self.n += 1;
        for (label, of) in LABELS.iter().zip(&mut self.by_label) {
            if *label == confidence {
                *of = of.saturating_add(ns);
            }
        }
    }
    fn label(&self) -> Confidence {
        let mut reached = 0i64;
        for (label, ns) in LABELS.iter().zip(self.by_label) {
            reached = reached.saturating_add(ns);
            if reached >= self.ns - self.ns / 2 {
                return *label;
            }
        }
        Confidence::Unknown
    }
}

/// The stage that holds most of the time of `rows`; `None` when there is no row or no time in them.
pub fn top<'r, R: Waits + 'r>(rows: impl IntoIterator<Item = &'r R>) -> Option<Top> {
    let mut sums = vec![Sum::default(); R::STAGES];
    let (mut whole, mut rest) = (0i64, Sum::default());
    for row in rows {
        let confidence = row.confidence();
        whole = whole.saturating_add(row.total_ns());
        rest.add(row.unattributed_ns(), confidence);
        for (nth, sum) in sums.iter_mut().enumerate() {
            if let Some(ns) = row.stage_ns(nth) {
                sum.add(ns, confidence);
            }
        }
    }
    let named = sums.into_iter().enumerate().map(|(nth, sum)| (R::stage_name(nth), sum));
    // Not `max_by_key`: of equals it takes the last.
    let (stage, sum) = named
        .chain([(UNATTRIBUTED, rest)])
        .reduce(|best, s| if s.1.ns > best.1.ns { s } else { best })?;
    (sum.ns > 0 && whole > 0).then(|| Top {
        stage,
        ns: sum.ns,
        share: sum.ns as f64 / whole as f64,
        n: sum.n,
        confidence: sum.label(),
    })
}
