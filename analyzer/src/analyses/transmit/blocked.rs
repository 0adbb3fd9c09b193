//! A thread that sends to several and sleeps in a send to one of them: a receiver that does not read keeps the others waiting.
//!
//! Needs `tx` (start and stage `sndbuf` of sends). Others are told that it sent to before and after, oftener than that: what has nothing to
//! send to them anyway is not kept waiting. Where events were lost meanwhile nothing is told: a send may have been among them.
//!
//! ```text
//! send to A | send to B .......... asleep, its buffer is full .......... | send to A | send to B
//! ```

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::analyses::tcp::label;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::dispatch::Lost;
use crate::reconstruct::transmit::Stage;
use crate::reconstruct::transmit::tables::{TxKind, TxStart};

/// Shortest sleep that is looked at, ns.
const LEAST_NS: i64 = 100_000_000;
/// Fewest others that wait.
const OTHERS: u64 = 2;
/// A sleep is so many times as long as the longest time between two sends to another one that is usual.
const OFTEN: i64 = 3;
/// Fewest sends to another one.
const SENDS: usize = 5;
/// Sleeps of a thread that are looked at: the longest.
const SLEEPS: usize = 50;

/// A thread that slept in sends to one peer.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Blocked {
    /// `task/thread`.
    pub task: String,
    /// As in the view `connections`.
    pub connection: u32,
    /// `saddr:sport > daddr:dport` of the one that it slept for.
    pub label: String,
    /// Sleeps in which others waited.
    pub times: u64,
    /// The longest, and all of them, ns.
    pub longest_ns: i64,
    /// As said.
    pub sum_ns: i64,
    /// Connections that it sent nothing on meanwhile, in the sleep with most.
    pub others: u64,
    /// The peer's receive window held the connection more than all else.
    pub window: bool,
    /// When the first began, ns since the start of the recording.
    pub first_ns: i64,
}

/// What a thread sent.
#[derive(Default)]
struct Sends {
    task: Name,
    by: BTreeMap<ConnectionId, Vec<i64>>,
    sleeps: Vec<(ConnectionId, i64, i64)>,
}

/// Sleeps of one call, or of calls one after the other on one connection, are one.
fn merged(mut all: Vec<(ConnectionId, i64, i64)>) -> Vec<(ConnectionId, i64, i64)> {
    all.sort_unstable();
    let mut out: Vec<(ConnectionId, i64, i64)> = vec![];
    for (c, from, to) in all {
        match out.last_mut() {
            Some(last) if last.0 == c && from <= last.2 => last.2 = last.2.max(to),
            _ => out.push((c, from, to)),
        }
    }
    out.retain(|(_, from, to)| to.saturating_sub(*from) >= LEAST_NS);
    out.sort_by_key(|(c, from, to)| (std::cmp::Reverse(to.saturating_sub(*from)), *from, *c));
    out.truncate(SLEEPS);
    out
}

/// Of the time without sleeps that many parts of a hundred lie between two sends that are as close or closer: of bursts their distance.
const USUAL: i64 = 90;

fn usual_gap(of: &[i64], sleeps: &[(ConnectionId, i64, i64)]) -> i64 {
    let slept = |a: i64, b: i64| sleeps.iter().any(|(_, from, to)| a < *to && *from < b);
    let gaps = of.iter().zip(of.iter().skip(1)).filter(|(a, b)| !slept(**a, **b));
    let mut gaps: Vec<i64> = gaps.map(|(a, b)| b.saturating_sub(*a)).collect();
    gaps.sort_unstable();
    let whole = gaps.iter().fold(0i64, |sum, g| sum.saturating_add(*g));
    let mut sum = 0i64;
    let usual = gaps.into_iter().find(|g| {
        sum = sum.saturating_add(*g);
        sum >= whole / 100 * USUAL
    });
    usual.unwrap_or(i64::MAX)
}

/// The thread and peer with most time in that.
pub(super) fn blocked(facts: &Facts) -> Option<Blocked> {
    let mut threads: FxHashMap<i32, Sends> = FxHashMap::default();
    let sent = facts
        .tx
        .iter()
        .filter(|r| r.kind == TxKind::Tcp && r.start == TxStart::Sendmsg && r.pid > 0);
    for r in sent {
        let Some(c) = r.connection else { continue };
        let of = threads.entry(r.pid).or_default();
        of.task = r.task;
        let times = of.by.entry(c).or_default();
        if times.last() != Some(&r.start_ns) {
            times.push(r.start_ns);
        }
        if let Some(ns) = r.stage(Stage::Sndbuf).filter(|ns| *ns > 0) {
            of.sleeps.push((c, r.start_ns, r.start_ns.saturating_add(ns)));
        }
    }
    let start = facts.capture.start_ns.unwrap_or(0);
    let lost = Lost::of(&facts.gaps);
    let one = |(pid, mut of): (i32, Sends)| {
        let sleeps = merged(std::mem::take(&mut of.sleeps));
        if sleeps.is_empty() || of.by.len() as u64 <= OTHERS {
            return None;
        }
        for times in of.by.values_mut() {
            times.sort_unstable();
        }
        of.by.retain(|_, times| times.len() >= SENDS);
        let often: BTreeMap<ConnectionId, i64> =
            of.by.iter().map(|(c, times)| (*c, usual_gap(times, &sleeps))).collect();
        let waited = |c: ConnectionId, from: i64, to: i64| {
            let others = of.by.iter().filter(|(other, times)| {
                let before = times.partition_point(|t| *t < from);
                let none = times.get(before).is_some_and(|next| *next >= to);
                let gap = often.get(*other).copied().unwrap_or(i64::MAX);
                **other != c && before > 0 && none && gap.saturating_mul(OFTEN) <= to.saturating_sub(from)
            });
            others.count() as u64
        };
        let mut by: BTreeMap<ConnectionId, Blocked> = BTreeMap::new();
        for (c, from, to) in sleeps {
            let others = waited(c, from, to);
            if others < OTHERS || lost.within(from, to) {
                continue;
            }
            let ns = to.saturating_sub(from);
            let found = by.entry(c).or_insert_with(|| Blocked {
                task: format!("{}/{pid}", of.task.text()),
                connection: c.0,
                label: facts.connections.get(c.0 as usize).map_or_else(String::new, label),
                times: 0,
                longest_ns: 0,
                sum_ns: 0,
                others: 0,
                window: (facts.spent.get(&c).map(|s| s.shares()))
                    .and_then(|s| s.first().map(|s| s.0 == Stage::Rwnd.name()))
                    .unwrap_or(false),
                first_ns: from.saturating_sub(start),
            });
            found.times += 1;
            found.longest_ns = found.longest_ns.max(ns);
            found.sum_ns = found.sum_ns.saturating_add(ns);
            found.others = found.others.max(others);
            found.first_ns = found.first_ns.min(from.saturating_sub(start));
        }
        by.into_values()
            .max_by_key(|b| (b.sum_ns, std::cmp::Reverse(b.connection)))
    };
    threads
        .into_iter()
        .filter_map(one)
        .max_by_key(|b| (b.sum_ns, std::cmp::Reverse(b.connection)))
}
