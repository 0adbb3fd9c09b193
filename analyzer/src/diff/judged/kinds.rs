//! Another mixture of requests: answers of one server are of several kinds, and where more of the slow kind are asked for, all together take longer though each kind is as quick as before (Simpson, J. R. Stat.
//! Soc. B 13, 1951). Like is compared with like: what a client sends is its choice, so the bytes of a request tell kinds apart; where these are alike, the bytes of its answer too.
//!
//! In: judged metrics of answers, requests and answers of both sides with their bytes. Out: metrics whose shift is of the mixture, called changed, with how it changed; of others the kind that the shift is in. Both sides
//! are weighted to one mixture (of both together); what has no counterpart on the other side is left out, and counted.
//!
//! ```text
//! answers -> kinds (bytes) -> those that both sides have -> weights: each kind as often on both sides -> the percentile again
//!   gone: less than a fifth of the shift is left; or less than half of it, and that is below its threshold (that chance may give what is left shows no mixture)
//! ```

use std::collections::BTreeMap;

use super::compare::{Metric, Shift};
use super::one_kind::in_one_kind;
use crate::analyses::verdict::{duration, size};
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
/// Kinds whose sizes are as close together are one, where sizes vary.
const CLOSE: f64 = 0.05;
const CLOSE_ANSWERS: f64 = 0.25;
/// Sizes of requests vary where none has more than this part of them.
const NO_SIZE: f64 = 0.3;
/// Kinds named; how far one must move in the mixture to be.
const NAMED: usize = 2;
const SHARE: f64 = 0.02;

/// What tells kinds apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    Exact,
    Close,
    ExactAndAnswer,
    CloseAndAnswer,
    /// Of requests whose sizes vary, and tell nothing.
    Answer,
}
const ALL: [By; 5] = [By::Exact, By::Close, By::ExactAndAnswer, By::CloseAndAnswer, By::Answer];

impl By {
    pub(super) fn answers(self) -> bool {
        matches!(self, By::ExactAndAnswer | By::CloseAndAnswer | By::Answer)
    }
    fn key(self, o: &One) -> (i64, i64) {
        let step = |bytes: i64, close: f64| ((bytes.max(1) as f64).ln() / (1.0 + close).ln()).round() as i64;
        let request = match self {
            By::Exact | By::ExactAndAnswer => o.request,
            By::Close | By::CloseAndAnswer => step(o.request, CLOSE),
            By::Answer => 0,
        };
        let answer = if self.answers() {
            step(o.answer, CLOSE_ANSWERS)
        } else {
            0
        };
        (request, answer)
    }
}

/// An answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct One {
    pub at: At,
    pub request: i64,
    pub answer: i64,
}

/// Of one kind, on both sides.
pub(super) type Kind = [Vec<One>; 2];

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
        let sides = moves.each_ref().map(|side| of(side, &server, m.which.stage));
        let (outcome, worse) = (m.outcome, m.outcome == Outcome::Worse);
        let shifts: Vec<&Shift> = m.shifts.iter().filter(|s| s.outcome == outcome).collect();
        let mut ways = ALL.iter().filter(|by| **by != By::Answer || vary(&sides));
        // What comes again and again is no mixture.
        let found = ways.find_map(|by| explained(*by, &sides, &shifts, o).filter(|_| !m.recurs));
        let said = |mixture: bool| out.iter().any(|k: &Kinds| k.server == server && k.mixture == mixture);
        match found {
            Some(words) => {
                if !said(true) {
                    out.push(Kinds {
                        sentence: format!("{} are of another mixture{words}", whose(&server)),
                        server,
                        mixture: true,
                        worse,
                    });
                }
                m.becomes_changed(outcome);
                m.mix =
                    Some("its requests are of another mixture, and those of each size are as quick as before".into());
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

/// Answers of a server (or of one client's) that have all figures.
pub(super) fn of(side: &[Moves], server: &str, stage: &str) -> Vec<One> {
    let (to, client) = (server_of(server), client_of(server));
    let own = side.iter().filter(|m| m.server == to);
    let own = own.filter(|m| client.is_none_or(|c| m.client.to_string() == c));
    let one = |m: &Moves| {
        let value = match stage {
            "call" => m.call_ns,
            "response" => m.response_ns,
            _ => m.turnaround_ns,
        }?;
        let at = At {
            time_ns: m.at_ns,
            value,
        };
        Some(One {
            at,
            request: m.request?,
            answer: m.answer.unwrap_or(0),
        })
    };
    own.filter_map(one).collect()
}

/// Whether the sizes of requests tell nothing: they vary.
pub(super) fn vary(sides: &[Vec<One>; 2]) -> bool {
    let of = kinds(By::Close, sides);
    let n = |k: &Kind| k[0].len() + k[1].len();
    let (most, all) = (of.values().map(n).max().unwrap_or(0), sides[0].len() + sides[1].len());
    most as f64 <= NO_SIZE * all as f64
}

pub(super) fn kinds(by: By, sides: &[Vec<One>; 2]) -> BTreeMap<(i64, i64), Kind> {
    let mut out: BTreeMap<(i64, i64), Kind> = BTreeMap::new();
    for (nth, side) in sides.iter().enumerate() {
        for one in side {
            if let Some(of) = out.entry(by.key(one)).or_default().get_mut(nth) {
                of.push(*one);
            }
        }
    }
    out
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

fn weighted(by: By, sides: &[Vec<One>; 2], s: &Shift) -> Option<Weighted> {
    let kinds = kinds(by, sides);
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
    let by_answers = by.answers() && longer == 1;
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

/// Whether all these shifts are of the mixture; in words.
fn explained(by: By, sides: &[Vec<One>; 2], shifts: &[&Shift], o: &DiffOptions) -> Option<String> {
    let mut told: Option<(u64, Weighted)> = None;
    for s in shifts {
        let w = weighted(by, sides, s)?;
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
    Some(words(by, &kinds(by, sides), sides, (percent, w.x, w.y), w.left))
}

/// That more than half of a shift is of the mixture, where what is left is no little.
fn in_part(sides: &[Vec<One>; 2], s: &Shift) -> Option<String> {
    let half = |by: &By| weighted(*by, sides, s).filter(|w| w.rest < HALF * w.raw.abs());
    let mut ways = ALL.iter().filter(|by| **by != By::Answer || vary(sides));
    let w = ways.find_map(half)?;
    Some(format!(
        "a part of it is another mixture of requests: of one mixture p{} {} -> {}",
        s.percent,
        duration(w.x),
        duration(w.y)
    ))
}

/// How the mixture changed.
fn words(
    by: By,
    kinds: &BTreeMap<(i64, i64), Kind>,
    sides: &[Vec<One>; 2],
    (percent, x, y): (u64, i64, i64),
    (left_b, left_a): (usize, usize),
) -> String {
    let share = |k: &Kind, nth: usize| {
        let all = sides.get(nth).map_or(1, Vec::len).max(1);
        k.get(nth).map_or(0, Vec::len) as f64 / all as f64
    };
    let moved = |k: &Kind| share(k, 1) - share(k, 0);
    let middle = plain(&sides.concat(), 50).unwrap_or(0);
    // What each adds to the mean, by being more often asked for or less.
    let adds = |k: &Kind| moved(k) * plain(&k.concat(), 50).unwrap_or(0).saturating_sub(middle) as f64;
    let mut all: Vec<&Kind> = kinds.values().filter(|k| moved(k).abs() >= SHARE).collect();
    all.sort_by(|x, y| adds(y).abs().total_cmp(&adds(x).abs()));
    let bytes = |k: &Kind, of: fn(&One) -> i64| {
        let mut all: Vec<i64> = k.iter().flatten().map(of).collect();
        nearest_rank(&mut all, 50).map_or_else(String::new, size)
    };
    let one = |k: &&Kind| {
        let answer = match by.answers() {
            true => format!(" with answers of {}", bytes(k, |o| o.answer)),
            false => String::new(),
        };
        let ns: Vec<i64> = k.iter().flatten().map(|o| o.at.value).collect();
        let took = nearest_rank(&mut ns.clone(), 50)
            .map_or_else(String::new, |ns| format!(", which take p50 {}", duration(ns)));
        let request = match by {
            By::Answer => String::new(),
            _ => format!("of {}", bytes(k, |o| o.request)),
        };
        format!(
            "{} {:.0} % -> {:.0} %{took}",
            format!("{request}{answer}").trim_start(),
            100.0 * share(k, 0),
            100.0 * share(k, 1)
        )
    };
    let named: Vec<String> = all.iter().take(NAMED).map(one).collect();
    let named = match named.is_empty() {
        true => String::new(),
        false => format!(" ({})", named.join("; ")),
    };
    let left = match left_b + left_a {
        0 => String::new(),
        _ => format!("; {left_b} before and {left_a} after have no counterpart and are left out"),
    };
    // The server may as well give larger answers to the same requests.
    let inferred = match by.answers() {
        true => "; by the sizes of answers alone it is inferred that others are asked for",
        false => "",
    };
    format!(
        "{named}: those of each size are answered as quickly as before, of one mixture p{percent} {} -> {}{left}{inferred}",
        duration(x),
        duration(y)
    )
}
