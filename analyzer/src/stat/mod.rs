//! Distributions of durations: quantiles, histogram, ECDF. No data frames, no network words.
//!
//! Quantiles are the nearest-rank ones (the smallest value with at least that share of the values at or below it):
//! every quantile printed is a value that occurred. Histogram bins are logarithmic, every value falls in one.

//!
//! Comparing two recordings: shares and rates by clusters (`ratio`), quantiles by resampled blocks of time (`blocks`), many
//! questions at once (`several`), effect size (`effect`); of a few values a side
//! all divisions (`rank`).

mod blocks;
mod distribution;
mod effect;
mod permutation;
mod radix;
mod rank;
mod ratio;
mod several;
mod special;
#[cfg(test)]
mod tests;

pub use blocks::{At, Blocked, SplitMix64, block_of};
pub use distribution::{Bin, Distribution, nearest_rank, quantile};
pub use effect::cliffs_delta;
pub use permutation::permuted;
pub use radix::sort_by_key;
pub use rank::rank_test;
pub use ratio::{Cluster, Compared, Floor, Ratio, compare};
pub use several::{holm, weighted_holm};
pub use special::{t_quantile_two_sided, t_two_sided};
