//! Slow answers that come again and again: on one side a tenth of the answers (or a far longer hundredth) took longer than any of the other, in six of ten parts of the time or more. One stall makes many slow answers, so that
//! the test of chance takes them for few events; a server that stands still each two seconds makes ten of them a recording, in as many parts of it.
//!
//! In: values with their moments. Out: in how many parts of the time some are longer than any of the other side; metrics of answers called worse (better) by that. Where parts can be exchanged, that the six with the longest
//! are all of one side is chance in 1 of 92 comparisons, by itself: it is not adjusted for other tests, so it is asked of answers alone, and only of such that [`tails`] would tell.

use super::compare::{BLOCKS, Metric};
use super::tails;
use crate::diff::said::verdict::Outcome;
use crate::diff::sides::options::DiffOptions;
use crate::stat::{At, block_of};

/// Parts of the time, of [`PARTS`].
const LEAST: usize = 6;
pub(in crate::diff) const PARTS: usize = BLOCKS[2];

/// Parts of the time in which some values are longer than any of the other side: before, and after. None of groups, whose unit is the recording.
pub(super) fn parts(before: &[Vec<At>], after: &[Vec<At>]) -> [usize; 2] {
    let ([before], [after]) = (before, after) else {
        return [0, 0];
    };
    let most = |of: &[At]| of.iter().map(|v| v.value).max().unwrap_or(i64::MAX);
    let beyond = |of: &[At], limit: i64| {
        let times = || of.iter().map(|v| v.time_ns);
        let (from, to) = (times().min().unwrap_or(0), times().max().unwrap_or(0));
        let longer = of.iter().filter(|v| v.value > limit);
        let parts: std::collections::BTreeSet<usize> = longer.map(|v| block_of(v.time_ns, from, to, PARTS)).collect();
        parts.len()
    };
    [beyond(before, most(after)), beyond(after, most(before))]
}

/// Chance that the `n` parts with the longest are all of one side, whichever.
pub(in crate::diff) fn chance(n: usize) -> f64 {
    let each = (0..n).map(|i| (PARTS - i.min(PARTS)) as f64 / (2 * PARTS - i.min(PARTS)) as f64);
    2.0 * each.product::<f64>()
}

/// Calls worse, or better, what comes again and again.
pub(in crate::diff) fn judge(metrics: &mut [Metric], o: &DiffOptions) {
    let asked = tails::asked(metrics);
    let same = |(m, asked): &(&mut Metric, bool)| *asked && m.outcome == Outcome::Same;
    for (m, _) in metrics.iter_mut().zip(asked).filter(same) {
        let [before, after] = m.beyond;
        let told = [Outcome::Worse, Outcome::Better].map(|o| tails::told(m, o));
        let (outcome, percent) = match told {
            [Some(percent), _] if after >= LEAST => (Outcome::Worse, percent),
            [_, Some(percent)] if before >= LEAST => (Outcome::Better, percent),
            _ => continue,
        };
        if let Some(s) = m.shifts.iter_mut().find(|s| s.percent == percent) {
            s.outcome = outcome;
        } else if let Some(s) = m.untested.iter().find(|s| s.percent == percent) {
            // Of too few values for a test among the others: its p is its own, and its least size that of a tail.
            let mut s = s.clone();
            let (relative, absolute) = o.least(percent);
            s.threshold = ((s.before.unsigned_abs() as f64 * relative).ceil() as i64).max(absolute);
            s.outcome = outcome;
            m.shifts.push(s);
        } else {
            continue;
        }
        (m.outcome, m.recurs) = (outcome, true);
    }
}

/// Behind answers that are called so: in how many parts of the time, and what that is worth.
pub(in crate::diff) fn words(m: &Metric) -> String {
    if !m.recurs {
        return String::new();
    }
    let (n, when) = match m.beyond {
        [before, after] if before > after => (before, "some took longer before than any after"),
        [_, after] => (after, "some took longer than any before"),
    };
    format!(
        "; in {n} of {PARTS} parts of the time {when} (by itself chance gives that in 1 of {:.0} comparisons)",
        1.0 / chance(n)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_with_longer_values_than_any_of_the_other_side() {
        let one = |n: i64, slow: &[i64]| At {
            time_ns: n * 10_000_000,
            value: if slow.contains(&(n / 100)) && n % 100 < 12 {
                200
            } else {
                1 + n % 7
            },
        };
        let side = |slow: &[i64]| vec![(0..1000).map(|n| one(n, slow)).collect::<Vec<_>>()];
        assert_eq!(parts(&side(&[]), &side(&[0, 2, 3, 5, 7, 9])), [0, 6]);
        assert_eq!(parts(&side(&[4]), &side(&[])), [1, 0]);
        assert_eq!(parts(&side(&[4]), &side(&[1, 2])), [0, 0]);
        assert_eq!(parts(&[vec![], vec![]], &side(&[1])), [0, 0]);
        assert_eq!(parts(&[vec![]], &side(&[1])), [0, 0]);
        // Of twenty parts the six first: 210 of 38,760 divisions, for each side.
        assert!((chance(6) - 2.0 * 210.0 / 38_760.0).abs() < 1e-12, "{}", chance(6));
    }
}
