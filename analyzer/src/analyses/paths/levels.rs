//! Two levels in the least round trips of windows of time: numbers alone.

use super::samples::Trip;
use crate::stat::nearest_rank;

/// Windows of a recording, about.
const WINDOWS: i64 = 48;
/// Round trips of a window.
const OF_A_WINDOW: usize = 4;
/// Windows of a level, and its round trips.
const LEAST_WINDOWS: usize = 3;
/// So many times as long is another level, and so much longer, ns.
pub(super) const TIMES: i64 = 2;
pub(super) const LONGER_NS: i64 = 2_000_000;
/// One window in so many may lie on the other side.
const MISFITS: usize = 10;

/// Round trips that began in a window of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Window {
    /// Begin of the first, ns.
    pub from_ns: i64,
    /// Begin of the last, ns.
    pub to_ns: i64,
    /// How many.
    pub n: u64,
    /// The least, ns.
    pub min_ns: i64,
    /// The median, ns.
    pub p50_ns: i64,
}

/// Windows in order of time: of a forty-eighth of the time or longer, and of four round trips or more.
pub(super) fn windows(trips: &[Trip]) -> Vec<Window> {
    let (Some(first), Some(last)) = (trips.first(), trips.last()) else {
        return vec![];
    };
    let length = last.sent_ns.saturating_sub(first.sent_ns) / WINDOWS;
    let length = length.max(1);
    let mut cuts: Vec<usize> = vec![0];
    let (mut begin, mut since) = (0, first.sent_ns);
    for (nth, t) in trips.iter().enumerate() {
        if nth - begin >= OF_A_WINDOW && t.sent_ns.saturating_sub(since) >= length {
            cuts.push(nth);
            (begin, since) = (nth, t.sent_ns);
        }
    }
    // A rest of a few belongs to the window before.
    if trips.len() - begin < OF_A_WINDOW && cuts.len() > 1 {
        cuts.pop();
    }
    let ends = cuts.iter().skip(1).copied().chain([trips.len()]);
    cuts.iter()
        .zip(ends)
        .filter_map(|(from, to)| {
            let of = trips.get(*from..to)?;
            let mut ns: Vec<i64> = of.iter().map(|t| t.ns).collect();
            Some(Window {
                from_ns: of.first()?.sent_ns,
                to_ns: of.last()?.sent_ns,
                n: of.len() as u64,
                min_ns: ns.iter().min().copied()?,
                p50_ns: nearest_rank(&mut ns, 50)?,
            })
        })
        .collect()
}

/// The windows `from..to` lie above the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::analyses) struct Level {
    pub(in crate::analyses) from: usize,
    pub(in crate::analyses) to: usize,
    /// Median of the least of each window: of the others, and of these.
    pub(in crate::analyses) low_ns: i64,
    pub(in crate::analyses) high_ns: i64,
}

impl Level {
    /// Between the two.
    pub(in crate::analyses) fn middle_ns(&self) -> i64 {
        ((self.low_ns.max(1) as f64) * (self.high_ns.max(1) as f64)).sqrt() as i64
    }
}

fn median(of: &[i64]) -> Option<i64> {
    nearest_rank(&mut of.to_vec(), 50)
}

/// The two sets of values that differ most (Otsu's threshold, of the logarithms): the medians of both.
fn two(windows: &[Window]) -> Option<(i64, i64)> {
    let mut all: Vec<i64> = windows.iter().map(|w| w.min_ns.max(1)).collect();
    all.sort_unstable();
    let logs: Vec<f64> = all.iter().map(|v| (*v as f64).ln()).collect();
    let (sum, n) = (logs.iter().sum::<f64>(), logs.len() as f64);
    let (mut below, mut best, mut at) = (0.0, -1.0, 0);
    for (nth, v) in logs.iter().enumerate() {
        if nth > 0 {
            let (a, b) = (nth as f64, n - nth as f64);
            let apart = below / a - (sum - below) / b;
            if a * b * apart * apart > best {
                (best, at) = (a * b * apart * apart, nth);
            }
        }
        below += v;
    }
    Some((median(all.get(..at)?)?, median(all.get(at..)?)?))
}

/// The one run of windows that lies above all others; `None`: there is no such, or not so many times, or not by `longer_ns`, above.
pub(in crate::analyses) fn level(windows: &[Window], longer_ns: i64) -> Option<Level> {
    let n = windows.len();
    if n < 2 * LEAST_WINDOWS {
        return None;
    }
    let (low_ns, high_ns) = two(windows)?;
    let apart = high_ns >= low_ns.saturating_mul(TIMES) && high_ns.saturating_sub(low_ns) >= longer_ns;
    if !apart {
        return None;
    }
    let mut of = Level {
        from: 0,
        to: n,
        low_ns,
        high_ns,
    };
    let middle = of.middle_ns();
    // High windows before each place.
    let mut before: Vec<usize> = vec![0];
    for w in windows {
        before.push(before.last().copied().unwrap_or(0) + usize::from(w.min_ns > middle));
    }
    let high = |from: usize, to: usize| before.get(to).zip(before.get(from)).map_or(0, |(to, from)| to - from);
    let all = high(0, n);
    let mut best = usize::MAX;
    for from in 0..n {
        for to in from + LEAST_WINDOWS..=n {
            let inside = high(from, to);
            let misfits = (to - from - inside) + (all - inside);
            if n - (to - from) >= LEAST_WINDOWS && misfits < best {
                (best, of.from, of.to) = (misfits, from, to);
            }
        }
    }
    (best <= n / MISFITS).then_some(of)
}
