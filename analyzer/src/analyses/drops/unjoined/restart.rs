//! A program that reads UDP ended, and another one of its name began.
//!
//! In: `udp_sockets`, which namespace a process is of, the lists of tasks. Must not call one ended that is there when the recording ends, or of which no list tells.

use rustc_hash::FxHashSet;

use crate::facts::Facts;
use crate::reconstruct::datagrams::sockets::SocketRow;

/// From the begin of the other one to a step, and from the end of the first to the begin of the other one, at most, ns.
const NEAR_NS: i64 = 5_000_000_000;
/// Sockets looked at, those with most datagrams.
const MOST: usize = 200;

/// One that ended, and one that began.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Restarted {
    /// What both are called.
    pub task: String,
    /// The process that ended.
    pub ended: i32,
    /// When the last datagram came to it, ns since the start of the recording.
    pub ended_ns: i64,
    /// The process that began.
    pub began: i32,
    /// When something first came to a socket of it.
    pub began_ns: i64,
}

/// Processes that were there when the recording ended.
fn at_the_end(facts: &Facts) -> FxHashSet<i32> {
    let rows = facts.snapshots.iter().filter(|r| r.end && r.what == "tasks");
    rows.filter_map(|r| r.line.split(' ').nth(1)?.parse().ok()).collect()
}

/// In a namespace, near a step where there is one.
pub(super) fn restarted(facts: &Facts, netns: u64, step_ns: Option<i64>) -> Option<Restarted> {
    let process = |s: &SocketRow| facts.process(if s.pid > 0 { s.pid } else { s.holder });
    // Of one that asks first, as for a name, what comes is an answer.
    let here = |s: &&SocketRow| s.served && facts.spaces.of_process(process(s)) == Some(netns);
    let there = at_the_end(facts);
    if there.is_empty() {
        return None;
    }
    let start = facts.capture.start_ns.unwrap_or(0);
    let since = |ns: i64| ns.saturating_sub(start);
    let mut all: Vec<&SocketRow> = facts.udp_sockets.iter().filter(here).collect();
    all.sort_by_key(|s| std::cmp::Reverse(s.arrived));
    all.truncate(MOST);
    let near = |ns: i64| step_ns.is_none_or(|at| at.abs_diff(since(ns)) <= NEAR_NS as u64);
    let mut pairs = vec![];
    for new in all.iter().filter(|s| near(s.first_ns)) {
        let gone = |old: &&&SocketRow| {
            let gap = new.first_ns.saturating_sub(old.last_arrived_ns.unwrap_or(old.last_ns));
            old.task == new.task && process(old) != process(new) && !there.contains(&process(old)) && {
                (0..=NEAR_NS).contains(&gap)
            }
        };
        let last = all
            .iter()
            .filter(gone)
            .max_by_key(|s| s.last_arrived_ns.unwrap_or(s.last_ns));
        pairs.extend(last.map(|old| Restarted {
            task: new.task.text().into_owned(),
            ended: process(old),
            ended_ns: since(old.last_arrived_ns.unwrap_or(old.last_ns)),
            began: process(new),
            began_ns: since(new.first_ns),
        }));
    }
    let from_step = |p: &Restarted| step_ns.map_or(p.began_ns.unsigned_abs(), |at| at.abs_diff(p.began_ns));
    pairs.into_iter().min_by_key(from_step)
}
