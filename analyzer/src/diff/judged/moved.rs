//! Servers that answer at other addresses: those at one port that answer no more, and those that do in their place, as often all together.
//!
//! In: servers that answer on one side alone. Out: which of them stand in the place of which, and a sentence for each port. Of one that went and one that came it is said which; with several
//! nobody can tell who took whose place. It is not judged, nor who looks after the old addresses now and then. Who goes on to ask there as before finds nobody: that is worse.

use std::collections::BTreeMap;

use super::rates::Rate;
use crate::analyses::verdict::{counted, duration};
use crate::diff::said::verdict::Outcome;
use crate::diff::servers::stopped::Stopped;
use crate::diff::values::{
    asking::{Asking, UNANSWERED_RATE},
    attempts::FAILED_RATE,
};

/// As often: within this factor.
const ALIKE: f64 = 2.0;
/// The same of several.
const ALIKE_ALL: f64 = 1.25;
/// Medians of answers so many times apart, and so far, ns, are told.
const SLOWER: f64 = 1.5;
const SLOWER_NS: u64 = 1_000_000;
/// Ports told.
const TOLD: usize = 2;
/// Addresses named of several.
const NAMED: usize = 2;

/// The port of a name.
fn port(server: &str) -> &str {
    server.rsplit_once(':').map_or("", |(_, port)| port)
}

/// Those that went and those that came, by port.
fn by_port<'s>(all: impl Iterator<Item = &'s Stopped>) -> BTreeMap<&'s str, [Vec<&'s Stopped>; 2]> {
    let mut out: BTreeMap<&str, [Vec<&Stopped>; 2]> = BTreeMap::new();
    for s in all {
        let [gone, new] = out.entry(port(&s.server)).or_default();
        if s.starts() { new.push(s) } else { gone.push(s) }
    }
    out
}

/// Names with each those that stand in its place, or in whose place it stands.
pub(in crate::diff) fn find(all: &mut [Stopped]) {
    let names = |of: &[&Stopped]| -> Vec<String> { of.iter().map(|s| s.server.clone()).collect() };
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for [gone, new] in by_port(all.iter()).into_values() {
        let b: f64 = gone.iter().map(|s| s.before.per_second()).sum();
        let a: f64 = new.iter().map(|s| s.after.per_second()).sum();
        let alike = if gone.len() + new.len() > 2 { ALIKE_ALL } else { ALIKE };
        if gone.is_empty() || new.is_empty() || b.max(a) > alike * b.min(a) {
            continue;
        }
        for (of, others) in [(&gone, &new), (&new, &gone)] {
            found.extend(of.iter().map(|s| (s.server.clone(), names(others))));
        }
    }
    for s in all {
        s.moved = found.remove(&s.server).unwrap_or_default();
    }
}

/// Openings to, and messages for, an address that is another's now, where they are few: changed, and nobody's harm.
pub(in crate::diff) fn moderate(rates: &mut [Rate], all: &[Stopped]) {
    let moved = |r: &Rate| {
        let server = r.metric.split_once('[').map(|(_, s)| s.trim_end_matches(']'));
        let of = |s: &&Stopped| s.looked_after() && Some(s.server.as_str()) == server;
        [FAILED_RATE, UNANSWERED_RATE]
            .iter()
            .any(|rate| r.metric.contains(rate))
            && all.iter().any(|s| of(&s))
    };
    for r in rates.iter_mut().filter(|r| moved(r) && r.outcome != Outcome::Same) {
        r.outcome = Outcome::Changed;
    }
}

/// `In place of 10.0.0.9:80 (500 answers before, 0 after) answers 10.0.0.8:80 (0 answers before, 500 after), an answer there p50 45.10 ms -> 850.2 ms`.
fn pair(gone: &Stopped, new: &Stopped) -> String {
    let n = |s: &Stopped| {
        format!(
            "{} ({} answers before, {} after)",
            s.server, s.before.answers, s.after.answers
        )
    };
    let (b, a) = (gone.before.took_p50_ns, new.after.took_p50_ns);
    let apart = b.min(a) > 0 && b.abs_diff(a) > SLOWER_NS && b.max(a) as f64 > SLOWER * b.min(a) as f64;
    let took = match apart {
        true => format!(", an answer there p50 {} -> {}", duration(b), duration(a)),
        false => String::new(),
    };
    format!("In place of {} answers {}{took}", n(gone), n(new))
}

/// `4 addresses at port 80 answer no more (10.0.0.9, 10.0.0.8 and 2 more), 4 others do, as often all together (...): 312 answers before, 314 after`.
fn several(port: &str, gone: &[&Stopped], new: &[&Stopped]) -> String {
    let names = |of: &[&Stopped]| {
        let address = |s: &&Stopped| {
            s.server
                .rsplit_once(':')
                .map_or_else(String::new, |(a, _)| a.to_owned())
        };
        let named: Vec<String> = of.iter().take(NAMED).map(address).collect();
        let more = match of.len().saturating_sub(NAMED) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        format!("{}{more}", named.join(", "))
    };
    let no_more = match gone.len() {
        1 => "1 address".to_owned(),
        n => format!("{n} addresses"),
    };
    let (answer, others) = match (gone.len(), new.len()) {
        (1, n) => ("answers", format!("{n} others do")),
        (_, 1) => ("answer", "1 other does".to_owned()),
        (_, n) => ("answer", format!("{n} others do")),
    };
    let before: u64 = gone.iter().map(|s| s.before.answers).fold(0, u64::saturating_add);
    let after: u64 = new.iter().map(|s| s.after.answers).fold(0, u64::saturating_add);
    format!(
        "{no_more} at port {port} {answer} no more ({}), {others}, as often all together ({}): {} before, {after} after",
        names(gone),
        names(new),
        counted(before, "answer", "answers")
    )
}

/// A sentence for each port.
pub(in crate::diff) fn said(all: &[Stopped]) -> Vec<String> {
    let ports = by_port(all.iter().filter(|s| !s.moved.is_empty()));
    let one = |(port, [gone, new]): (&&str, &[Vec<&Stopped>; 2])| {
        let what = match (&gone[..], &new[..]) {
            ([gone], [new]) => pair(gone, new),
            (gone, new) => several(port, gone, new),
        };
        // Who asks at the old ones, and who asked at the new ones before.
        let late = Asking::sum(gone.iter().map(|s| &s.after));
        let early = Asking::sum(new.iter().map(|s| &s.before));
        let came = |of: &Asking, whose: &str| match (of.in_vain() > 0, gone.len() + new.len() > 2) {
            (false, _) => String::new(),
            (true, false) => format!("; {}", of.came()),
            (true, true) => format!("; of {whose} together: {}", of.came().replace(" to it ", " to them ")),
        };
        format!(
            "{what}{}{}.",
            came(&late, "the old ones"),
            came(&early, "the new ones before")
        )
    };
    let more = match ports.len().saturating_sub(TOLD) {
        0 => None,
        1 => Some("So do those at 1 more port.".to_owned()),
        n => Some(format!("So do those at {n} more ports.")),
    };
    ports.iter().take(TOLD).map(one).chain(more).collect()
}
