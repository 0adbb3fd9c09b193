//! Which other server a reader asked, and waited for, while packets of its own lay in a receive queue: a consumer that asks somebody for each message that it reads.
//!
//! Needs read units of `rx`, `responses`, `connections`. Of the thread with most of the time for which readers slept: its questions and their answers have their times;
//! that it reads no faster for that is inferred. Must not take for it: answers on the connections that it reads late themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use crate::analyses::application::{Spans, task};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::receive::tables::{RxRow, Stage};
use crate::reconstruct::tcp::role::Role;
use crate::stat::nearest_rank;

/// Share of the time from which one thread, and one server, is named.
const MOSTLY: f64 = 0.5;
/// Fewest answers: one alone is no habit. Least sleep in all, ns.
const ANSWERS: usize = 3;
const LEAST_NS: i64 = 20_000_000;
/// Calls in which a thread waits for one answer.
const CALLS: [&str; 8] = [
    "read", "readv", "recvfrom", "recvmsg", "recvmmsg", "poll", "ppoll", "select",
];

/// Whom it asked.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct AskedMeanwhile {
    /// `task/thread` that reads.
    pub task: String,
    /// `address:port` of the server.
    pub to: String,
    /// Answers for which it waited then.
    pub answers: u64,
    /// How long these took, median, ns.
    pub took_ns: i64,
    /// Share of the time for which what it reads lay there, 0 to 1.
    pub share: f64,
}

/// Of all read units.
pub(super) fn asked_meanwhile(facts: &Facts, read: &[&RxRow]) -> Option<AskedMeanwhile> {
    let all = read.iter().filter_map(|r| r.stage(Stage::ReaderAsleep));
    let all = all.fold(0i64, i64::saturating_add);
    // Who sleeps by its own wish, or in a wait for several sockets, does not wait for one answer.
    let asleep = |r: &RxRow| match CALLS.contains(&r.asleep_in.text().as_ref()) {
        true => r.asleep_in_ns,
        false => 0,
    };
    let mut by: BTreeMap<i32, i64> = BTreeMap::new();
    for r in read.iter().filter(|r| r.pid > 0) {
        let of = by.entry(r.pid).or_default();
        *of = of.saturating_add(asleep(r));
    }
    let (pid, ns) = by.into_iter().max_by_key(|(pid, ns)| (*ns, std::cmp::Reverse(*pid)))?;
    if ns < LEAST_NS || (ns as f64) < MOSTLY * all as f64 {
        return None;
    }
    let units: Vec<&RxRow> = read.iter().copied().filter(|r| r.pid == pid && asleep(r) > 0).collect();
    // What it reads late for others' sake: the connections with most of that time.
    let mut late: BTreeMap<Option<ConnectionId>, i64> = BTreeMap::new();
    for r in &units {
        let of = late.entry(r.connection).or_default();
        *of = of.saturating_add(asleep(r));
    }
    let own: BTreeSet<Option<ConnectionId>> = late
        .iter()
        .filter(|(_, of)| **of as f64 >= 0.1 * ns as f64)
        .map(|(c, _)| *c)
        .collect();
    let mut asked: BTreeMap<SocketAddr, Vec<(i64, i64)>> = BTreeMap::new();
    for r in facts
        .responses
        .iter()
        .filter(|r| r.pid == pid && !r.overlap && !own.contains(&Some(r.connection)))
    {
        let row = facts.connections.get(r.connection.0 as usize);
        let to = row.filter(|c| c.role().0 == Role::Client).and_then(|c| c.remote());
        if let Some(to) = to {
            asked
                .entry(to)
                .or_default()
                .push((r.send_ns, r.ready_ns.unwrap_or(r.read_ns)));
        }
    }
    let lay = Spans::of(
        units
            .iter()
            .map(|r| (r.start_ns, r.start_ns.saturating_add(r.total_ns)))
            .collect(),
    );
    let whole = lay.sum();
    let of = |(to, mut each): (SocketAddr, Vec<(i64, i64)>)| {
        each.retain(|(a, b)| lay.within(*a, *b) > 0);
        (lay.common(&Spans::of(each.clone())), to, each)
    };
    let (within, to, each) = asked
        .into_iter()
        .map(of)
        .max_by_key(|(ns, to, _)| (*ns, std::cmp::Reverse(*to)))?;
    let share = within as f64 / whole.max(1) as f64;
    let mut took: Vec<i64> = each.iter().map(|(a, b)| b.saturating_sub(*a)).collect();
    let first = units.first()?;
    (share >= MOSTLY && each.len() >= ANSWERS).then_some(())?;
    Some(AskedMeanwhile {
        task: task(&first.task, pid),
        to: to.to_string(),
        answers: each.len() as u64,
        took_ns: nearest_rank(&mut took, 50)?,
        share,
    })
}
