//! How a mixture of requests changed, in words: whose they are, how large, how often before and after, and how long each kind takes.

use std::collections::{BTreeMap, BTreeSet};

use super::kinds::plain;
use super::strata::{By, Key, Kind, One, Way, parted};
use crate::analyses::verdict::{duration, size};
use crate::stat::nearest_rank;

/// Kinds named; how far one must move in the mixture to be.
const NAMED: usize = 2;
const SHARE: f64 = 0.02;
/// Kinds whose own times are told, and answers that a side must have of each.
const FIGURES: usize = 4;
const FIGURES_OF: usize = 20;
/// Networks named that are as far away.
const NETWORKS: usize = 2;

/// One that explains a shift.
pub(super) struct Mixture<'s> {
    pub way: Way,
    pub sides: &'s [Vec<One>; 2],
    pub percent: u64,
    /// That percentile of one mixture, before and after.
    pub mixed: (i64, i64),
    /// Without a counterpart, before and after.
    pub left: (usize, usize),
}

fn middle(of: impl Iterator<Item = i64>) -> Option<i64> {
    nearest_rank(&mut of.collect::<Vec<i64>>(), 50)
}

/// `10.46.9.0/24`, and others that are as far away.
fn networks<'o>(of: impl Iterator<Item = &'o One>) -> String {
    let mut n: BTreeMap<_, usize> = BTreeMap::new();
    for one in of {
        *n.entry(one.network).or_default() += 1;
    }
    let mut all: Vec<_> = n.into_iter().collect();
    all.sort_by_key(|(network, n)| (std::cmp::Reverse(*n), *network));
    let name = |(network, _): &(std::net::IpAddr, usize)| match network.is_ipv4() {
        true => format!("{network}/24"),
        false => format!("{network}/64"),
    };
    let named: Vec<String> = all.iter().take(NETWORKS).map(name).collect();
    match all.len().saturating_sub(NETWORKS) {
        0 => named.join(" and "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// `of 848 bytes to 5.3 kB with answers of 6.1 kB from 10.46.9.0/24`.
pub(super) fn request(way: Way, k: &Kind, sides: &[Vec<One>; 2]) -> String {
    let all = || k.iter().flatten();
    let (least, most) = (all().map(|o| o.request).min(), all().map(|o| o.request).max());
    let bytes = |of: fn(&One) -> i64| middle(all().map(of)).map_or_else(String::new, size);
    let mut words: Vec<String> = vec![];
    match (way.by, least.zip(most)) {
        (By::Answer, _) => {}
        (by, Some((least, most))) if by.groups() && least < most => {
            words.push(format!("of {} to {}", size(least), size(most)));
        }
        _ => words.push(format!("of {}", bytes(|o| o.request))),
    }
    // Groups of answers are told where the requests alone do not tell them.
    let one_group = way.by.groups() && {
        let asked = |k: &Kind| k.iter().flatten().map(|o| o.request).collect::<BTreeSet<i64>>();
        let (own, by) = (asked(k), way.by.asked());
        let whole = parted(Way { by, ..way }, sides);
        let same = |of: &Kind| of[0].len() + of[1].len() == k[0].len() + k[1].len() && asked(of) == own;
        whole.values().any(same)
    };
    if way.by.answers() && !one_group {
        words.push(format!("with answers of {}", bytes(|o| o.answer)));
    }
    if way.place {
        words.push(format!("from {}", networks(all())));
    }
    words.join(" ")
}

/// Those of one place, or of one size from anywhere, and how often.
fn share(k: &Kind, sides: &[Vec<One>; 2]) -> [f64; 2] {
    let of = |nth: usize| {
        let all = sides.get(nth).map_or(1, Vec::len).max(1);
        k.get(nth).map_or(0, Vec::len) as f64 / all as f64
    };
    [of(0), of(1)]
}

fn percents([b, a]: [f64; 2]) -> String {
    format!("{:.0} % -> {:.0} %", 100.0 * b, 100.0 * a)
}

/// `clients of 10.46.9.0/24, which are 45.21 ms away, 14 % -> 47 %`.
fn places(m: &Mixture<'_>) -> Vec<String> {
    let mut by: BTreeMap<usize, Kind> = BTreeMap::new();
    for (nth, side) in m.sides.iter().enumerate() {
        for one in side {
            if let Some(of) = by.entry(one.place).or_default().get_mut(nth) {
                of.push(*one);
            }
        }
    }
    let one = |k: &Kind| {
        let way = middle(k.iter().flatten().filter_map(|o| o.way_ns))?;
        let share = share(k, m.sides);
        ((share[1] - share[0]).abs() >= SHARE).then(|| {
            let whose = networks(k.iter().flatten());
            format!(
                "clients of {whose}, which are {} away, {}",
                duration(way),
                percents(share)
            )
        })
    };
    // The nearest are the rest.
    by.range(1..).filter_map(|(_, k)| one(k)).take(NAMED).collect()
}

/// Kinds of any place.
fn anywhere(m: &Mixture<'_>) -> BTreeMap<Key, Kind> {
    parted(Way { place: false, ..m.way }, m.sides)
}

/// How the mixture changed, and what of it did not.
pub(super) fn words(m: &Mixture<'_>) -> String {
    let kinds = anywhere(m);
    let moved = |k: &Kind| {
        let [b, a] = share(k, m.sides);
        a - b
    };
    let whole = plain(&m.sides.concat(), 50).unwrap_or(0);
    // What each adds to the mean, by being more often asked for or less.
    let adds = |k: &Kind| moved(k) * plain(&k.concat(), 50).unwrap_or(0).saturating_sub(whole) as f64;
    let mut all: Vec<&Kind> = kinds.values().filter(|k| moved(k).abs() >= SHARE).collect();
    all.sort_by(|x, y| adds(y).abs().total_cmp(&adds(x).abs()));
    let plainly = Way { place: false, ..m.way };
    let one = |k: &&Kind| {
        let took = middle(k.iter().flatten().map(|o| o.at.value));
        let took = took.map_or_else(String::new, |ns| format!(", which take p50 {}", duration(ns)));
        format!("{} {}{took}", request(plainly, k, m.sides), percents(share(k, m.sides)))
    };
    let mut named = if m.way.place { places(m) } else { vec![] };
    named.extend(all.iter().take(NAMED).map(one));
    let named = match named.is_empty() {
        true => String::new(),
        false => format!(" ({})", named.join("; ")),
    };
    let left = match m.left {
        (0, 0) => String::new(),
        (b, a) => format!("; {b} before and {a} after have no counterpart and are left out"),
    };
    // The server may as well give larger answers to the same requests.
    let inferred = match m.way.by.answers() {
        true => "; by the sizes of answers alone it is inferred that others are asked for",
        false => "",
    };
    let place = if m.way.place { " from as far away" } else { "" };
    format!(
        "{named}: those of each size{place} are answered as quickly as before, of one mixture p{} {} -> {}{}{left}{inferred}",
        m.percent,
        duration(m.mixed.0),
        duration(m.mixed.1),
        figures(m)
    )
}

/// ` (of 80 bytes p50 27.01 ms -> 27.36 ms, n 99 -> 182; ...)`: of each kind that both sides have enough of, most answers first.
fn figures(m: &Mixture<'_>) -> String {
    let kinds = parted(m.way, m.sides);
    let n = |k: &Kind| k[0].len().min(k[1].len());
    let mut all: Vec<&Kind> = kinds.values().filter(|k| n(k) >= FIGURES_OF).collect();
    all.sort_by_key(|k| std::cmp::Reverse(n(k)));
    let one = |k: &&Kind| {
        let (b, a) = plain(&k[0], 50).zip(plain(&k[1], 50))?;
        Some(format!(
            "{} p50 {} -> {}, n {} -> {}",
            request(m.way, k, m.sides),
            duration(b),
            duration(a),
            k[0].len(),
            k[1].len()
        ))
    };
    let told: Vec<String> = all.iter().take(FIGURES).filter_map(one).collect();
    match told.is_empty() {
        true => String::new(),
        false => format!(" ({})", told.join("; ")),
    }
}
