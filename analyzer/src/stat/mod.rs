//! Distributions of durations: quantiles, histogram, ECDF. No data frames, no network words.
//!
//! Quantiles are the nearest-rank ones (the smallest value with at least that share of the values at or below it):
//! every quantile printed is a value that occurred. Histogram bins are logarithmic, every value falls in one.

mod distribution;
#[cfg(test)]
mod tests;

pub use distribution::{Bin, Distribution};
