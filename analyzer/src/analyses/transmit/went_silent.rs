//! Who speaks through this host and has no answer any more: pairs of addresses with packets both ways until a time, and since then one way alone.
//!
//! Needs `passing` (look-ups of routes: no ports, so of two addresses several connections), `forwarded`, `snapshots` of routes. That nothing comes back is measured; whether it, or what
//! asks for it, is lost beyond this host, or the other end is gone, is not known. Not of what this host drops (`drops` tells that), nor where events were lost.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::drops::Passing;
use crate::routes::Route;
use crate::snapshots::{field, number};

/// Packets each way before, and one way since.
const SPOKE: u32 = 5;
const SINCE: u32 = 3;
/// Of so many packets one or more had an answer before.
const ANSWERED: u32 = 5;
/// From the first of those since to the last, at least, ns.
const LASTS_NS: i64 = 1_000_000_000;
/// What began within so long began together: each is seen with its next packet, ns.
const TOGETHER_NS: i64 = 2_500_000_000;
/// They are one in so many of those that have answers.
const PART: u64 = 10;
/// Addresses that are named.
const NAMED: usize = 3;
/// Packets by a device from which its having begun or ended is told, and one in so many may be otherwise.
const MANY: usize = 20;
/// Pairs from which it is more than one host that went away; ends that are silent; and who asks one alone.
const PAIRS: u64 = 3;
const ENDS: u64 = 2;
const ASKERS: u64 = 5;

/// Pairs of addresses.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct WentSilent {
    /// How many.
    pub pairs: u64,
    /// The first packet without an answer, ns since the start of the recording.
    pub since_ns: i64,
    /// Packets that went one way since, at least.
    pub packets: u64,
    /// Addresses that nothing comes from any more, with most pairs first, and of how many.
    pub silent: Vec<(String, u64)>,
    /// Other such addresses.
    pub others: u64,
    /// Addresses that send to them.
    pub askers: u64,
    /// Pairs that have answers since.
    pub answered: u64,
    /// What was sent on by one device until then, and by another from then on: both.
    pub moved: Option<(String, String)>,
    /// A default route that went, and one that came, as `via 10.18.1.1`.
    pub routes: Option<(String, String)>,
}

impl WentSilent {
    /// More than one host that was switched off.
    pub fn wrong(&self) -> bool {
        let ends = self.silent.len() as u64 + self.others;
        self.pairs >= PAIRS
            && self.pairs.saturating_mul(PART) >= self.answered
            && (ends >= ENDS || self.askers >= ASKERS)
    }
}

fn silent(p: &&Passing) -> bool {
    let before = p.sent.saturating_sub(p.since);
    let spoke = before >= SPOKE && p.answers >= SPOKE && p.answers.saturating_mul(ANSWERED) >= before;
    let alone = p.since >= SINCE && p.last_ns.saturating_sub(p.since_ns) >= LASTS_NS;
    spoke && alone && p.dropped == 0
}

/// All of them.
pub(super) fn went_silent(facts: &Facts) -> Option<WentSilent> {
    let start = facts.capture.start_ns?;
    let mut of: Vec<&Passing> = facts
        .passing
        .iter()
        .filter(|_| facts.gaps.is_empty())
        .filter(silent)
        .collect();
    // Those that began together: hosts that are switched off one by one have nothing to do with each other.
    of.sort_by_key(|p| p.since_ns);
    let near = |from: i64| of.partition_point(|p| p.since_ns <= from.saturating_add(TOGETHER_NS));
    let runs = of.iter().enumerate().map(|(nth, p)| (nth, near(p.since_ns)));
    let (from, to) = runs.max_by_key(|(nth, to)| (to - nth, std::cmp::Reverse(*nth)))?;
    let of: Vec<&Passing> = of.get(from..to).unwrap_or_default().to_vec();
    let since = of.first()?.since_ns;
    let mut ends: BTreeMap<IpAddr, (u64, i64)> = BTreeMap::new();
    let mut askers: BTreeSet<IpAddr> = BTreeSet::new();
    for p in &of {
        let end = ends.entry(p.to.to_canonical()).or_insert((0, p.since_ns));
        *end = (end.0 + 1, end.1.min(p.since_ns));
        askers.insert(p.from.to_canonical());
    }
    let mut named: Vec<(IpAddr, (u64, i64))> = ends.into_iter().collect();
    // Of equals the one that fell silent first, whatever its name: a redacted recording has others.
    named.sort_by_key(|(_, (n, first))| (std::cmp::Reverse(*n), *first));
    let others = named.len().saturating_sub(NAMED) as u64;
    named.truncate(NAMED);
    let named = named.into_iter().map(|(a, (n, _))| (a.to_string(), n));
    // Each pair stands there from both ends.
    let last: BTreeMap<(IpAddr, IpAddr), i64> = facts.passing.iter().map(|p| ((p.from, p.to), p.last_ns)).collect();
    let both = |p: &&Passing| p.last_ns > since && last.get(&(p.to, p.from)).is_some_and(|back| *back > since);
    let quiet: BTreeSet<(IpAddr, IpAddr)> = of.iter().flat_map(|p| [(p.from, p.to), (p.to, p.from)]).collect();
    let talks = facts
        .passing
        .iter()
        .filter(|p| p.from < p.to && p.sent >= SPOKE && p.answers >= SPOKE);
    let answered = talks.filter(both).filter(|p| !quiet.contains(&(p.from, p.to)));
    Some(WentSilent {
        pairs: of.len() as u64,
        since_ns: since.saturating_sub(start),
        packets: of.iter().map(|p| u64::from(p.since)).sum(),
        silent: named.collect(),
        others,
        askers: askers.len() as u64,
        answered: answered.count() as u64,
        moved: moved(facts, since),
        routes: default_routes(facts),
    })
}

/// A device that nothing is sent on by since then, and another that had nothing before.
fn moved(facts: &Facts, since: i64) -> Option<(String, String)> {
    let mut by: BTreeMap<Name, (usize, usize)> = BTreeMap::new();
    for f in &facts.forwarded {
        let of = by.entry(f.to).or_default();
        *(if f.at_ns < since { &mut of.0 } else { &mut of.1 }) += 1;
    }
    let only = |a: usize, b: usize| a >= MANY && b.saturating_mul(MANY) <= a;
    let ended = by.iter().filter(|(_, n)| only(n.0, n.1)).max_by_key(|(_, n)| n.0)?;
    let began = by.iter().filter(|(_, n)| only(n.1, n.0)).max_by_key(|(_, n)| n.1)?;
    Some((ended.0.text().into_owned(), began.0.text().into_owned()))
}

/// One default route that was there before the recording and is not after, and one the other way round, of one namespace and family.
fn default_routes(facts: &Facts) -> Option<(String, String)> {
    let of = |start: bool, end: bool| {
        let routes = facts.snapshots.iter();
        let routes = routes.filter(move |r| r.what == "routes" && (r.start, r.end) == (start, end));
        let default = routes.filter_map(|r| {
            Route::onward(&r.line)
                .filter(|route| route.to.is_none())
                .map(|route| (route, r))
        });
        default.filter_map(|(route, r)| Some(((route.netns, route.v6), words(facts, route.netns, &r.line)?)))
    };
    let came: BTreeMap<(u64, bool), String> = of(false, true).collect();
    let mut went = of(true, false);
    went.find_map(|(key, words)| Some((words.clone(), came.get(&key).filter(|c| **c != words)?.clone())))
}

/// `via 10.18.1.1 dev h18t1`
fn words(facts: &Facts, netns: u64, line: &str) -> Option<String> {
    let dev = number(line, "ifindex").and_then(|n| facts.multicast.devices.name(netns, n));
    let dev = dev.map_or_else(String::new, |d| format!(" dev {d}"));
    Some(match field(line, "via") {
        Some(via) => format!("via {via}{dev}"),
        None => dev.trim_start().to_owned(),
    })
}

#[cfg(test)]
mod tests;
