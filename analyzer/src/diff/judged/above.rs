//! The test of a quantile: the shares of values above the percentile of both sides together, by blocks of time.

use super::compare::BLOCKS;
use crate::stat::{At, Cluster, Compared, Floor, Ratio, block_of};

/// Compares the shares of values above a limit (a quantile test: the limit is the percentile of both sides together), by
/// clusters; the least certain answer of all cuts.
pub(in crate::diff) fn above(before: &[Vec<At>], after: &[Vec<At>], limit: i64, groups: bool) -> Option<Compared> {
    let cuts: &[usize] = if groups { &[1] } else { &BLOCKS };
    let one = |cut: &usize| {
        let clusters =
            |side: &[Vec<At>]| -> Vec<Cluster> { side.iter().flat_map(|v| shares(v, limit, *cut)).collect() };
        let of = if groups { Ratio::of_means } else { Ratio::of };
        let (b, a) = (of(&clusters(before))?, of(&clusters(after))?);
        Some(crate::stat::compare(&b, &a, Floor::Share))
    };
    cuts.iter().filter_map(one).max_by(|x, y| x.p.total_cmp(&y.p))
}

fn shares(values: &[At], limit: i64, blocks: usize) -> Vec<Cluster> {
    let from = values.iter().map(|v| v.time_ns).min().unwrap_or(0);
    let to = values.iter().map(|v| v.time_ns).max().unwrap_or(0);
    let mut out = vec![Cluster::default(); blocks];
    for v in values {
        if let Some(c) = out.get_mut(block_of(v.time_ns, from, to, blocks)) {
            c.n += 1.0;
            c.y += f64::from(u8::from(v.value > limit));
        }
    }
    out
}
