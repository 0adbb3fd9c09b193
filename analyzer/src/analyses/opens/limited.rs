//! A rule that lets a source have so many connections to an end and drops the SYNs of more, while other sources get through: by how many stood when one was dropped, and when one was not.
//!
//! Needs `drops` with their sockets, `opens`, `tcp_states`, `connections`; no lost events.
//!
//! ```text
//! of 10.0.0.2, stand there:  5    30    59    60       60       60      41
//! its next SYN             opens opens opens dropped  dropped  dropped  opens      of 10.0.0.3: opens opens opens
//! ```
//! Inferred: what a rule counts is in no event. Must not take for one: a rule that drops all of a source, or some of all sources; one that limits how often something comes (drops stand at any count); a source of few connections.

use std::collections::BTreeMap;
use std::net::IpAddr;

use rustc_hash::FxHashMap;

use super::shut::Syns;
use crate::analyses::drops::reasons::RULES;
use crate::analyses::drops::{place, text};
use crate::analyses::lives::lives;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::opens::tables::{End, OpenEnd, OpenRow};
use crate::reconstruct::tcp::role::Role;
use crate::stat::nearest_rank;

/// Fewest SYNs dropped, and fewest connections that stood then.
const DROPPED: usize = 10;
const STOOD: i64 = 5;
/// Fewest that others opened at once meanwhile.
const OTHERS: usize = 5;
/// Of those dropped and of those that opened at once, at most one in so many is on the wrong side of the count.
const BUT: usize = 10;
/// At least one in so many of those dropped met it as it was called, or more.
const AT_IT: usize = 3;
/// Part of the limit from which on it is near.
const NEAR: f64 = 0.9;

/// What is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Limited {
    /// The source's address.
    pub source: String,
    /// The end, `address:port`.
    pub to: String,
    /// SYNs dropped.
    pub syns: u64,
    /// Attempts that lost one and opened by a later one, and the longest.
    pub delayed: u64,
    /// See there.
    pub longest_ns: i64,
    /// Attempts that lost one and did not come to be.
    pub failed: u64,
    /// `NETFILTER_DROP at nft_do_chain on eth0`.
    pub place: String,
    /// First and last drop, ns since the start of the recording.
    pub within_ns: (i64, i64),
    /// Connections of the source that stood there when SYNs were dropped and not when they were not, and most.
    pub stood: (i64, i64),
    /// Most of them are of this task, so many at the last drop.
    pub holder: Option<(String, u64)>,
    /// Connections of other sources that opened there meanwhile, none of which lost a SYN.
    pub others: u64,
}

/// Connections of a source to an end.
#[derive(Default)]
struct Held {
    /// When each was let through and ended, in order; one that is older than the recording, or outlives it, has the first time there is, or the last.
    begins: Vec<i64>,
    ends: Vec<i64>,
    /// The same of each, and whose it was.
    spans: Vec<(i64, i64, Name)>,
}

impl Held {
    /// How many stood.
    fn at(&self, time_ns: i64) -> i64 {
        let until = |of: &[i64]| of.partition_point(|t| *t <= time_ns) as i64;
        until(&self.begins) - until(&self.ends)
    }
}

type Key = (IpAddr, End);

/// Those of each source to each end that has drops, as the source's sockets tell.
fn held(facts: &Facts, drops: &BTreeMap<Key, Vec<i64>>) -> BTreeMap<Key, Held> {
    let lives = lives(facts);
    // A rule counts one from the SYN that it lets through.
    let stood = facts.opens.iter().filter(|o| o.end == OpenEnd::Established);
    let began = stood.filter_map(|o| {
        let at_once = o.syns_again == Some(0);
        Some((o.connection?, if at_once { o.start_ns } else { o.end_ns }))
    });
    let began: FxHashMap<ConnectionId, i64> = began.collect();
    let mut out: BTreeMap<Key, Held> = BTreeMap::new();
    for row in facts.connections.iter().filter(|r| r.role().0 == Role::Client) {
        let (Some(from), Some(to)) = (row.saddr, row.daddr) else {
            continue;
        };
        let key = (from.to_canonical(), (to.to_canonical(), row.dport));
        let life = lives.get(&row.connection).copied().unwrap_or_default();
        // One that was opened in the recording and never stood is none.
        if !drops.contains_key(&key) || row.born.is_some() && life.stood.is_none() {
            continue;
        }
        let begin = began.get(&row.connection).copied().or(life.stood).unwrap_or(i64::MIN);
        let span = (begin, life.ended.map_or(i64::MAX, |e| e.0), row.task);
        out.entry(key).or_default().spans.push(span);
    }
    for of in out.values_mut() {
        (of.begins, of.ends) = of.spans.iter().map(|s| (s.0, s.1)).unzip();
        of.begins.sort_unstable();
        of.ends.sort_unstable();
    }
    out
}

/// The one of which most SYNs were dropped.
pub(super) fn limited(facts: &Facts) -> Option<Limited> {
    if !facts.gaps.is_empty() {
        return None;
    }
    let syns = Syns::of_all(facts);
    let by_rule = |reason| text(facts.names.drop_reason(reason)) == RULES;
    let key = |o: &OpenRow| {
        let ((from, _), (to, port)) = (o.from?, o.to?);
        Some((from.to_canonical(), (to.to_canonical(), port)))
    };
    let mut drops: BTreeMap<Key, Vec<i64>> = BTreeMap::new();
    let mut met: BTreeMap<Key, Vec<&OpenRow>> = BTreeMap::new();
    let mut at_once: BTreeMap<End, Vec<(IpAddr, i64)>> = BTreeMap::new();
    for o in &facts.opens {
        let Some(key) = key(o) else { continue };
        let of = o.connection.map_or(&[][..], |c| syns.of(c));
        let lost: Vec<i64> = of.iter().filter(|d| by_rule(d.reason)).map(|d| d.time_ns).collect();
        if !lost.is_empty() {
            drops.entry(key).or_default().extend(lost);
            met.entry(key).or_default().push(o);
        } else if o.end == OpenEnd::Established && o.syns_again == Some(0) {
            at_once.entry(key.1).or_default().push((key.0, o.start_ns));
        }
    }
    drops.retain(|_, of| of.len() >= DROPPED);
    if drops.is_empty() {
        return None;
    }
    let held = held(facts, &drops);
    // Sources that lost any to each end.
    let mut losers: BTreeMap<End, usize> = BTreeMap::new();
    for (_, to) in met.keys() {
        *losers.entry(*to).or_default() += 1;
    }
    let start = facts.capture.start_ns.unwrap_or(0);
    let one = |(key, at): (&Key, &Vec<i64>)| -> Option<Limited> {
        let (source, to) = *key;
        if losers.get(&to) != Some(&1) {
            return None;
        }
        let (from, until) = (*at.iter().min()?, *at.iter().max()?);
        let held = held.get(key)?;
        let mut counts: Vec<i64> = at.iter().map(|t| held.at(*t)).collect();
        let most = *counts.iter().max()?;
        let median = nearest_rank(&mut counts, 50)?;
        let opened = at_once.get(&to)?;
        let (own, other): (Vec<_>, Vec<_>) = opened.iter().partition(|(of, _)| *of == source);
        // Where it opened at once there was room, before it.
        let mut room: Vec<i64> = own.iter().map(|(_, t)| held.at(t.saturating_sub(1))).collect();
        room.sort_unstable();
        counts.sort_unstable();
        // The one in question may be counted an instant too early or too late, so the median can be one short of the limit.
        let below = |of: &[i64], n: i64| of.partition_point(|c| *c < n);
        let fits = |limit: i64| {
            let at_it = counts.len().saturating_sub(below(&counts, limit));
            let near = (limit as f64 * NEAR).ceil() as i64;
            let full = room.len().saturating_sub(below(&room, limit));
            at_it.saturating_mul(AT_IT) >= counts.len()
                && below(&counts, near).saturating_mul(BUT) <= counts.len()
                && full.saturating_mul(BUT) <= room.len()
        };
        let limit = (median.max(STOOD)..=most).find(|n| counts.binary_search(n).is_ok() && fits(*n));
        let others = other.iter().filter(|(_, t)| (from..=until).contains(t)).count();
        let limit = limit.filter(|_| !room.is_empty() && others >= OTHERS)?;
        let met = met.get(key)?;
        let delayed: Vec<&&OpenRow> = met.iter().filter(|o| o.end == OpenEnd::Established).collect();
        let mut tasks: BTreeMap<String, u64> = BTreeMap::new();
        for s in held
            .spans
            .iter()
            .filter(|s| s.0 <= until && s.1 > until && !s.2.is_empty())
        {
            *tasks.entry(s.2.text().into_owned()).or_default() += 1;
        }
        let holder = tasks.into_iter().max_by_key(|(_, n)| *n);
        let place = (met.iter().filter_map(|o| o.connection))
            .find_map(|c| syns.of(c).iter().find(|d| by_rule(d.reason)))
            .map_or_else(String::new, |d| place(facts, d));
        Some(Limited {
            source: source.to_string(),
            to: super::end(Some(to)),
            syns: at.len() as u64,
            delayed: delayed.len() as u64,
            longest_ns: delayed.iter().map(|o| o.total_ns()).max().unwrap_or(0),
            failed: met.len().saturating_sub(delayed.len()) as u64,
            place,
            within_ns: (from.saturating_sub(start), until.saturating_sub(start)),
            stood: (limit, most),
            holder: holder.filter(|(_, n)| i64::try_from(n.saturating_mul(2)).is_ok_and(|n| n > limit)),
            others: others as u64,
        })
    };
    drops.iter().filter_map(one).max_by_key(|l| l.syns)
}
