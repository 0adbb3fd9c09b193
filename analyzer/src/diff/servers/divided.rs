//! How a program divides its requests over servers that do the same: a balancer that sends all to one of them.
//!
//! In: requests per answer to each server asked (`asks`). Servers of one port are taken to do the same: inferred. Must not take for it: a
//! program that asks one of them more and the others as often as before. Of a program that asks fewer requests in all on either side than
//! tell, nothing is said; it is no verdict.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::asks::Asks;
use super::stopped::Stopped;

/// Fewest requests of a side.
const LEAST: u64 = 30;
/// Smallest change of one server's share.
const MOVED: f64 = 0.2;
/// What some lose the others gain, but for this part of it.
const KEPT: f64 = 0.5;
/// Part of a server's answers that programs which ask others now must have had.
const NEARLY_ALL: f64 = 0.9;
/// Servers that are named.
const NAMED: usize = 4;

/// A program that divides them otherwise.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::diff) struct Divided {
    /// Without its end.
    pub sentence: String,
    /// Servers that this program asks no more, each with its requests before.
    pub gone: Vec<(String, u64)>,
}

/// Marks those that answer no more, and whose requests others of their port answer.
pub(in crate::diff) fn mark(all: &[Divided], stopped: &mut [Stopped]) {
    for s in stopped {
        let of = all
            .iter()
            .flat_map(|d| &d.gone)
            .filter(|(server, _)| *server == s.server);
        let moved: u64 = of.map(|(_, requests)| *requests).fold(0, u64::saturating_add);
        // Others that asked it may hang.
        s.handed_over = moved as f64 >= NEARLY_ALL * s.before.answers as f64 && moved > 0;
    }
}

/// Those with most requests first; of the servers named the counts per answer are not said any more.
pub(in crate::diff) fn of(asks: &mut [Asks]) -> Vec<Divided> {
    let mut groups: BTreeMap<(String, u16), Vec<usize>> = BTreeMap::new();
    for (at, x) in asks.iter().enumerate() {
        if let Ok(end) = x.asked.parse::<SocketAddr>() {
            groups.entry((x.server.clone(), end.port())).or_default().push(at);
        }
    }
    let mut found: Vec<(u64, Divided)> = vec![];
    for ((server, _), mut of) in groups.into_iter().filter(|(_, of)| of.len() > 1) {
        let requests = |at: &usize| asks.get(*at).map_or((0, 0), |x| (x.before.requests, x.after.requests));
        let sum = |side: fn((u64, u64)) -> u64| of.iter().map(|at| side(requests(at))).fold(0u64, u64::saturating_add);
        let (before, after) = (sum(|r| r.0), sum(|r| r.1));
        if before.min(after) < LEAST {
            continue;
        }
        let shares = |at: &usize| {
            let (b, a) = requests(at);
            (b as f64 / before as f64, a as f64 / after as f64)
        };
        let moved = of.iter().map(&shares).any(|(b, a)| (a - b).abs() >= MOVED);
        if !moved || !handed_over(of.iter().filter_map(|at| asks.get(*at))) {
            continue;
        }
        of.sort_by(|x, y| shares(y).1.total_cmp(&shares(x).1).then(x.cmp(y)));
        let each: Vec<String> = (of.iter().take(NAMED))
            .map(|at| {
                let (b, a) = shares(at);
                let to = asks.get(*at).map_or("", |x| x.asked.as_str());
                format!("{to} {:.0} -> {:.0} %", b * 100.0, a * 100.0)
            })
            .collect();
        let more = match of.len().saturating_sub(NAMED) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let sentence = format!(
            "The program of {server} divides its requests otherwise: {}{more} (of {before} -> {after}; inferred: servers of one port)",
            each.join(", ")
        );
        let gone = of
            .iter()
            .filter_map(|at| asks.get(*at))
            .filter(|x| x.after.requests == 0);
        let gone = gone.map(|x| (x.asked.clone(), x.before.requests)).collect();
        found.push((before.saturating_add(after), Divided { sentence, gone }));
        for at in of {
            if let Some(x) = asks.get_mut(at) {
                x.divided = true;
            }
        }
    }
    found.sort_by(|x, y| y.0.cmp(&x.0).then_with(|| x.1.sentence.cmp(&y.1.sentence)));
    found.into_iter().map(|f| f.1).collect()
}

/// Whether others are asked less by what some are asked more, per answer.
fn handed_over<'a>(of: impl Iterator<Item = &'a Asks>) -> bool {
    let (mut more, mut less) = (0.0f64, 0.0f64);
    for x in of {
        let moved = x.after.per_answer - x.before.per_answer;
        more += moved.max(0.0);
        less += (-moved).max(0.0);
    }
    more.min(less) >= KEPT * more.max(less)
}
