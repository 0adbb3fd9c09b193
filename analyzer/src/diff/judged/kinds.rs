//! Another mixture of requests: answers of one server are of several kinds, and where more of the slow kind are asked for, all together take longer though each kind is as quick as before (Simpson, J. R. Stat.
//! Soc. B 13, 1951). Like is compared with like: what a client sends is its choice, so the bytes of a request tell kinds apart, and from how far away it comes; where these are alike, the bytes of its answer too (`strata`).
//!
//! In: judged metrics of answers, requests and answers of both sides with their bytes. Out: metrics whose shift is of the mixture, called changed, with how it changed; of others the kind that the shift is in. Both sides
//! are weighted to one mixture (of both together); what has no counterpart on the other side is left out, and counted.
//!
//! ```text
//! answers -> kinds (bytes) -> those that both sides have -> weights: each kind as often on both sides -> the percentile again
//!   gone: no kind by itself moved as far, and less than a fifth of the shift is left; or less than half of it, and that is below its threshold (that chance may give what is left shows no mixture)
//! ```

use super::compare::{Metric, Shift};
use super::one_kind::{in_one_kind, own_shift};
use super::strata::{By, Kind, One, Way, both, parted, ways};
use super::strata_words::{Mixture, words};
use crate::analyses::verdict::duration;
use crate::diff::said::verdict::Outcome;
use crate::diff::servers::clients::{client_of, server_of};
use crate::diff::sides::options::DiffOptions;
use crate::diff::values::moves::Moves;
use crate::stat::{At, nearest_rank};

/// Answers that a side must have of a kind for it to have a counterpart.
pub(super) const COUNTERPART: usize = 3;
/// Part of a side's answers that must have a counterpart: else what is left is not what was asked.
const LEFT: f64 = 0.5;
/// The same of the side that is longer: what is left out there may be the harm itself, unless no more of it is slow. Where kinds are told by their answers, too, larger ones may be it in any case.
const LEFT_OF_LONGER: f64 = 0.95;
/// And of the part above the percentile.
const OF_TAIL: f64 = 0.5;
/// Of the shift: what is left of one that is gone; and where that is below its threshold.
const GONE: f64 = 0.2;
const HALF: f64 = 0.5;
/// Chance from which on a kind that is so much longer is as quick as before: more than what one is blamed at.
const ALIKE: f64 = 0.02;
/// Part of the requests that must be of other kinds by what their clients chose, where kinds are told by groups of answers, too.
const CHOSEN: f64 = 0.05;

/// What is said of a server.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::diff) struct Kinds {
    pub server: String,
    /// Longer, or shorter, by the mixture alone; else in one kind.
    pub mixture: bool,
    pub worse: bool,
    /// Without its end.
    pub sentence: String,
}

/// Calls changed what is of the mixture alone; a sentence for each server, and for the kind that a shift is in.
pub(in crate::diff) fn moderate(metrics: &mut [Metric], moves: &[Vec<Moves>; 2], o: &DiffOptions) -> Vec<Kinds> {
    let mut out: Vec<Kinds> = vec![];
    let judged = |m: &&mut Metric| {
        let answers = m.which.is_answer();
        answers && matches!(m.outcome, Outcome::Worse | Outcome::Better)
    };
    for m in metrics.iter_mut().filter(judged) {
        let Some(server) = m.which.service.clone() else {
            continue;
        };
        let sides = both(moves, &server, m.which.stage);
        let (outcome, worse) = (m.outcome, m.outcome == Outcome::Worse);
        let shifts: Vec<&Shift> = m.shifts.iter().filter(|s| s.outcome == outcome).collect();
        // What comes again and again is no mixture.
        let mut ways = ways(&sides).into_iter().filter(|_| !m.recurs);
        let found = ways.find_map(|way| explained(way, &sides, &shifts, o));
        let said = |mixture: bool| out.iter().any(|k: &Kinds| k.server == server && k.mixture == mixture);
        match found {
            Some((way, words)) => {
                if !said(true) {
                    out.push(Kinds {
                        sentence: format!("{} are of another mixture{words}", whose(&server)),
                        server,
                        mixture: true,
                        worse,
                    });
                }
                m.becomes_changed(outcome);
                let each = if way.place { "size and from as far away" } else { "size" };
                m.mix = Some(format!(
                    "its requests are of another mixture, and those of each {each} are as quick as before"
                ));
            }
            None => {
                if !said(false)
                    && let Some(words) =
                        (m.telling()).and_then(|s| in_one_kind(&sides, s, worse, o).or_else(|| in_part(&sides, s)))
                {
                    out.push(Kinds {
                        sentence: words,
                        server,
                        mixture: false,
                        worse,
                    });
                }
            }
        }
    }
    out
}

/// Servers whose requests are of another mixture, the way to who asks and back with it.
pub(in crate::diff) fn mixed<'k>(kinds: &'k [Kinds], metrics: &'k [Metric]) -> impl Iterator<Item = String> + 'k {
    let own = |m: &Metric, k: &Kinds| m.which.service.as_ref() == Some(&k.server) && m.mix.is_some();
    let of = kinds
        .iter()
        .filter(move |k| k.mixture && metrics.iter().any(|m| m.which.is_wait() && own(m, k)));
    of.map(|k| server_of(&k.server).to_owned())
}

fn whose(server: &str) -> String {
    match client_of(server) {
        Some(client) => format!("Requests of {client} to {}", server_of(server)),
        None => format!("Requests to {server}"),
    }
}

/// Answers with their weights: each kind as often on both sides.
pub(super) fn weights(kinds: &[&Kind]) -> [Vec<(At, f64)>; 2] {
    let all: usize = kinds.iter().map(|k| k[0].len() + k[1].len()).sum();
    let side = |nth: usize| -> Vec<(At, f64)> {
        let of = |k: &Kind| k.get(nth).map_or(0, Vec::len);
        let n: usize = kinds.iter().map(|k| of(k)).sum();
        let each = |k: &&&Kind| {
            let share = (k[0].len() + k[1].len()) as f64 / all.max(1) as f64;
            let weight = share * n as f64 / of(k).max(1) as f64;
            let own = k.get(nth).into_iter().flatten();
            own.map(|one| (one.at, weight)).collect::<Vec<_>>()
        };
        kinds.iter().flat_map(|k| each(&k)).collect()
    };
    [side(0), side(1)]
}

/// The percentile of weighted values.
pub(super) fn percentile(of: &[(At, f64)], percent: u64) -> Option<i64> {
    let mut of: Vec<(i64, f64)> = of.iter().map(|(at, w)| (at.value, *w)).collect();
    of.sort_by_key(|v| v.0);
    let all: f64 = of.iter().map(|v| v.1).sum();
    let mut below = 0.0;
    let reached = |v: &&(i64, f64)| {
        below += v.1;
        below >= all * percent as f64 / 100.0 - 1e-9
    };
    of.iter().find(reached).map(|v| v.0)
}

pub(super) fn plain(of: &[One], percent: u64) -> Option<i64> {
    nearest_rank(&mut of.iter().map(|o| o.at.value).collect::<Vec<_>>(), percent as usize)
}

/// A shift as it is, and of one mixture.
struct Weighted {
    raw: f64,
    x: i64,
    y: i64,
    /// How far it goes the same way.
    rest: f64,
    /// Without a counterpart, before and after.
    left: (usize, usize),
}

fn weighted(way: Way, sides: &[Vec<One>; 2], s: &Shift) -> Option<Weighted> {
    let kinds = parted(way, sides);
    let whole = |k: &Kind| k.iter().all(|side| side.len() >= COUNTERPART);
    let (both, alone): (Vec<&Kind>, Vec<&Kind>) = kinds.values().partition(|k| whole(k));
    let of = |kinds: &[&Kind], nth: usize| -> Vec<i64> {
        let own = kinds.iter().filter_map(|k| k.get(nth)).flatten();
        own.map(|one| one.at.value).collect()
    };
    let (from, to) = (plain(&sides[0], s.percent)?, plain(&sides[1], s.percent)?);
    let raw = to.saturating_sub(from) as f64;
    // These must be the answers that were judged.
    if both.len() < 2 || raw.signum() != (s.shift as f64).signum() || raw.abs() < HALF * s.shift.unsigned_abs() as f64 {
        return None;
    }
    let kept = |nth: usize| of(&both, nth).len() as f64 / sides.get(nth).map_or(1, Vec::len).max(1) as f64;
    let longer = usize::from(s.shift > 0);
    // No more of what is left out is slow, by what either side calls so.
    let no_slower = || {
        let (with, without) = (of(&both, longer), of(&alone, longer));
        let above =
            |of: &[i64], limit: i64| of.iter().filter(|ns| **ns > limit).count() as f64 / of.len().max(1) as f64;
        [from, to]
            .iter()
            .all(|limit| above(&without, *limit) <= above(&with, *limit))
    };
    let by_answers = way.by.answers() && longer == 1;
    // What is left out there must be less than the part above the percentile: it may be that very part.
    let most_left = (1.0 - LEFT_OF_LONGER).min(OF_TAIL * (100.0 - s.percent as f64) / 100.0);
    if kept(0).min(kept(1)) < LEFT || 1.0 - kept(longer) > most_left && (by_answers || !no_slower()) {
        return None;
    }
    let [wb, wa] = &weights(&both);
    let (x, y) = (percentile(wb, s.percent)?, percentile(wa, s.percent)?);
    Some(Weighted {
        raw,
        x,
        y,
        rest: (y.saturating_sub(x) as f64 * raw.signum()).max(0.0),
        left: (of(&alone, 0).len(), of(&alone, 1).len()),
    })
}

/// Whether all these shifts are of the mixture, and no kind by itself moved so; in words.
fn explained(way: Way, sides: &[Vec<One>; 2], shifts: &[&Shift], o: &DiffOptions) -> Option<(Way, String)> {
    let mut told: Option<(u64, Weighted)> = None;
    for s in shifts {
        let w = weighted(way, sides, s)?;
        let (relative, absolute) = o.least(s.percent);
        let small = w.rest < (w.x as f64 * relative).max(absolute as f64);
        if w.rest > GONE * w.raw.abs() && !(small && w.rest < HALF * w.raw.abs()) {
            return None;
        }
        if told.as_ref().is_none_or(|(_, of)| of.raw.abs() < w.raw.abs()) {
            told = Some((s.percent, w));
        }
    }
    let (percent, w) = told?;
    if way.by == By::GroupedAndAnswer && chosen(way, sides) < CHOSEN {
        return None;
    }
    let by = match way.by {
        By::Close => By::Exact,
        by => by,
    };
    // What is slower by itself may be no percentile of the whole.
    let moved = |k: &Kind| own_shift(k, w.raw > 0.0, ALIKE, o).is_some();
    if parted(way, sides).values().any(moved) || parted(Way { by, ..way }, sides).values().any(moved) {
        return None;
    }
    let mixture = Mixture {
        way,
        sides,
        percent,
        mixed: (w.x, w.y),
        left: w.left,
    };
    Some((way, words(&mixture)))
}

/// Part of the requests that are of other kinds (total variation), by what their clients chose.
fn chosen(way: Way, sides: &[Vec<One>; 2]) -> f64 {
    let by = way.by.asked();
    let [b, a] = sides.each_ref().map(|side| side.len().max(1) as f64);
    let kinds = parted(Way { by, ..way }, sides);
    let apart = kinds
        .values()
        .map(|k| (k[0].len() as f64 / b - k[1].len() as f64 / a).abs());
    apart.sum::<f64>() / 2.0
}

/// That more than half of a shift is of the mixture, where what is left is no little.
fn in_part(sides: &[Vec<One>; 2], s: &Shift) -> Option<String> {
    let half = |way: Way| weighted(way, sides, s).filter(|w| w.rest < HALF * w.raw.abs());
    let w = ways(sides).into_iter().find_map(half)?;
    Some(format!(
        "a part of it is another mixture of requests: of one mixture p{} {} -> {}",
        s.percent,
        duration(w.x),
        duration(w.y)
    ))
}
