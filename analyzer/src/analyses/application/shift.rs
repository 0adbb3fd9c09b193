//! When the slow answers of a server became much slower, where they were there all along: what was changed then is the incident, and the others are its usual work.
//!
//! Needs when each was asked for, and how long it took. Measured. Must not be said of few on either side, nor where those before were as slow in part.

use crate::stat::nearest_rank;

/// Fewest answers on each side.
const FEWEST: usize = 15;
/// So many times the median of those before.
const TIMES: i64 = 2;
/// Parts of the recording at whose borders it is looked for.
const PARTS: i64 = 28;
/// Of those behind so many take longer than nearly all before, in percent; of those before nearly all take less than this times their median.
const MOST: usize = 60;
const NEARLY: usize = 90;

/// Slow answers before a time, and behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shift {
    /// When the first of the slower ones was asked for, ns since the start of the recording.
    pub at_ns: i64,
    /// Median of those before, ns, and how many.
    pub before_ns: i64,
    /// As said.
    pub before: u64,
    /// The same of those behind.
    pub after_ns: i64,
    /// As said.
    pub after: u64,
}

/// Of answers by when they were asked for, ns since the start, and their time.
pub(super) fn shift(answers: &[(i64, i64)], duration_ns: i64) -> Option<Shift> {
    let borders = (1..PARTS).map(|n| duration_ns / PARTS * n);
    let at = |border: i64| {
        let (before, after) = answers.split_at(answers.partition_point(|(t, _)| *t < border));
        let took = |of: &[(i64, i64)]| of.iter().map(|(_, ns)| *ns).collect::<Vec<i64>>();
        let (mut before, mut after) = (took(before), took(after));
        if before.len() < FEWEST || after.len() < FEWEST {
            return None;
        }
        let (b50, b90) = (nearest_rank(&mut before, 50)?, nearest_rank(&mut before, NEARLY)?);
        let a50 = nearest_rank(&mut after, 50)?;
        let longer = after
            .iter()
            .filter(|ns| **ns > b90.max(b50.saturating_mul(TIMES)))
            .count();
        let many = longer.saturating_mul(100) >= after.len().saturating_mul(MOST);
        let much = a50 >= b50.saturating_mul(TIMES) && b90 < b50.saturating_mul(TIMES);
        (many && much).then_some((longer as f64 / after.len() as f64, border, b50))
    };
    let (_, border, b50) = borders.filter_map(at).max_by(|a, b| a.0.total_cmp(&b.0))?;
    // The first of the slower ones is near that border.
    let from = border.saturating_sub(duration_ns / PARTS);
    let slower = |(t, ns): &&(i64, i64)| *t >= from && *ns >= b50.saturating_mul(TIMES);
    let at_ns = answers.iter().find(slower)?.0;
    let (before, after) = answers.split_at(answers.partition_point(|(t, _)| *t < at_ns));
    if before.len() < FEWEST || after.len() < FEWEST {
        return None;
    }
    let median = |of: &[(i64, i64)]| nearest_rank(&mut of.iter().map(|(_, ns)| *ns).collect::<Vec<i64>>(), 50);
    Some(Shift {
        at_ns,
        before_ns: median(before)?,
        before: before.len() as u64,
        after_ns: median(after)?,
        after: after.len() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn of(took: impl Fn(i64) -> i64) -> Option<Shift> {
        let all: Vec<(i64, i64)> = (0..140).map(|n| (n * 100 * MS, took(n) * MS)).collect();
        shift(&all, 14_000 * MS)
    }

    #[test]
    fn it_is_told_when_they_became_slower() {
        let s = of(|n| if n < 50 { 35 + n % 5 } else { 150 + n % 40 * 5 }).unwrap();
        assert_eq!((s.at_ns, s.before, s.after), (5_000 * MS, 50, 90));
        assert_eq!((s.before_ns, s.after_ns), (37 * MS, 240 * MS));
        // Some of them are as quick as before.
        let s = of(|n| if n < 50 || n % 4 == 0 { 35 } else { 200 }).unwrap();
        assert_eq!((s.at_ns, s.before_ns, s.after_ns), (5_000 * MS, 35 * MS, 200 * MS));
    }

    #[test]
    fn what_was_slow_before_in_part_is_no_news() {
        assert_eq!(of(|_| 40), None);
        assert_eq!(of(|n| 30 + n % 60), None);
        // Slower all along, a few before, a few behind.
        assert_eq!(of(|n| if n % 3 == 0 { 300 } else { 35 }), None);
        assert_eq!(of(|n| if n < 10 { 35 } else { 300 }), None);
        assert_eq!(of(|n| if n < 130 { 35 } else { 300 }), None);
        assert_eq!(of(|n| if n < 70 { 35 } else { 60 }), None);
    }
}
