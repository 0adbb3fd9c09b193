//! The one moment at which something became much more frequent, and stayed so.
//!
//! In: times. Out: the split with the largest likelihood ratio of two rates against one (Poisson), where it is a step that anybody would see: the guards below. A burst, a rate that
//! wanders, and what is steady from the start to the end have none.

/// Fewest after it.
const FEWEST: usize = 30;
/// So many times as frequent, and so many more a second.
const TIMES: f64 = 3.0;
const MORE_PER_S: f64 = 5.0;
/// Least logarithm of the likelihood ratio.
const LEAST: f64 = 20.0;
/// Each side is this part of the recording, and this long, ns.
const SIDE: (i64, i64) = (20, 500_000_000);
/// Windows of each side.
const WINDOWS: usize = 8;

/// A step of a rate.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Step {
    /// When, ns since the start of the recording.
    pub at_ns: i64,
    /// So many before.
    pub before: u64,
    /// So many from then on.
    pub after: u64,
    /// A second.
    pub before_per_s: f64,
    /// A second.
    pub after_per_s: f64,
    /// Only those are counted of which a copy was read at another host of this recording, by a program that reads since the start.
    pub read_elsewhere: bool,
}

fn per_s(n: usize, ns: i64) -> f64 {
    n as f64 * 1e9 / ns.max(1) as f64
}

/// How many are in each of the windows from one time to another, ascending.
fn windows(times: &[i64], from: i64, to: i64) -> Vec<usize> {
    let wide = (to.saturating_sub(from) / WINDOWS as i64).max(1);
    let edge = |n: usize| from.saturating_add(wide.saturating_mul(n as i64));
    let until = |at: i64| times.partition_point(|t| *t < at);
    let mut all: Vec<usize> = (0..WINDOWS)
        .map(|n| until(edge(n + 1)).saturating_sub(until(edge(n))))
        .collect();
    all.sort_unstable();
    all
}

/// Of times in order, since the start of a recording of that length.
pub(super) fn step(times: &[i64], duration_ns: i64) -> Option<Step> {
    let side = SIDE.1.max(duration_ns / SIDE.0);
    let r = per_s(times.len(), duration_ns);
    let gain = |n: usize, ns: i64| match n {
        0 => 0.0,
        _ => n as f64 * (per_s(n, ns) / r).ln(),
    };
    let mut best: Option<(f64, usize, i64)> = None;
    for (n, at) in times.iter().enumerate() {
        let rest = duration_ns.saturating_sub(*at);
        let of = gain(n, *at) + gain(times.len() - n, rest);
        let more = per_s(times.len() - n, rest) > per_s(n, *at);
        if more && best.is_none_or(|b| of > b.0) {
            best = Some((of, n, *at));
        }
    }
    // The best of all: one that is too near to an end is no step in the middle.
    let both = |at: i64| at >= side && duration_ns.saturating_sub(at) >= side;
    let (_, n, at_ns) = best.filter(|b| b.0 >= LEAST && both(b.2))?;
    let after = times.len() - n;
    let (before_per_s, after_per_s) = (per_s(n, at_ns), per_s(after, duration_ns.saturating_sub(at_ns)));
    let large = after >= FEWEST && after_per_s >= before_per_s * TIMES && after_per_s >= before_per_s + MORE_PER_S;
    // All but one of the windows after have more than all but one of those before.
    let (low, high) = (windows(times, at_ns, duration_ns), windows(times, 0, at_ns));
    let stays = low.get(1) > high.get(WINDOWS - 2);
    (large && stays).then_some(Step {
        at_ns,
        before: n as u64,
        after: after as u64,
        before_per_s,
        after_per_s,
        read_elsewhere: false,
    })
}
