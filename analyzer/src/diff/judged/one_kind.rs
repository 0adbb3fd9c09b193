//! A shift of answers that is in requests of one size: the others are as quick as before, of one mixture.

use super::compare::{PERCENTS, Shift};
use super::kinds::{COUNTERPART, percentile, plain, weights};
use super::strata::{By, Kind, One, parted, ways};
use super::strata_words::request;
use crate::analyses::verdict::duration;
use crate::diff::sides::options::DiffOptions;

/// Answers that a side must have of a kind to be told by itself.
const TOLD_OF: usize = 20;
/// Chance of what is told of one, at most.
const CHANCE: f64 = 0.005;

/// How the percentiles of one kind moved, the lowest that did so far that it would be called, and by no chance.
pub(super) fn own_shift(k: &Kind, worse: bool, chance: f64, o: &DiffOptions) -> Option<(u64, i64, i64)> {
    let n = k[0].len().min(k[1].len());
    // Of the middle one fewer than are judged tell.
    let enough = |(percent, need): (u64, usize)| (n >= if percent == 50 { TOLD_OF } else { need }).then_some(percent);
    let moved = |percent: u64| -> Option<(u64, i64, i64)> {
        let (relative, absolute) = o.least(percent);
        let (x, y) = (plain(&k[0], percent)?, plain(&k[1], percent)?);
        let by = if worse {
            y.saturating_sub(x)
        } else {
            x.saturating_sub(y)
        };
        if (by as f64) < (x as f64 * relative).max(absolute as f64) {
            return None;
        }
        let at = |side: &[One]| [side.iter().map(|o| o.at).collect::<Vec<_>>()];
        let p = super::above::above(&at(&k[0]), &at(&k[1]), plain(&k.concat(), percent)?, false)?;
        (p.p <= chance).then_some((percent, x, y))
    };
    PERCENTS.into_iter().filter_map(enough).find_map(moved)
}

/// The kind that a shift is in, where the others did not move.
pub(super) fn in_one_kind(sides: &[Vec<One>; 2], s: &Shift, worse: bool, o: &DiffOptions) -> Option<String> {
    for way in ways(sides) {
        if way.by == By::ExactAndAnswer {
            continue;
        }
        let kinds = parted(way, sides);
        let enough = |k: &&Kind| k.iter().all(|side| side.len() >= TOLD_OF);
        let mut those: Vec<(&Kind, i64, i64)> = (kinds.values().filter(enough))
            .filter_map(|k| {
                own_shift(k, worse, CHANCE, o)
                    .filter(|m| m.0 == 50)
                    .map(|(_, x, y)| (k, x, y))
            })
            .collect();
        let n = |k: &Kind| k[0].len().min(k[1].len());
        those.sort_by_key(|(k, x, y)| std::cmp::Reverse(x.abs_diff(*y).saturating_mul(n(k) as u64)));
        let Some((first, x, y)) = those.first() else { continue };
        let own = |k: &Kind| those.iter().any(|t| std::ptr::eq(t.0, k));
        let others: Vec<&Kind> = (kinds.values())
            .filter(|k| !own(k) && k.iter().all(|side| side.len() >= COUNTERPART))
            .collect();
        let [wb, wa] = &weights(&others);
        if wb.len().min(wa.len()) < TOLD_OF {
            continue;
        }
        let rest = percentile(wb, s.percent).zip(percentile(wa, s.percent));
        let (tail, least) = o.least(s.percent);
        let still = rest.filter(|(x, y)| (x.abs_diff(*y) as f64) < (*x as f64 * tail).max(least as f64));
        let Some((rb, ra)) = still else { continue };
        let whose = request(way, first, sides);
        let more = match those.len() {
            1 => String::new(),
            2 => " and of 1 other size".into(),
            n => format!(" and of {} other sizes", n - 1),
        };
        return Some(format!(
            "it is in requests {whose}{more}: p50 {} -> {}, n {} -> {}; the others are as quick as before, of one mixture p{} {} -> {}",
            duration(*x),
            duration(*y),
            first[0].len(),
            first[1].len(),
            s.percent,
            duration(rb),
            duration(ra)
        ));
    }
    None
}
