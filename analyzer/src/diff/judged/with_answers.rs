//! Segments that are acknowledged later because their ACK comes with the answer, and the answer with more or other requests: nobody waits for an ACK.
//!
//! In: rows of `tx` of both sides, turnarounds of their peers. Of what is worse of the time to the ACK: whether that is so, too, without the time for which the peer's application had the
//! request and had not answered. Asked only where answers are compared and none takes longer, so that this time is no harm by itself. Of segments whose peers are outside the recording nothing is taken away.

use super::compare::Metric;
use crate::analyses::transmit::Peers;
use crate::diff::said::verdict::Outcome;
use crate::diff::sides::options::{DiffOptions, Recording};
use crate::diff::values::metrics::tx_counts;
use crate::reconstruct::transmit::Stage;
use crate::reconstruct::transmit::tables::TxRow;
use crate::stat::nearest_rank;

/// Times of a side's segments without that part.
fn times(side: &[Recording<'_>], whole: bool) -> Vec<i64> {
    let mut out = vec![];
    for r in side {
        let peers = Peers::of(r.facts);
        let takes = |t: &&TxRow| r.has(t.start_ns) && r.takes(t.dev, t.connection);
        let rows = r.facts.tx.iter().filter(|t| tx_counts(t) == Some("tx"));
        for row in rows.filter(takes) {
            let Some(network) = row.stage(Stage::Network) else {
                continue;
            };
            let own = if whole { row.total_ns } else { network };
            out.push(own.saturating_sub(peers.application_ns(row).unwrap_or(0)));
        }
    }
    out
}

/// Whether what is worse of a metric is for that time alone.
pub(super) fn later_answers(m: &Metric, sides: [&[Recording<'_>]; 2], o: &DiffOptions) -> bool {
    let whole = match (m.which.ledger, m.which.stage, m.which.dev.is_some()) {
        ("tx", "total", false) => true,
        ("tx", "network", false) => false,
        _ => return false,
    };
    let [mut before, mut after] = sides.map(|side| times(side, whole));
    m.shifts.iter().filter(|s| s.outcome == Outcome::Worse).all(|s| {
        let at = |of: &mut Vec<i64>| nearest_rank(of, s.percent as usize);
        let (relative, absolute) = o.least(s.percent);
        at(&mut before)
            .zip(at(&mut after))
            .is_some_and(|(b, a)| a.saturating_sub(b) < ((b as f64 * relative) as i64).max(absolute))
    })
}
