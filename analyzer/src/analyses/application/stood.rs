//! Times in which a server answered nobody while requests waited.
//!
//! Between two answers, one after the other, of all that it gave; where events were lost meanwhile one may have been another answer. What came of
//! it on any connection of its clients is an answer here, whatever it was to: of a transfer or a stream each unit that arrived (`rx`); where none of
//! these was recorded nothing is told while one was under way.

use rustc_hash::{FxHashMap, FxHashSet};

use super::servers::{Answer, FEW_READS};
use super::sockets::Socket;
use super::spans::Spans;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::dispatch::Lost;

/// Shortest time without any answer, and fewest requests that waited through it, that is a standstill.
const STOOD_NS: i64 = 100_000_000;
const STOOD: u64 = 3;
/// Part of a standstill within which so many have their answers behind it.
const STOOD_SOON: i64 = 10;
/// So many times its median at least.
const STOOD_TIMES: i64 = 2;
/// Standstills kept: the first.
const STANDSTILLS: usize = 50;
/// A server answered nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Stood {
    /// From the last answer before it, or the last of these requests where that came later; ns since the start of the recording.
    pub from_ns: i64,
    /// To the first answer after it.
    pub to_ns: i64,
    /// Requests that waited then.
    pub waiting: u64,
}

/// What came of a server, of any kind.
#[derive(Default)]
pub(super) struct Came {
    /// First and last bytes, and those between them of transfers.
    at: Vec<i64>,
    transfers: Vec<(ConnectionId, i64, i64)>,
    /// Connections whose units are in `at`.
    seen: FxHashSet<ConnectionId>,
}

impl Came {
    pub(super) fn add(&mut self, socket: &Socket<'_>) {
        for r in socket.responses {
            let last = r.complete_ns.or(r.ready_ns);
            self.at.extend(r.ready_ns.into_iter().chain(last));
            if r.reads > FEW_READS {
                let span = r.ready_ns.zip(last);
                self.transfers.extend(span.map(|(from, to)| (r.connection, from, to)));
            }
        }
    }
    /// By server as given: adds what arrived on the connections of transfers.
    pub(super) fn add_units(all: &mut FxHashMap<String, Came>, facts: &Facts) {
        let of = |(name, came): (&String, &Came)| {
            let each = came.transfers.iter().map(|t| (t.0, name.clone()));
            each.collect::<Vec<_>>()
        };
        let whose: FxHashMap<ConnectionId, String> = all.iter().flat_map(of).collect();
        if whose.is_empty() {
            return;
        }
        for r in facts.rx.iter().filter(|r| r.bytes.is_some_and(|n| n > 0)) {
            let Some((c, name)) = r.connection.and_then(|c| Some((c, whose.get(&c)?))) else {
                continue;
            };
            if let Some(came) = all.get_mut(name) {
                came.at.push(r.start_ns);
                came.seen.insert(c);
            }
        }
    }
}

pub(super) fn stood(facts: &Facts, lost: &Lost, rows: &[Answer<'_>], p50: i64, came: Came) -> Vec<Stood> {
    let start = facts.capture.start_ns.unwrap_or(0);
    let mut sends: Vec<i64> = rows.iter().map(|r| r.1.send_ns).collect();
    let by_end = rows.iter().map(|(ns, r)| (r.send_ns.saturating_add(*ns), r.send_ns));
    let mut by_end: Vec<(i64, i64)> = by_end.collect();
    let mut at = came.at;
    sends.sort_unstable();
    by_end.sort_unstable();
    let ends: Vec<i64> = by_end.iter().map(|e| e.0).collect();
    at.sort_unstable();
    let untold = came.transfers.iter().filter(|t| !came.seen.contains(&t.0));
    let transfers = Spans::of(untold.map(|t| (t.1, t.2)).collect());
    let mut all = vec![];
    for (nth, (from, end)) in ends.iter().zip(ends.iter().skip(1)).enumerate() {
        if end.saturating_sub(*from) < STOOD_NS {
            continue;
        }
        // Of those under way in the gap the one whose coming makes them enough: from there on they waited.
        let answered = nth + 1;
        let begun = sends
            .get(answered + STOOD as usize - 1)
            .map_or(i64::MAX, |s| *s.max(from));
        // What else came of it divides that; the longest part of it tells.
        let between = at.get(at.partition_point(|t| *t <= begun)..at.partition_point(|t| t < end));
        let marks = || between.unwrap_or_default().iter().copied();
        let parts = std::iter::once(begun).chain(marks()).zip(marks().chain([*end]));
        let Some((begun, to)) = parts.max_by_key(|(from, to)| to.saturating_sub(*from)) else {
            continue;
        };
        let waiting = sends.partition_point(|s| *s < to).saturating_sub(answered) as u64;
        let long = to.saturating_sub(begun) >= STOOD_NS.max(p50.saturating_mul(STOOD_TIMES));
        // Those that waited for it have their answers soon then; what waits on (long polls) did not wait for that.
        let soon = to.saturating_add(to.saturating_sub(begun) / STOOD_SOON);
        // What is asked then and answered at once did not wait for it either.
        let half = begun.saturating_add(to.saturating_sub(begun) / 2);
        let of = by_end.partition_point(|e| e.0 < to)..by_end.partition_point(|e| e.0 <= soon);
        let freed = by_end.get(of).unwrap_or_default();
        let freed = freed.iter().filter(|(_, sent)| *sent <= half).count() as u64;
        if long && freed >= STOOD && transfers.within(begun, to) == 0 && !lost.within(begun, to) {
            all.push(Stood {
                from_ns: begun.saturating_sub(start),
                to_ns: to.saturating_sub(start),
                waiting,
            });
        }
    }
    all.truncate(STANDSTILLS);
    all
}
