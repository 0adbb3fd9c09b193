//! Multicast that the host where it came had not joined: was it missed?
//!
//! Needs `drops` (judged so), `hops`, `skbs`, `rx`, `udp_sockets`, the lists of groups. To be flooded with groups that nobody wants is normal, so nothing is said but where
//! the host left groups in the recording, or where such drops became many more at one moment. Which group a dropped datagram was for no event tells: that those dropped are of the
//! groups that were left is inferred.
//!
//! ```text
//! drop -> namespace and device (`devices`: the step before it tells) -> by place
//!            all of a place ............................................ step of their rate
//!            those of which a bridge's copy was read at another place,
//!            by a program that reads since the start ................... step of their rate (first: groups left and others not joined before may even out)
//! groups at the start - groups at the end ............................... left; who else is in them still; how many a socket may join
//! UDP readers of the namespace .......................................... one ended, another of its name began
//! ```
//! Source: net/ipv4/igmp.c (`ip_mc_join_group`: ENOBUFS from `igmp_max_memberships` groups of one socket on).

mod copies;
mod restart;
mod step;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use rustc_hash::FxHashMap;

pub use restart::Restarted;
pub use step::Step;

use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::drops::UNJOINED;
use crate::reconstruct::skb::tables::HopRow;
use crate::snapshots::devices::From;
use crate::snapshots::groups::Place;

/// Fewest of a place.
const FEWEST: usize = 3;
/// Steps of several places within this are one sender's begin, ns.
const TOGETHER_NS: i64 = 300_000_000;
/// Places told.
const MOST: usize = 8;

/// A device on which such drops may have been missed.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Unjoined {
    /// Network namespace (inode), where the lists of links tell.
    pub netns: Option<u64>,
    /// Device.
    pub dev: String,
    /// Its host: the device's address, else the name of the namespace; empty where that is not known.
    pub host: String,
    /// Such drops on it.
    pub drops: u64,
    /// The first of them, since the step where there is one; its place in the view `drops`.
    pub first_drop: u64,
    /// Whether lists of groups of both times are in the recording.
    pub listed: bool,
    /// Groups that it was in at the start and is not in at the end.
    pub left: Vec<Ipv4Addr>,
    /// Groups that it is in at the start, without that of all hosts.
    pub joined_before: u64,
    /// The same at the end.
    pub joined_after: u64,
    /// How many a socket may join (net.ipv4.igmp_max_memberships), where it is in as many at the end.
    pub limit: Option<u64>,
    /// Other hosts that are in groups of `left` at the end.
    pub still: Vec<Still>,
    /// When their rate stepped up.
    pub step: Option<Step>,
    /// Of programs there that read UDP: one ended and another one of its name began.
    pub restarted: Option<Restarted>,
}

/// A host that is in groups which another one left.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Still {
    /// Its address, or its namespace.
    pub host: String,
    /// Device.
    pub dev: String,
    /// How many of those groups.
    pub groups: u64,
}

impl Unjoined {
    /// Somebody misses them by all that is known: groups were left, drops began, and its sockets can join no more, or a reader began anew. Who leaves a group by
    /// its own wish does neither.
    pub fn is_missed(&self) -> bool {
        !self.left.is_empty() && self.step.is_some() && (self.limit.is_some() || self.restarted.is_some())
    }
}

/// Where each drop was: the last step of its life, and the one before.
fn steps<'f>(facts: &'f Facts, of: &FxHashMap<SkbId, usize>) -> FxHashMap<SkbId, (Option<&'f HopRow>, &'f HopRow)> {
    let mut last: FxHashMap<SkbId, (Option<&HopRow>, &HopRow)> = FxHashMap::default();
    for h in facts.hops.iter().filter(|h| of.contains_key(&h.skb_id)) {
        let entry = last.entry(h.skb_id).or_insert((None, h));
        if !std::ptr::eq(entry.1, h) {
            *entry = (Some(entry.1), h);
        }
    }
    last
}

/// A drop: when, its place in the view, its life.
type Seen = (i64, u64, Option<SkbId>);

/// All such drops by namespace and device, in time order.
fn by_place(facts: &Facts) -> BTreeMap<(Option<u64>, String), Vec<Seen>> {
    let rows = || {
        (0u64..)
            .zip(&facts.drops)
            .filter(|(_, d)| d.why == UNJOINED && !d.dev.is_empty())
    };
    let lives: FxHashMap<SkbId, usize> = rows().filter_map(|(_, d)| Some((d.skb_id?, 0))).collect();
    let steps = steps(facts, &lives);
    // Few ways lead to a device: each is looked up once.
    let mut known: FxHashMap<(Name, &str, Name), Option<u64>> = FxHashMap::default();
    let mut by: BTreeMap<(Option<u64>, String), Vec<Seen>> = BTreeMap::new();
    for (at, d) in rows() {
        let step = d.skb_id.and_then(|id| steps.get(&id));
        let before = step.and_then(|(before, last)| before.filter(|_| last.dev == d.dev));
        let key = before.map_or((d.dev, "", Name::default()), |h| (d.dev, h.kind, h.dev));
        let netns = *known.entry(key).or_insert_with(|| {
            let (dev, was) = (d.dev.text(), key.2.text());
            let from = match key.1 {
                "rx" => From::Received(&was),
                "" => From::Outside,
                _ => From::Sent(&was),
            };
            facts.multicast.devices.netns(&dev, from)
        });
        let place = (netns, d.dev.text().into_owned());
        by.entry(place).or_default().push((d.time_ns, at, d.skb_id));
    }
    for of in by.values_mut() {
        of.sort_unstable_by_key(|s| s.0);
    }
    by
}

/// Of all places, those that matter most first.
pub(super) fn unjoined(facts: &Facts) -> Vec<Unjoined> {
    let by = by_place(facts);
    if by.values().all(|of| of.len() < FEWEST) {
        return vec![];
    }
    let start = facts.capture.start_ns.unwrap_or(0);
    let since = |of: &[Seen]| -> Vec<i64> { of.iter().map(|s| s.0.saturating_sub(start)).collect() };
    // Where events were lost what is missing makes steps of its own.
    let whole = facts.gaps.is_empty();
    let read = match whole {
        true => copies::read_elsewhere(facts, by.values().flatten().filter_map(|s| s.2)),
        false => Default::default(),
    };
    let mut found: Vec<Unjoined> = vec![];
    for ((netns, dev), of) in by.iter().filter(|(_, of)| of.len() >= FEWEST) {
        let elsewhere: Vec<Seen> = of
            .iter()
            .filter(|s| s.2.is_some_and(|id| read.lives.contains(&id)))
            .copied()
            .collect();
        let stepped = |of: &[Seen], read_elsewhere| {
            let step = step::step(&since(of), facts.capture.duration_ns).filter(|_| whole)?;
            Some(Step { read_elsewhere, ..step })
        };
        let step = stepped(&elsewhere, true).or_else(|| stepped(of, false));
        let place: Option<Place> = netns.map(|n| (n, dev.clone()));
        let m = &facts.multicast;
        let left = place.as_ref().map(|p| m.left(p)).unwrap_or_default();
        if step.is_none() && left.is_empty() {
            continue;
        }
        let (joined_before, joined_after) = place.as_ref().map_or((0, 0), |p| m.joined(p));
        // Nobody there reads multicast; or what others read began then.
        let nobody = place.is_some() && m.known() && joined_before == 0 && joined_after == 0;
        let began = |s: &Step| s.read_elsewhere && !read.was_read_before(s.at_ns, start, facts.capture.duration_ns);
        if left.is_empty() && (nobody || step.as_ref().is_some_and(began)) {
            continue;
        }
        let still = |p: &Place| {
            let all = m.still(&left, p).into_iter();
            let told = all.map(|(of, groups)| Still {
                host: m.host(of),
                dev: of.1.clone(),
                groups,
            });
            told.collect()
        };
        let series = match step {
            Some(s) if s.read_elsewhere => &elsewhere,
            _ => of,
        };
        let from = step.map_or(i64::MIN, |s| s.at_ns.saturating_add(start));
        found.push(Unjoined {
            netns: *netns,
            dev: dev.clone(),
            host: place.as_ref().map(|p| m.host(p)).unwrap_or_default(),
            drops: of.len() as u64,
            first_drop: series.iter().find(|s| s.0 >= from).map_or(0, |s| s.1),
            listed: m.known(),
            joined_before,
            joined_after,
            limit: netns.and_then(|n| m.limit(n)).filter(|n| joined_after == *n),
            still: place.as_ref().map(still).unwrap_or_default(),
            restarted: netns.and_then(|n| restart::restarted(facts, n, step.map(|s| s.at_ns))),
            left: left.into_iter().collect(),
            step,
        });
    }
    let began: Vec<i64> = (found.iter())
        .filter(|u| u.left.is_empty())
        .filter_map(|u| Some(u.step?.at_ns))
        .collect();
    let alone = |at: i64| began.iter().filter(|b| b.abs_diff(at) <= TOGETHER_NS as u64).count() < 2;
    // At several hosts at one time, of which none left a group: somebody began to send.
    found.retain(|u| !u.left.is_empty() || u.step.is_some_and(|s| alone(s.at_ns)));
    found.sort_by_key(|u| (!u.is_missed(), u.left.is_empty(), std::cmp::Reverse(u.drops)));
    found.truncate(MOST);
    found
}
