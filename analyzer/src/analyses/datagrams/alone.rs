//! Who asks by UDP and is never answered, where others that ask the same address are: its requests take another way, or come from where the server answers none.
//!
//! In: `udp_turns` with destinations, `udp_sockets`, `drops`. Out: groups by process and address. What a thread waits for need not be known for it: whoever asks
//! an address that answers all others asks for something. Limits: one port that is asked by some and only told something by others looks the same, so that
//! it is inferred, and wrong only where what was asked was dropped by this host.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use super::{GROUPS, each_is_told, who};
use crate::explain::{Id, Kind};
use rustc_hash::FxHashSet;

use crate::facts::{Facts, SkbId};
use crate::reconstruct::datagrams::tables::{TurnEnd, TurnRow};
use crate::stat::Distribution;

/// Fewest turns of one that is never answered, and fewest answers of others.
const FEWEST: usize = 5;
/// Of the others' turns so many are answered, of 10.
const NEARLY: usize = 9;

/// A process that one address does not answer.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Alone {
    /// `task/thread`, or `task/process` of several threads.
    pub task: String,
    /// The address that was asked.
    pub to: String,
    /// Datagrams sent there.
    pub sends: u64,
    /// Of its turns, those whose first packet was dropped by this host.
    pub dropped: u64,
    /// Its turns.
    pub turns: u64,
    /// `task/process` of one that is answered there.
    pub other: String,
    /// Turns of all that are, and how many of them were.
    pub of_others: u64,
    /// As said.
    pub answered: u64,
    /// Begin of these to the arrival of the answer.
    pub response: Distribution,
    /// Where others' datagrams came to in this recording, where that is another address: translated on the way. Empty: not so, or not known.
    pub came_to: String,
    /// The first of its turns.
    pub first: Option<Id>,
}

/// Turns of one process to one address.
#[derive(Default)]
struct Asked<'f> {
    turns: Vec<&'f TurnRow>,
    answered: usize,
}

/// An address of one host.
fn of_one(to: &SocketAddr) -> bool {
    match to.ip() {
        IpAddr::V4(a) => !a.is_multicast() && a.octets()[3] != 255,
        IpAddr::V6(a) => !a.is_multicast(),
    }
}

/// Who are never answered where others are; most datagrams first.
pub(super) fn alone(facts: &Facts) -> Vec<Alone> {
    // Where sockets are told by calls, or not each arrival is, an answer may be missed.
    if !each_is_told(facts) {
        return vec![];
    }
    let mut by: BTreeMap<SocketAddr, BTreeMap<i32, Asked<'_>>> = BTreeMap::new();
    for t in &facts.udp_turns {
        let client = facts.udp_sockets.get(t.socket as usize).is_some_and(|s| !s.served);
        let to = t.whither(&facts.udp_sockets).filter(of_one);
        let Some(to) = to.filter(|_| client && t.confidence.is_solid()) else {
            continue;
        };
        // What may still come.
        if t.end == TurnEnd::RecordingEnd && t.ready_ns.is_none() {
            continue;
        }
        let of = by.entry(to).or_default().entry(facts.process(t.pid)).or_default();
        of.answered += usize::from(t.ready_ns.is_some() || t.reads > 0);
        of.turns.push(t);
    }
    let lost = facts.drops.iter().filter(|d| d.expected == Some(false));
    let drops: FxHashSet<SkbId> = lost.filter_map(|d| d.skb_id).collect();
    let mut out: Vec<Alone> = vec![];
    for (to, of) in by {
        let (never, others): (Vec<_>, Vec<_>) = of.into_iter().partition(|(_, a)| a.answered == 0);
        let all: usize = others.iter().map(|(_, a)| a.turns.len()).sum();
        let answered: usize = others.iter().map(|(_, a)| a.answered).sum();
        if answered < FEWEST || 10 * answered < NEARLY * all {
            continue;
        }
        for (_, a) in never.into_iter().filter(|(_, a)| a.turns.len() >= FEWEST) {
            out.push(one(facts, to, &a, (&others, answered as u64), &drops));
        }
    }
    out.sort_by_key(|a| (std::cmp::Reverse(a.sends), a.task.clone(), a.to.clone()));
    out.truncate(GROUPS);
    out
}

fn one(
    facts: &Facts,
    to: SocketAddr,
    a: &Asked<'_>,
    (others, answered): (&[(i32, Asked<'_>)], u64),
    drops: &FxHashSet<SkbId>,
) -> Alone {
    let name = |of: &[&TurnRow]| {
        let threads: BTreeSet<i32> = of.iter().map(|t| t.pid).collect();
        of.first().map_or_else(String::new, |t| match threads.len() {
            1 => who(&t.task, t.pid),
            _ => who(&t.task, facts.process(t.pid)),
        })
    };
    let dropped = |t: &&&TurnRow| t.skb_id.is_some_and(|s| drops.contains(&s));
    let theirs = || others.iter().flat_map(|(_, a)| &a.turns);
    let places: BTreeSet<&str> = theirs()
        .filter_map(|t| facts.udp_sockets.get(t.there? as usize))
        .map(|s| s.local.as_str())
        .collect();
    let asked = to.to_string();
    let came_to = match places.iter().collect::<Vec<_>>().as_slice() {
        [one] if translated(&asked, one) && a.turns.iter().all(|t| t.there.is_none()) => (**one).to_owned(),
        _ => String::new(),
    };
    let response = theirs().filter_map(|t| Some(t.ready_ns?.saturating_sub(t.start_ns)));
    let most = others.iter().max_by_key(|(_, a)| a.answered);
    let first = a.turns.first();
    Alone {
        task: name(&a.turns),
        to: asked,
        sends: a.turns.iter().map(|t| u64::from(t.sends)).sum(),
        dropped: a.turns.iter().filter(dropped).count() as u64,
        turns: a.turns.len() as u64,
        other: most.map_or_else(String::new, |(_, a)| name(&a.turns)),
        of_others: theirs().count() as u64,
        answered,
        response: Distribution::of(response.collect(), 0),
        came_to,
        first: first.and_then(|t| Id::of_row(Kind::UdpTurn, &facts.udp_turns, t)),
    }
}

/// Whether what was sent to the first address and came to the second was translated on the way: not to an address of many hosts, nor of a socket bound to any.
pub(super) fn translated(asked: &str, came_to: &str) -> bool {
    let (Ok(a), Ok(b)) = (asked.parse::<SocketAddr>(), came_to.parse::<SocketAddr>()) else {
        return false;
    };
    let [a, b] = [a, b].map(|of| SocketAddr::new(of.ip().to_canonical(), of.port()));
    let near = |of: &SocketAddr| of.ip().is_loopback();
    a != b && of_one(&a) && !b.ip().is_unspecified() && near(&a) == near(&b)
}
