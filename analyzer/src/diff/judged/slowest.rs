//! The test of the slowest: of each block of time the mean of its slowest tenth (or hundredth), by ranks. A tail that is there in nearly every block of one side and in none of the other is
//! no chance, however much its size varies from block to block: the test of shares ([`crate::diff::judged::above`]) takes that for noise. One stall, however long, is in one block, and has one rank.
//!
//! Where the slowest hundredth of a block is less than two values, the longest of each block is ranked in its place: a rank test is exact whatever is ranked, if blocks can be exchanged. As more
//! values have a longer longest, that is the mean of the longest of as many as the smallest block has, over all ways to draw them.
//!
//! In: values with their moments. Out: a probability, exact where blocks can be exchanged; `None` where too few blocks have enough values.

use super::compare::BLOCKS;
use crate::stat::{At, block_of, rank_test};

/// Slowest values that a block must have to be one of them: two.
const LEAST: usize = 2;
/// Fewest values of a block whose longest is compared.
const LONGEST_OF: usize = 30;
/// Fewest blocks on each side.
const FEWEST: usize = 8;
/// So many times as many values on one side, and the slowest tenth of few is less than that of many by itself.
const TIMES: usize = 2;
/// The longest alone are compared in place of less than this percentile's slowest.
const TENTH: u64 = 90;
/// What it has of the level, the test of shares has the rest: both together are wrong no oftener than one (Bonferroni).
const PART: f64 = 0.1;

/// The probability of both tests together.
pub(in crate::diff) fn together(of_shares: f64, before: &[Vec<At>], after: &[Vec<At>], percent: u64) -> f64 {
    let ([before], [after]) = (before, after) else {
        return of_shares;
    };
    let (b, a) = (blocks(before), blocks(after));
    let slowest = |of: &[Vec<i64>]| -> Vec<i64> { of.iter().filter_map(|block| slowest(block, percent)).collect() };
    let (mut ranked_b, mut ranked_a) = (slowest(&b), slowest(&a));
    let few = |b: &[i64], a: &[i64]| b.len() < FEWEST || a.len() < FEWEST;
    if few(&ranked_b, &ranked_a) && percent > TENTH {
        let large = |block: &&Vec<i64>| block.len() >= LONGEST_OF;
        let least = b.iter().chain(&a).filter(large).map(Vec::len).min().unwrap_or(0);
        let longest = |of: &[Vec<i64>]| -> Vec<i64> { of.iter().filter(large).map(|v| longest(v, least)).collect() };
        (ranked_b, ranked_a) = (longest(&b), longest(&a));
    }
    let (fewer, more) = (before.len().min(after.len()), before.len().max(after.len()));
    if few(&ranked_b, &ranked_a) || more > fewer.saturating_mul(TIMES) {
        return of_shares;
    }
    let both = |of_ranks: f64| (of_shares / (1.0 - PART)).min(of_ranks / PART).min(1.0);
    rank_test(&ranked_b, &ranked_a).map_or(of_shares, both)
}

/// Values of each block, ascending.
fn blocks(values: &[At]) -> Vec<Vec<i64>> {
    let blocks = BLOCKS.last().copied().unwrap_or(1);
    let from = values.iter().map(|v| v.time_ns).min().unwrap_or(0);
    let to = values.iter().map(|v| v.time_ns).max().unwrap_or(0);
    let mut of: Vec<Vec<i64>> = vec![vec![]; blocks];
    for v in values {
        if let Some(block) = of.get_mut(block_of(v.time_ns, from, to, blocks)) {
            block.push(v.value);
        }
    }
    of.iter_mut().for_each(|block| block.sort_unstable());
    of
}

fn ln(v: &i64) -> f64 {
    (*v as f64).max(1.0).ln()
}

/// The mean (geometric, so that the longest is not all of it) of the slowest of a block that has enough, in millionths of its logarithm: of a tenth exactly, the last value in part.
fn slowest(block: &[i64], percent: u64) -> Option<i64> {
    let slowest = block.len() as f64 * (100.0 - percent as f64) / 100.0;
    let whole = slowest as usize;
    let all = block.get(block.len() - whole..).filter(|_| whole >= LEAST)?;
    let last = (block.len() - whole).checked_sub(1).and_then(|at| block.get(at));
    let last = last.map_or(0.0, |v| (slowest - whole as f64) * ln(v));
    Some((1e6 * (all.iter().map(ln).sum::<f64>() + last) / slowest) as i64)
}

/// The same of the longest of `of` values of a block, the mean over all ways to draw these.
fn longest(block: &[i64], of: usize) -> i64 {
    let (mut mean, mut none_longer) = (0.0, 1.0);
    for (left, v) in (1..=block.len()).rev().zip(block.iter().rev()) {
        // Of those left this one is drawn.
        let drawn = (of as f64 / left as f64).min(1.0);
        mean += none_longer * drawn * ln(v);
        none_longer *= 1.0 - drawn;
    }
    (1e6 * mean) as i64
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
        // Of 20 values in a block the longest tells too little.
        let third = |side: &[Vec<At>]| vec![side[0].iter().step_by(3).copied().collect::<Vec<_>>()];
        assert_eq!(together(0.02, &third(&before), &third(&slow), 99), 0.02);
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
        let of_blocks = |values: &[At]| -> Vec<i64> { blocks(values).iter().filter_map(|b| slowest(b, 90)).collect() };
        let got = of_blocks(&values);
        assert!(
            got.len() == 10 && got.iter().all(|v| (*v as f64 - expected).abs() < 2.0),
            "{got:?} {expected}"
        );
        // Of 19 it is less than two.
        assert_eq!(of_blocks(&of(19).collect::<Vec<_>>()), [0; 0]);
    }

    #[test]
    fn of_less_than_a_hundredth_the_longest_are_ranked() {
        let before = side(|_| (0, 0));
        // One of 60 in each block.
        let each = side(|_| (1, 30));
        let p = together(0.2, &before, &each, 99);
        assert!((p - 2.0 / 184_756.0 / PART).abs() < 1e-9, "{p}");
        assert_eq!(together(0.2, &each, &before, 99), p);
        // In half of the blocks, and one stall.
        let half = side(|b| (i64::from(b % 2 == 0), 30));
        assert!(together(0.2, &before, &half, 99) > 0.2);
        let stall = side(|b| (if b == 4 { 50 } else { 0 }, 400));
        assert!(together(0.2, &before, &stall, 99) > 0.2);
    }

    /// Values whose n'th part takes n times as long: of half as many the longest takes half as long, and that is no difference.
    #[test]
    fn who_has_more_values_has_no_longer_ones_by_that() {
        let mut random = crate::stat::SplitMix64::seeded([1]);
        let mut side = |each: i64| -> Vec<Vec<At>> {
            let one = |i: i64| At {
                time_ns: i * (600 / each) * 1_000_000,
                value: 1_000_000_000 / (1 + random.below(1000) as i64),
            };
            vec![(0..10 * each).map(one).collect()]
        };
        let (many, half) = (side(60), side(30));
        assert!(together(0.2, &many, &half, 99) > 0.2);
    }

    /// Of all pairs of 1, 2, 3 and 4: three have the 4, two the 3 and none longer, one the 2.
    #[test]
    fn more_values_are_no_longer_ones() {
        let e = |n: i32| f64::from(n).exp() as i64;
        let block = [e(10), e(12), e(14), e(16)];
        let expected = 1e6 * (3.0 * 16.0 + 2.0 * 14.0 + 12.0) / 6.0;
        let got = longest(&block, 2) as f64;
        assert!((got - expected).abs() < 30.0, "{got} {expected}");
        assert!((longest(&block, 4) as f64 - 16e6).abs() < 30.0);
    }
}
