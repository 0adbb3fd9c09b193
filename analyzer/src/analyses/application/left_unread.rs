//! Requests, or other data, that a program left in its socket while it slept in epoll, until more came on the same socket: it is woken by what comes (edge-triggered, EPOLLET), and does not read until nothing is left.
//!
//! ```text
//! unit of 6 kB   readable | part of it read | ............ the reader sleeps in epoll_wait ............ | read
//! next unit, 17 bytes                                                                        readable |   | read
//! ```
//! Needs `rx` (residence in the receive queue, the call that the reader slept in), `connections`. Where epoll is level-triggered it returns at once while something is there. Must not take for one: a reader that does not want more for a while (its
//! interest taken back until what it had is passed on), which goes on whatever comes; a stream whose next unit comes soon anyway. How a socket is registered no event tells: inferred.

use std::collections::{BTreeMap, BTreeSet};

use super::task;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::receive::tables::{RxEnd, RxRow, Stage};
use crate::stat::nearest_rank;

/// Shortest time that a unit lay unread, ns.
const LAY_NS: i64 = 20_000_000;
/// From what came to the end of the reading that was behind it, ns.
const NEAR_NS: i64 = 5_000_000;
/// Fewest units.
const FEWEST: usize = 5;
/// Part of the reader's long-lying units that were read when more came.
const MOSTLY: f64 = 0.8;
/// What its calls begin with.
const EPOLL: &str = "epoll";

/// The reader with most such time.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LeftUnread {
    /// `task/thread`.
    pub task: String,
    /// Its end, `address:port`, where all its sockets share one.
    pub at: String,
    /// Units that lay so.
    pub units: u64,
    /// Its units that lay as long and were not read when more came.
    pub others: u64,
    /// Connections that they came on.
    pub connections: u64,
    /// How long they lay, median and longest, ns.
    pub p50_ns: i64,
    /// See there.
    pub longest_ns: i64,
    /// When the first became readable, ns since the start of the recording.
    pub first_ns: i64,
}

/// What one reader left.
#[derive(Default)]
struct Found {
    task: Name,
    /// Connection, when it was readable, how long it lay.
    units: Vec<(ConnectionId, i64, i64)>,
    /// Others that lay as long.
    others: u64,
}

/// From when to when a unit lay readable.
fn lay(r: &RxRow) -> Option<(i64, i64)> {
    let end = r.start_ns.checked_add(r.total_ns)?;
    let behind = |s: Stage| r.stage(s).unwrap_or(0);
    let end = end
        .saturating_sub(behind(Stage::Return))
        .saturating_sub(behind(Stage::Copy));
    Some((end.saturating_sub(r.rcvq_ns?), end))
}

/// It lay for long, and its reader slept in epoll for most of that.
fn long(r: &RxRow) -> bool {
    let asleep = r.stage(Stage::ReaderAsleep).unwrap_or(0);
    let epoll = r.asleep_in.text().starts_with(EPOLL);
    let ns = r.rcvq_ns.unwrap_or(0);
    ns >= LAY_NS && epoll && asleep >= ns / 2
}

/// The reader whose units lay longest in all.
pub(super) fn left_unread(facts: &Facts) -> Option<LeftUnread> {
    if !facts.gaps.is_empty() {
        return None;
    }
    // Most recordings have none, and need no order.
    let readers: BTreeSet<i32> = facts.rx.iter().filter(|r| long(r)).map(|r| r.pid).collect();
    let mut by: BTreeMap<ConnectionId, Vec<(i64, i64, &RxRow)>> = BTreeMap::new();
    for r in facts.rx.iter().filter(|r| readers.contains(&r.pid)) {
        let solid = r.end == RxEnd::Read && r.confidence.is_solid();
        if let (Some(c), Some((from, to))) = (r.connection.filter(|_| solid), lay(r)) {
            by.entry(c).or_default().push((from, to, r));
        }
    }
    let mut found: BTreeMap<i32, Found> = BTreeMap::new();
    for (c, mut units) in by {
        units.sort_unstable_by_key(|u| (u.0, u.1));
        for (nth, (from, to, r)) in units.iter().enumerate().filter(|(_, u)| long(u.2)) {
            let next = units.get(nth + 1);
            // The reader slept until that one came.
            let asleep = |r: &RxRow| {
                [Stage::ReaderAsleep, Stage::Wakeup]
                    .iter()
                    .any(|s| r.stage(*s) > Some(0))
            };
            let woken = next.is_some_and(|n| n.0 <= *to && to.saturating_sub(n.0) <= NEAR_NS && asleep(n.2));
            let of = found.entry(r.pid).or_default();
            of.task = r.task;
            match woken && to.saturating_sub(*from) > NEAR_NS {
                true => of.units.push((c, *from, to.saturating_sub(*from))),
                false => of.others += 1,
            }
        }
    }
    let start = facts.capture.start_ns.unwrap_or(0);
    let one = |(pid, found): (i32, Found)| {
        let (units, others) = (found.units, found.others);
        let all = units.len() as f64 + others as f64;
        if units.len() < FEWEST || (units.len() as f64) < MOSTLY * all {
            return None;
        }
        let connections: BTreeSet<ConnectionId> = units.iter().map(|u| u.0).collect();
        let ends = connections.iter().map(|c| facts.connections.get(c.0 as usize)?.local());
        let ends: BTreeSet<_> = ends.collect();
        let at = ends.first().copied().flatten().filter(|_| ends.len() == 1);
        let mut ns: Vec<i64> = units.iter().map(|u| u.2).collect();
        let sum = ns.iter().fold(0i64, |sum, ns| sum.saturating_add(*ns));
        let of = LeftUnread {
            task: task(&found.task, pid),
            at: at.map(|a| a.to_string()).unwrap_or_default(),
            units: units.len() as u64,
            others,
            connections: connections.len() as u64,
            longest_ns: ns.iter().copied().max()?,
            p50_ns: nearest_rank(&mut ns, 50)?,
            first_ns: units.iter().map(|u| u.1).min()?.saturating_sub(start),
        };
        Some((sum, of))
    };
    let all = found.into_iter().filter_map(one);
    all.max_by_key(|(sum, _)| *sum).map(|(_, of)| of)
}
