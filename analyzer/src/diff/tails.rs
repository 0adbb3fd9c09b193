//! Answers of which the slowest take far longer on one side, where that is not judged: between the percentiles that are tested, or of few blocks.
//! One stall makes many slow answers, so this is said, and is no verdict.

use super::answers::LEDGER;
use super::compare::Metric;
use super::verdict::Outcome;
use crate::analyses::verdict::duration;
use crate::stat::Distribution;

/// Fewest answers on each side.
const LEAST: u64 = 100;
/// So many times as long, and so much longer, ns, is the p99 after.
const TIMES: i64 = 10;
const LONGER_NS: i64 = 10_000_000;
/// Servers told.
const TOLD: usize = 2;

/// The slowest hundredth after took longer than any before, many times as long as its slowest hundredth.
fn longer(before: &Distribution, after: &Distribution) -> bool {
    let Some(((b, a), most)) = before.p99_ns.zip(after.p99_ns).zip(before.max_ns) else {
        return false;
    };
    let enough = before.n.min(after.n) >= LEAST;
    enough && a > most && a >= b.saturating_mul(TIMES) && a.saturating_sub(b) >= LONGER_NS
}

/// A sentence for each server.
pub(super) fn said(metrics: &[Metric]) -> Vec<String> {
    let of = |m: &&Metric| (m.which.ledger, m.which.stage, m.outcome) == (LEDGER, "response", Outcome::Same);
    let all = metrics.iter().filter(of).filter(|m| longer(&m.before, &m.after));
    let words = |m: &Metric| {
        let server = m.which.service.as_deref().unwrap_or("all servers");
        let ns = |ns: Option<i64>| ns.map_or_else(|| "-".into(), duration);
        format!(
            "The slowest answers of {server} take far longer: p99 {} -> {}, max {} -> {}, n {} -> {}; not judged, since one stall makes many of them: see the slow ones in a report of each.",
            ns(m.before.p99_ns),
            ns(m.after.p99_ns),
            ns(m.before.max_ns),
            ns(m.after.max_ns),
            m.before.n,
            m.after.n
        )
    };
    all.take(TOLD).map(words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of so many answers of 0.2 ms a part took that many ms.
    fn answers(n: u64, slow: u64, ms: i64) -> Distribution {
        let one = |i: u64| if i < slow { ms * 1_000_000 + i as i64 } else { 200_000 };
        Distribution::of((0..n).map(one).collect(), 0)
    }

    #[test]
    fn a_tail_that_was_not_there_is_told() {
        let usual = answers(230, 3, 1);
        assert!(longer(&usual, &answers(238, 14, 88)));
        // One of them; a tail as before; shorter; too few; not by much.
        assert!(!longer(&usual, &answers(238, 1, 88)));
        assert!(!longer(&answers(230, 1, 90), &answers(238, 14, 88)));
        assert!(!longer(&answers(238, 14, 88), &usual));
        assert!(!longer(&usual, &answers(90, 14, 88)));
        assert!(!longer(&usual, &answers(238, 14, 9)));
    }
}
