//! Which answers of a server are slow, and which of these have most of the time over its median.

/// So many times its server's median takes an answer that is slow,
pub const SLOW_TIMES: i64 = 3;
/// and so much longer, ns.
pub const SLOW_NS: i64 = 1_000_000;
/// Of slow answers in one place those are told that have so much of the time over the median, and such as took half as long as the
/// shortest of them: a few of half a second are not told as many of 2 ms.
const OF_TIME: f64 = 0.9;
/// Where the next shorter one took less than one in so many of a slow one's time, and these have so much of it.
const FAR: i64 = 4;
const FEW_OF_TIME: f64 = 0.75;

/// From which time on an answer is slow.
pub(super) fn least_of_slow(p50: i64) -> i64 {
    p50.saturating_mul(SLOW_TIMES).max(p50.saturating_add(SLOW_NS))
}

/// How many of these times, from the longest on, have most of the time over the median.
pub(super) fn with_most(times: &[i64], p50: i64) -> usize {
    let over = |ns: &i64| ns.saturating_sub(p50).max(0);
    let whole = times.iter().map(over).fold(0i64, i64::saturating_add);
    let mut sum = 0i64;
    let last = times.iter().find(|ns| {
        sum = sum.saturating_add(over(ns));
        sum as f64 >= OF_TIME * whole as f64
    });
    let least = last.map_or(0, |ns| ns / 2);
    let all = times.partition_point(|ns| *ns >= least);
    // Where few have most of it and the next are far shorter, these few are what is slow.
    let mut sum = 0i64;
    let far = times.iter().zip(times.iter().skip(1)).take(all.saturating_sub(1));
    let far = far.map(|(ns, next)| {
        sum = sum.saturating_add(over(ns));
        sum as f64 >= FEW_OF_TIME * whole as f64 && next.saturating_mul(FAR) <= *ns
    });
    far.into_iter().position(|cut| cut).map_or(all, |n| n + 1)
}

#[cfg(test)]
mod tests;
