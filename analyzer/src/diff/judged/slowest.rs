//! The test of the slowest: of each block of time the mean of its slowest tenth (or hundredth), by ranks. A tail that is there in nearly every block of one side and in none of the other is
//! no chance, however much its size varies from block to block: the test of shares ([`crate::diff::judged::above`]) takes that for noise. One stall, however long, is in one block, and has one rank.
//!
//! In: values with their moments. Out: a probability, exact where blocks can be exchanged; `None` where too few blocks have enough values.

use super::compare::BLOCKS;
use crate::stat::{At, block_of, rank_test};

/// Slowest values that a block must have to be one of them: two.
const LEAST: usize = 2;
/// Fewest blocks on each side.
const FEWEST: usize = 8;
/// So many times as many values on one side, and the slowest tenth of few is less than that of many by itself.
const TIMES: usize = 2;
/// What it has of the level, the test of shares has the rest: both together are wrong no oftener than one (Bonferroni).
const PART: f64 = 0.1;

/// The probability of both tests together.
pub(in crate::diff) fn together(of_shares: f64, before: &[Vec<At>], after: &[Vec<At>], percent: u64) -> f64 {
    let ([before], [after]) = (before, after) else {
        return of_shares;
    };
    let (b, a) = (of_blocks(before, percent), of_blocks(after, percent));
    let (fewer, more) = (before.len().min(after.len()), before.len().max(after.len()));
    if b.len() < FEWEST || a.len() < FEWEST || more > fewer.saturating_mul(TIMES) {
        return of_shares;
    }
    let both = |of_ranks: f64| (of_shares / (1.0 - PART)).min(of_ranks / PART).min(1.0);
    rank_test(&b, &a).map_or(of_shares, both)
}

/// The mean (geometric, so that the longest is not all of it) of the slowest of each block that has enough, in millionths of its logarithm: of a tenth exactly, the last value in part.
fn of_blocks(values: &[At], percent: u64) -> Vec<i64> {
    let blocks = BLOCKS.last().copied().unwrap_or(1);
    let from = values.iter().map(|v| v.time_ns).min().unwrap_or(0);
    let to = values.iter().map(|v| v.time_ns).max().unwrap_or(0);
    let mut of: Vec<Vec<i64>> = vec![vec![]; blocks];
    for v in values {
        if let Some(block) = of.get_mut(block_of(v.time_ns, from, to, blocks)) {
            block.push(v.value);
        }
    }
    let mean = |mut block: Vec<i64>| {
        block.sort_unstable();
        let slowest = block.len() as f64 * (100.0 - percent as f64) / 100.0;
        let whole = slowest as usize;
        let all = block.get(block.len() - whole..).filter(|_| whole >= LEAST)?;
        let ln = |v: &i64| (*v as f64).max(1.0).ln();
        let last = (block.len() - whole).checked_sub(1).and_then(|at| block.get(at));
        let last = last.map_or(0.0, |v| (slowest - whole as f64) * ln(v));
        Some((1e6 * (all.iter().map(ln).sum::<f64>() + last) / slowest) as i64)
    };
    of.into_iter().filter_map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `n` values of 1 ms in each of ten seconds, but for the first so many of each block, which take longer.
    fn side(slow: impl Fn(i64) -> (i64, i64)) -> Vec<Vec<At>> {
        let of = |block: i64| {
            let (n, ms) = slow(block);
            (0..60).map(move |i| At {
                time_ns: (block * 60 + i) * 16_666_667,
                value: if i < n { ms * 1_000_000 } else { 1_000_000 + i * 1_000 },
            })
        };
        vec![(0..10).flat_map(of).collect()]
    }

    #[test]
    fn a_tail_in_every_block_is_no_chance_and_one_stall_is() {
        let before = side(|_| (0, 0));
        // From 3 to 45 of 60, as of a CPU quota: the shares vary tenfold.
        let quota = side(|b| ([4, 3, 5, 8, 45, 20, 22, 6, 7, 39][b as usize], 30));
        let p = together(0.02, &before, &quota, 90);
        assert!((p - 2.0 / 184_756.0 / PART).abs() < 1e-9, "{p}");
        // The other way round as well.
        assert_eq!(together(0.02, &quota, &before, 90), p);
        let stall = side(|b| (if b == 4 { 50 } else { 0 }, 400));
        assert!(together(0.3, &before, &stall, 90) > 0.3);
        // In half of the blocks: it may be chance.
        let half = side(|b| (if b % 2 == 0 { 10 } else { 0 }, 30));
        assert!(together(0.02, &before, &half, 90) > 0.02);
    }

    #[test]
    fn with_too_few_values_or_several_recordings_the_test_of_shares_stands() {
        let (before, slow) = (side(|_| (0, 0)), side(|_| (20, 30)));
        // Of 60 values a hundredth is none.
        assert_eq!(together(0.02, &before, &slow, 99), 0.02);
        let two = |side: &[Vec<At>]| [side.to_vec(), side.to_vec()].concat();
        assert_eq!(together(0.02, &two(&before), &two(&slow), 90), 0.02);
        assert_eq!(together(0.02, &[vec![]], &slow, 90), 0.02);
        // Three times as many: the slowest tenth of many is slower by itself.
        let many: Vec<At> = (slow[0].iter())
            .flat_map(|v| {
                [0, 1, 2].map(|n| At {
                    time_ns: v.time_ns + n,
                    ..*v
                })
            })
            .collect();
        assert_eq!(together(0.02, &before, &[many], 90), 0.02);
    }

    /// Of 29 values a tenth is 2.9: the two slowest, and nine tenths of the third.
    #[test]
    fn a_tenth_is_exact() {
        let of = |n: i64| {
            (0..10).flat_map(move |block| {
                (0..n).map(move |i| At {
                    time_ns: block * 1_000_000 + i,
                    value: (i + 1) * 1_000,
                })
            })
        };
        let values: Vec<At> = of(29).collect();
        let ln = |thousands: f64| (thousands * 1_000.0).ln();
        let expected = 1e6 * (ln(29.0) + ln(28.0) + 0.9 * ln(27.0)) / 2.9;
        let got = of_blocks(&values, 90);
        assert!(
            got.len() == 10 && got.iter().all(|v| (*v as f64 - expected).abs() < 2.0),
            "{got:?} {expected}"
        );
        // Of 19 it is less than two.
        assert_eq!(of_blocks(&of(19).collect::<Vec<_>>(), 90), [0; 0]);
    }
}
