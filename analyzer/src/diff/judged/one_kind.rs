//! A shift of answers that is in requests of one size: the others are as quick as before, of one mixture.

use super::compare::Shift;
use super::kinds::{By, COUNTERPART, Kind, One, kinds, percentile, plain, vary, weights};
use crate::analyses::verdict::{duration, size};
use crate::diff::sides::options::DiffOptions;
use crate::stat::nearest_rank;

/// Answers that a side must have of a kind to be told by itself.
const TOLD_OF: usize = 20;
/// Chance of what is told of one, at most.
const CHANCE: f64 = 0.005;

/// The kind that a shift is in, where the others did not move.
pub(super) fn in_one_kind(sides: &[Vec<One>; 2], s: &Shift, worse: bool, o: &DiffOptions) -> Option<String> {
    let (relative, absolute) = (o.median_relative, o.median_ns as f64);
    let moved = |k: &Kind| -> Option<(i64, i64)> {
        let (x, y) = (plain(&k[0], 50)?, plain(&k[1], 50)?);
        let by = if worse {
            y.saturating_sub(x)
        } else {
            x.saturating_sub(y)
        };
        let p = super::above::above(
            &[k[0].iter().map(|o| o.at).collect()],
            &[k[1].iter().map(|o| o.at).collect()],
            plain(&k.concat(), 50)?,
            false,
        )?;
        (by as f64 >= (x as f64 * relative).max(absolute) && p.p <= CHANCE).then_some((x, y))
    };
    for by in [By::Exact, By::Close, By::CloseAndAnswer, By::Answer] {
        if by == By::Answer && !vary(sides) {
            continue;
        }
        let kinds = kinds(by, sides);
        let enough = |k: &&Kind| k.iter().all(|side| side.len() >= TOLD_OF);
        let mut those: Vec<(&Kind, i64, i64)> = (kinds.values().filter(enough))
            .filter_map(|k| moved(k).map(|(x, y)| (k, x, y)))
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
        let bytes = nearest_rank(&mut first.iter().flatten().map(|o| o.request).collect::<Vec<_>>(), 50)?;
        let answers = nearest_rank(&mut first.iter().flatten().map(|o| o.answer).collect::<Vec<_>>(), 50)?;
        let answers = match by.answers() {
            true => format!(" with answers of {}", size(answers)),
            false => String::new(),
        };
        let request = match by {
            By::Answer => String::new(),
            _ => format!("of {}", size(bytes)),
        };
        let more = match those.len() {
            1 => String::new(),
            2 => " and of 1 other size".into(),
            n => format!(" and of {} other sizes", n - 1),
        };
        return Some(format!(
            "it is in requests {}{more}: p50 {} -> {}, n {} -> {}; the others are as quick as before, of one mixture p{} {} -> {}",
            format!("{request}{answers}").trim_start(),
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
