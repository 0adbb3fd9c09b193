//! Readers that waited for a process of their own to end while packets of theirs lay in a receive queue: a single thread that runs a script and waits for it, as
//! openvpn at each log-in; and whom that process asked meanwhile.
//!
//! Needs read units of `rx` (`asleep_in`, `woken_by_pid`), threads that ended, `responses`. Of long sleeps in no recorded syscall: who ended them ended itself right then, one
//! after the other. That it was a child of the reader is inferred: ends of calls of `wait` are not recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use rustc_hash::FxHashMap;

use crate::analyses::application::{Spans, task};
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::receive::tables::{RxRow, Stage};
use crate::reconstruct::tcp::role::Role;
use crate::reconstruct::thread::UNRECORDED;

/// Shortest sleep that is looked at, and from which on one alone tells, ns.
const LEAST_NS: i64 = 20_000_000;
const LONG_NS: i64 = 200_000_000;
/// Longest time from the wake-up to the end of who woke it, ns: it waits for a CPU behind the one that it woke.
const ENDS_NS: i64 = 20_000_000;
/// Share of the time for which readers slept from which it is told, and of a child's time with a server.
const MOSTLY: f64 = 0.5;

/// What a reader waited for.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Children {
    /// `task/thread` that reads.
    pub task: String,
    /// Processes that ended, one after the other.
    pub ended: u64,
    /// Their name; empty: several, or not known.
    pub name: String,
    /// The longest of these sleeps, ns.
    pub longest_ns: i64,
    /// Share of all time for which readers slept while something lay there, 0 to 1.
    pub share: f64,
    /// Whom they asked and waited for in most of that time, and the share of it (0 to 1).
    pub asked: Option<(String, f64)>,
}

/// Of all read units.
pub(super) fn children(facts: &Facts, read: &[&RxRow]) -> Option<Children> {
    if !facts.ended.is_told() {
        return None;
    }
    let asleep = |r: &&&RxRow| r.stage(Stage::ReaderAsleep);
    let all = read.iter().filter_map(|r| asleep(&r)).fold(0i64, i64::saturating_add);
    // By reader, by who ended its sleeps: when that was, and the longest part of it for which a unit lay there.
    let mut by: BTreeMap<i32, BTreeMap<i32, (i64, i64)>> = BTreeMap::new();
    let (mut sums, mut names): (BTreeMap<i32, i64>, BTreeMap<i32, Name>) = Default::default();
    for r in read
        .iter()
        .filter(|r| r.pid > 0 && r.woken_by_ns >= LEAST_NS && r.asleep_in.text() == UNRECORDED)
    {
        let (child, at) = (r.woken_by_pid, r.woken_at_ns);
        let ended = || facts.ended.within(child, at, at.saturating_add(ENDS_NS)) == Some(true);
        // A thread of its own is none that it runs.
        if child == 0 || facts.process(child) == facts.process(r.pid) || !ended() {
            continue;
        }
        names.insert(r.pid, r.task);
        let sum = sums.entry(r.pid).or_default();
        *sum = sum.saturating_add(r.woken_by_ns);
        let of = by.entry(r.pid).or_default().entry(child).or_insert((at, 0));
        of.1 = of.1.max(r.woken_by_ns);
    }
    let (pid, ns) = sums
        .into_iter()
        .max_by_key(|(pid, ns)| (*ns, std::cmp::Reverse(*pid)))?;
    let share = ns as f64 / all.max(1) as f64;
    let ended = by.remove(&pid).filter(|_| share >= MOSTLY)?;
    let ended: FxHashMap<i32, (i64, i64)> = (ended.into_iter())
        .map(|(child, (at, ns))| (child, (at.saturating_sub(ns), at)))
        .collect();
    let longest = ended.values().map(|(from, to)| to.saturating_sub(*from)).max()?;
    if ended.len() < 2 && longest < LONG_NS {
        return None;
    }
    let (name, asked) = asked(facts, &ended);
    Some(Children {
        task: task(&names.remove(&pid)?, pid),
        ended: ended.len() as u64,
        name,
        longest_ns: longest,
        share,
        asked,
    })
}

/// The name of these, and the server for whose answers they waited in most of these times.
fn asked(facts: &Facts, ended: &FxHashMap<i32, (i64, i64)>) -> (String, Option<(String, f64)>) {
    let mut names: BTreeSet<Name> = ended
        .keys()
        .filter_map(|pid| facts.processes.get(pid))
        .map(|p| p.1)
        .collect();
    let mut waits: BTreeMap<(SocketAddr, i32), Vec<(i64, i64)>> = BTreeMap::new();
    for r in facts
        .responses
        .iter()
        .filter(|r| !r.overlap && ended.contains_key(&r.pid))
    {
        if !facts.processes.contains_key(&r.pid) && !r.task.is_empty() {
            names.insert(r.task);
        }
        let row = facts.connections.get(r.connection.0 as usize);
        let to = row.filter(|c| c.role().0 == Role::Client);
        if let Some(to) = to.and_then(|c| c.remote()) {
            let of = waits.entry((to, r.pid)).or_default();
            of.push((r.send_ns, r.ready_ns.unwrap_or(r.read_ns)));
        }
    }
    let mut asked: BTreeMap<SocketAddr, i64> = BTreeMap::new();
    for ((to, pid), each) in waits {
        if let Some((from, until)) = ended.get(&pid) {
            let of = asked.entry(to).or_default();
            *of = of.saturating_add(Spans::of(each).within(*from, *until));
        }
    }
    let whole = (ended.values()).fold(0i64, |sum, (a, b)| sum.saturating_add(b.saturating_sub(*a)));
    let most = asked.into_iter().max_by_key(|(to, ns)| (*ns, std::cmp::Reverse(*to)));
    let most = most.map(|(to, ns)| (to.to_string(), ns as f64 / whole.max(1) as f64));
    let mut names = names.into_iter();
    let name = match (names.next(), names.next()) {
        (Some(one), None) => one.text().into_owned(),
        _ => String::new(),
    };
    (name, most.filter(|(_, share)| *share >= MOSTLY))
}
