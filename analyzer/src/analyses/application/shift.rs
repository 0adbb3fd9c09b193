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

/// Answers that are looked at together where it began.
const NEXT: usize = 5;

/// The last part of those behind, of so many, and how many it has at least: it must be as slow.
const LAST: usize = 4;
const LEAST_LAST: usize = 3;

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
        let far = b50.saturating_mul(TIMES);
        let longer = after.iter().filter(|ns| **ns > b90.max(far)).count();
        let early = before.iter().filter(|ns| **ns >= far).count();
        let many = longer.saturating_mul(100) >= after.len().saturating_mul(MOST);
        let much = a50 >= b50.saturating_mul(TIMES) && b90 < b50.saturating_mul(TIMES);
        let apart = longer as f64 / after.len() as f64 - early as f64 / before.len() as f64;
        (many && much).then_some((apart, border, b50))
    };
    // The first of equals.
    let (_, border, b50) = borders.rev().filter_map(at).max_by(|a, b| a.0.total_cmp(&b.0))?;
    // The first of the slower ones is near that border.
    let from = border.saturating_sub(duration_ns / PARTS);
    // And most of those right behind it are.
    let slower = |of: &(i64, i64)| of.1 >= b50.saturating_mul(TIMES);
    let mostly = |of: &&[(i64, i64)]| of.iter().filter(|o| slower(o)).count().saturating_mul(2) > of.len();
    let mut next = answers
        .windows(NEXT)
        .filter(|of| of.first().is_some_and(|o| o.0 >= from && slower(o)));
    let at_ns = next.find(mostly)?.first()?.0;
    let (before, after) = answers.split_at(answers.partition_point(|(t, _)| *t < at_ns));
    if before.len() < FEWEST || after.len() < FEWEST {
        return None;
    }
    let median = |of: &[(i64, i64)]| nearest_rank(&mut of.iter().map(|(_, ns)| *ns).collect::<Vec<i64>>(), 50);
    // What was quick again at the end was a spell.
    let last = after.get(after.len() - after.len() / LAST..)?;
    if last.len() < LEAST_LAST || median(last)? < b50.saturating_mul(TIMES) {
        return None;
    }
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
        // A spell.
        assert_eq!(of(|n| if (50..110).contains(&n) { 240 } else { 36 }), None);
    }

    /// Where slow answers come less often, as of who asks again when it has one, that is no later.
    #[test]
    fn it_began_with_the_first_of_few() {
        let quick = (0..1000).map(|n| (n * 5 * MS, (35 + n % 3) * MS));
        let slow = (0..90).map(|n| ((5_000 + n * 100) * MS, (200 + n) * MS));
        let all: Vec<(i64, i64)> = quick.chain(slow).collect();
        let s = shift(&all, 14_000 * MS).unwrap();
        assert_eq!((s.at_ns, s.before, s.after), (5_000 * MS, 1000, 90));
    }
}
