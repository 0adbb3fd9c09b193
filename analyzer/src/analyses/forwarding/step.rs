//! When forwarding took longer than at other times: one level of the windows' medians above the others.

use super::Took;
use crate::analyses::paths::{Level, Window, level};
use crate::stat::nearest_rank;

/// Windows of the time between the first packet and the last.
const WINDOWS: i64 = 48;
/// Packets of a window.
const OF_A_WINDOW: usize = 8;
/// So much longer, ns: what an ordinary path takes varies by less.
const LONGER_NS: i64 = 50_000;
/// Part of the packets in the time that took longer, and of the others that did not: the CPU's time may be stolen now and then.
const MOST: f64 = 0.9;

/// Longer for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Step {
    /// From the packet queued then, ns on the trace clock; empty: from the begin on.
    pub from_ns: Option<i64>,
    /// Until the one queued then; empty: until the end.
    pub to_ns: Option<i64>,
    /// Packets outside of that time.
    pub other_n: u64,
    /// Their median, ns.
    pub other_p50_ns: i64,
    /// Packets in it.
    pub n: u64,
    /// Their median, ns.
    pub p50_ns: i64,
}

impl Step {
    /// Whether a moment lies in that time.
    pub fn holds(&self, at_ns: i64) -> bool {
        self.from_ns.is_none_or(|from| at_ns >= from) && self.to_ns.is_none_or(|to| at_ns < to)
    }
}

fn windows(took: &[Took]) -> Vec<(usize, Window)> {
    let (Some(first), Some(last)) = (took.first(), took.last()) else {
        return vec![];
    };
    let length = (last.0.saturating_sub(first.0) / WINDOWS).max(1);
    let mut out: Vec<(usize, Window)> = vec![];
    let mut begin = 0;
    while let Some((from_ns, _)) = took.get(begin) {
        let rest = took.get(begin..).unwrap_or_default();
        let long = rest.partition_point(|t| t.0.saturating_sub(*from_ns) < length);
        let of = rest.get(..long.max(OF_A_WINDOW).min(rest.len())).unwrap_or_default();
        let mut ns: Vec<i64> = of.iter().map(|t| t.1).collect();
        // A rest of a few tells nothing.
        let (Some((to_ns, _)), Some(p50_ns)) =
            (of.last(), nearest_rank(&mut ns, 50).filter(|_| of.len() >= OF_A_WINDOW))
        else {
            break;
        };
        let window = Window {
            from_ns: *from_ns,
            to_ns: *to_ns,
            n: of.len() as u64,
            // Levels are told by this: the least of a window may be one that met an early rule.
            min_ns: p50_ns,
            p50_ns,
        };
        out.push((begin, window));
        begin += of.len();
    }
    out
}

/// Begin of the first packet on the other side of a place between two windows: of the places with fewest misfits the last.
fn edge(near: &[Took], middle_ns: i64, rises: bool) -> Option<i64> {
    let behind = |t: &Took| (t.1 > middle_ns) == rises;
    let mut misfits = near.iter().filter(|t| !behind(t)).count();
    let (mut best, mut at) = (misfits, near.first()?.0);
    for (t, next) in near.iter().zip(near.iter().skip(1)) {
        match behind(t) {
            true => misfits += 1,
            false => misfits = misfits.saturating_sub(1),
        }
        if misfits <= best {
            (best, at) = (misfits, next.0);
        }
    }
    Some(at)
}

/// The time in which packets, by when they were queued, took longer.
pub(super) fn step(took: &[Took]) -> Option<Step> {
    let cut = windows(took);
    let windows: Vec<Window> = cut.iter().map(|(_, w)| *w).collect();
    let of: Level = level(&windows, LONGER_NS)?;
    let middle = of.middle_ns();
    let begin = |nth: usize| cut.get(nth).map_or(took.len(), |(begin, _)| *begin);
    let between = |nth: usize, rises| match nth > 0 && nth < cut.len() {
        true => edge(took.get(begin(nth - 1)..begin(nth + 1))?, middle, rises),
        false => None,
    };
    let mut s = Step {
        from_ns: between(of.from, true),
        to_ns: between(of.to, false),
        other_n: 0,
        other_p50_ns: 0,
        n: 0,
        p50_ns: 0,
    };
    let (inside, other): (Vec<&Took>, Vec<&Took>) = took.iter().partition(|t| s.holds(t.0));
    let part = |of: &[&Took], above: bool| {
        let fit = of.iter().filter(|t| (t.1 > middle) == above).count();
        fit as f64 / of.len().max(1) as f64
    };
    let mut inside_ns: Vec<i64> = inside.iter().map(|t| t.1).collect();
    let mut other_ns: Vec<i64> = other.iter().map(|t| t.1).collect();
    (s.n, s.other_n) = (inside.len() as u64, other.len() as u64);
    s.p50_ns = nearest_rank(&mut inside_ns, 50)?;
    s.other_p50_ns = nearest_rank(&mut other_ns, 50)?;
    (part(&inside, true) >= MOST && part(&other, false) >= MOST).then_some(s)
}
