//! Requests that lie unread longer, while who waits is answered as quickly as before. The time unread is a part of the answer's: who reads late by a little and has less to do then keeps nobody waiting.
//!
//! In: judged metrics of answers, requests and answers of both sides with their bytes. Out: requests that lie unread longer, called changed and marked as not felt. Like is compared with like: the
//! answers to requests of each size by themselves, and all of one mixture, at the percentiles that moved, and at the median. None of them may take longer by what is called a change, nor by half of what these lie unread
//! longer, unless that is no twentieth of the answer. Must not touch anything where an answer of that server is worse, where some are much slower and not judged, or where what who asked waited is not known of nearly all.

use std::collections::BTreeSet;

use super::compare::{Metric, PERCENTS, Shift};
use super::kinds::{percentile, plain, weights};
use super::strata::{By, Kind, One, both, kinds};
use super::tails;
use super::unfelt::FELT;
use crate::diff::said::verdict::Outcome;
use crate::diff::servers::clients::server_of;
use crate::diff::sides::options::DiffOptions;
use crate::diff::values::moves::Moves;

/// Part of each side's requests that must be of sizes which both sides have enough of.
const NEARLY_ALL: f64 = 0.9;
/// Of what they lie unread longer: an answer that takes no more than this part of it longer does not for it.
const HALF: f64 = 0.5;
/// Why it is changed.
const WHY: &str = "who waits is answered as quickly as before, requests of each size by themselves";

/// Calls changed, and marks, what nobody waits longer for.
pub(in crate::diff) fn moderate(metrics: &mut [Metric], moves: &[Vec<Moves>; 2], o: &DiffOptions) {
    if !tails::said(metrics).is_empty() {
        return;
    }
    let name = |m: &Metric| m.which.service.as_deref().map(|s| server_of(s).to_owned());
    let answers = metrics.iter().filter(|m| m.which.is_answer());
    let worse: BTreeSet<String> = answers
        .filter(|m| m.outcome == Outcome::Worse)
        .filter_map(name)
        .collect();
    let unread = |m: &&mut Metric| m.which.is_unread() && m.outcome == Outcome::Worse && !m.recurs;
    for m in metrics.iter_mut().filter(unread) {
        let Some(server) = m.which.service.clone().filter(|s| !worse.contains(server_of(s))) else {
            continue;
        };
        let sides = both(moves, &server, "response");
        if [By::Exact, By::Close].iter().any(|by| as_quick(*by, &sides, m, o)) {
            m.becomes_changed(Outcome::Worse);
            m.unfelt = true;
            m.mix = Some(WHY.into());
        }
    }
}

/// Whether answers to requests of each size, and all of one mixture, take no longer for it.
fn as_quick(by: By, sides: &[Vec<One>; 2], m: &Metric, o: &DiffOptions) -> bool {
    let kinds = kinds(by, sides);
    let enough: Vec<&Kind> = kinds
        .values()
        .filter(|k| k.iter().all(|s| s.len() >= PERCENTS[0].1))
        .collect();
    let most = |nth: usize, all: u64| {
        let n: usize = enough.iter().filter_map(|k| k.get(nth)).map(Vec::len).sum();
        n as f64 >= NEARLY_ALL * all as f64
    };
    if !most(0, m.before.n) || !most(1, m.after.n) {
        return false;
    }
    let [wb, wa] = &weights(&enough);
    let still = |(x, y): (i64, i64), percent: u64, shift: i64| {
        let by = y.saturating_sub(x) as f64;
        let (relative, absolute) = o.least(percent);
        let little = (shift as f64) < FELT * x as f64 || by < HALF * shift as f64;
        by < (x as f64 * relative).max(absolute as f64) && little
    };
    let of_shift = |s: &Shift| {
        let mixed = percentile(wb, s.percent).zip(percentile(wa, s.percent));
        mixed.is_some_and(|at| still(at, s.percent, s.shift))
            && enough.iter().all(|k| {
                let n = k[0].len().min(k[1].len());
                let asked = PERCENTS
                    .iter()
                    .filter(|(p, need)| [50, s.percent].contains(p) && n >= *need);
                let mut at = asked.map(|(p, _)| Some((*p, plain(&k[0], *p)?, plain(&k[1], *p)?)));
                at.all(|at| at.is_some_and(|(p, x, y)| still((x, y), p, s.shift)))
            })
    };
    m.shifts.iter().filter(|s| s.outcome == Outcome::Worse).all(of_shift)
}
