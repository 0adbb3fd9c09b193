//! All requests of servers, and all of clients, and where the slowest of them passed their time.

use rustc_hash::FxHashMap;

use super::parts::Part;
use super::sockets::{Role, Socket};
use super::waited::{Waited, Waits};
use super::way::{Place, place};
use crate::Name;
use crate::confidence::speak_for_all;
use crate::explain::{Id, Kind};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::{ResponseRow, TurnaroundRow};
use crate::reconstruct::transmit::Stage;
use crate::stat::Distribution;

/// The slowest rows of a set: one in so many.
const SLOW_ONE_IN: usize = 100;

/// Requests that servers of this host answered.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Answered {
    /// Servers' sockets.
    pub connections: u64,
    /// Last byte readable to send; certain and strong rows, or, where these are less than half, all.
    pub turnaround: Distribution,
    /// Whether these are certain and strong.
    pub solid: bool,
    /// Rows less certain: not among these where `solid`.
    pub less_certain: u64,
    /// The slowest of them.
    pub worst: Option<Id>,
    /// Slowest rows meant below: one in a hundred, at least one.
    pub slowest: u64,
    /// Where their time passed, largest first.
    pub slowest_parts: Vec<Part>,
    /// Task and thread with most of it, and its share.
    pub slowest_task: (String, f64),
    /// Who ran longest on their threads' CPUs while these waited for one, and its share of that wait; `swapper`: nobody; `None`: they did not
    /// wait, or it is not known.
    pub slowest_behind: Option<(String, f64)>,
    /// What their threads waited for: another server's answer, or room to send on another connection.
    pub slowest_waited: Option<Waited>,
}

/// Requests that clients of this host made.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Awaited {
    /// Clients' sockets.
    pub connections: u64,
    /// Send to first byte readable; certain and strong rows, or, where these are less than half, all.
    pub response: Distribution,
    /// The same until all of the answer was readable that was read before the next send.
    pub whole: Distribution,
    /// Whether these are certain and strong.
    pub solid: bool,
    /// Rows less certain: not among these where `solid`.
    pub less_certain: u64,
    /// The slowest of them.
    pub worst: Option<Id>,
    /// Of these, responses whose turnaround at the peer is in the recording.
    pub paired: u64,
    /// Slowest rows meant below: one in a hundred of the paired ones, at least one; 0: none is paired.
    pub slowest: u64,
    /// Their time, ns: to the peer's socket, in its application, back.
    pub slowest_there_ns: i64,
    /// As said.
    pub slowest_peer_ns: i64,
    /// As said.
    pub slowest_back_ns: i64,
    /// What held the requests in this host's stack on the way there longest (a stage of `tx`), ns.
    pub slowest_held: Option<(&'static str, i64)>,
    /// Where most of the longer of the two ways was, when it is followed to one place.
    pub slowest_place: Option<Place>,
    /// Median of the time that is not the peer's application, of all paired ones, ns.
    pub way_p50_ns: Option<i64>,
    /// Smallest smoothed round trip of these sockets, ns.
    pub rtt_min_ns: Option<i64>,
}

/// The certain and strong ones, or all where these do not speak for all; whether they do; how many are less certain.
pub(super) fn solid<R>(mut all: Vec<R>, is: impl Fn(&R) -> bool) -> (Vec<R>, bool, u64) {
    let (n, weak) = (all.len(), all.iter().filter(|r| !is(r)).count());
    let solid = speak_for_all((n - weak) as u64, n as u64);
    if solid {
        all.retain(is);
    }
    (all, solid, weak as u64)
}

pub(super) fn slow(n: usize) -> usize {
    n.div_ceil(SLOW_ONE_IN)
}

pub(super) fn answered(facts: &Facts, sockets: &[Socket<'_>], waits: &Waits<'_>) -> Option<Answered> {
    let servers = || sockets.iter().filter(|s| s.in_turns && s.role == Role::Server);
    let rows: Vec<&TurnaroundRow> = servers().flat_map(Socket::judged_turnarounds).collect();
    let (mut rows, solid, less_certain) = solid(rows, |r| r.confidence.is_solid());
    if rows.is_empty() {
        return None;
    }
    rows.sort_by_key(|r| (std::cmp::Reverse(r.total_ns()), r.send_ns));
    let slowest = rows.get(..slow(rows.len())).unwrap_or_default();
    let (slowest_parts, slowest_task) = waits.doing(slowest);
    Some(Answered {
        connections: servers().filter(|s| s.judged_turnarounds().next().is_some()).count() as u64,
        turnaround: Distribution::of(rows.iter().map(|r| r.total_ns()).collect(), 0),
        solid,
        less_certain,
        worst: slowest
            .first()
            .and_then(|r| Id::of_row(Kind::Turnaround, &facts.turnarounds, r)),
        slowest: slowest.len() as u64,
        slowest_behind: behind(slowest),
        slowest_waited: waits.waited(slowest),
        slowest_parts,
        slowest_task,
    })
}

/// Who had the CPU while the threads of these were runnable.
pub(super) fn behind(slow: &[&TurnaroundRow]) -> Option<(String, f64)> {
    let mut by: FxHashMap<Name, i64> = FxHashMap::default();
    let mut whole = 0i64;
    for t in slow {
        let ns = t.split.run_queue_ns;
        whole = whole.saturating_add(ns);
        let sum = by.entry(t.run_queue_task).or_insert(0);
        *sum = sum.saturating_add(ns);
    }
    let known = by.into_iter().filter(|(who, ns)| !who.is_empty() && *ns > 0);
    let (who, ns) = known.max_by_key(|(who, ns)| (*ns, std::cmp::Reverse(*who)))?;
    Some((who.text().into_owned(), ns as f64 / whole.max(1) as f64))
}

pub(super) fn awaited(facts: &Facts, sockets: &[Socket<'_>]) -> Option<Awaited> {
    let clients = || sockets.iter().filter(|s| s.in_turns && s.role == Role::Client);
    let rows: Vec<(i64, &ResponseRow)> = clients().flat_map(Socket::judged_responses).collect();
    let (rows, solid, less_certain) = solid(rows, |r| r.1.confidence.is_solid());
    if rows.is_empty() {
        return None;
    }
    let of: Vec<ConnectionId> = clients().map(|s| s.connection).collect();
    let samples = facts.tcp_samples.iter().filter(|s| s.srtt_us > 0);
    let rtt = samples
        .filter(|s| of.binary_search(&s.connection).is_ok())
        .map(|s| s.srtt_us)
        .min();
    let worst = rows.iter().min_by_key(|(ns, r)| (std::cmp::Reverse(*ns), r.send_ns));
    let mut out = Awaited {
        worst: worst.and_then(|(_, r)| Id::of_row(Kind::Response, &facts.responses, r)),
        connections: clients().filter(|s| s.judged_responses().next().is_some()).count() as u64,
        response: Distribution::of(rows.iter().map(|r| r.0).collect(), 0),
        whole: Distribution::of(rows.iter().map(|(ns, r)| r.whole_ns().unwrap_or(*ns)).collect(), 0),
        solid,
        less_certain,
        paired: 0,
        slowest: 0,
        slowest_there_ns: 0,
        slowest_peer_ns: 0,
        slowest_back_ns: 0,
        slowest_held: None,
        slowest_place: None,
        way_p50_ns: None,
        rtt_min_ns: rtt.map(|us| i64::from(us).saturating_mul(1000)),
    };
    let mut paired: Vec<_> = rows.iter().filter_map(|(ns, r)| Some((*ns, *r, r.peer?))).collect();
    paired.sort_by_key(|(ns, r, _)| (std::cmp::Reverse(*ns), r.send_ns));
    let mut ways: Vec<i64> = paired
        .iter()
        .map(|(_, _, p)| p.there_ns.saturating_add(p.back_ns))
        .collect();
    out.way_p50_ns = crate::stat::nearest_rank(&mut ways, 50);
    out.paired = paired.len() as u64;
    let slowest = paired.get(..slow(paired.len())).unwrap_or_default();
    out.slowest = slowest.len() as u64;
    for (_, _, p) in slowest {
        out.slowest_there_ns = out.slowest_there_ns.saturating_add(p.there_ns);
        out.slowest_peer_ns = out.slowest_peer_ns.saturating_add(p.turnaround_ns);
        out.slowest_back_ns = out.slowest_back_ns.saturating_add(p.back_ns);
    }
    let sends: FxHashMap<(ConnectionId, i64), ()> = slowest
        .iter()
        .map(|(_, r, _)| ((r.connection, r.send_ns), ()))
        .collect();
    out.slowest_held = held(facts, &sends);
    let there = out.slowest_there_ns >= out.slowest_back_ns;
    let ways = slowest.iter().filter_map(|(_, r, p)| match there {
        true => Some((p.connection, r.send_ns, r.send_ns.saturating_add(p.there_ns))),
        false => r
            .ready_ns
            .map(|ready| (r.connection, ready.saturating_sub(p.back_ns), ready)),
    });
    out.slowest_place = place(facts, &ways.collect::<Vec<_>>());
    Some(out)
}

/// What held the segments of these sends in this host before the device longest. Time until one was sent again is none of
/// it: the request may have been there long before, and the ACK lost.
pub(super) fn held(facts: &Facts, sends: &FxHashMap<(ConnectionId, i64), ()>) -> Option<(&'static str, i64)> {
    let rows = facts
        .tx
        .iter()
        .filter(|r| r.connection.is_some_and(|c| sends.contains_key(&(c, r.start_ns))));
    let mut sums: Vec<(Stage, i64)> = Stage::ALL
        .into_iter()
        .filter(|s| s.holds() && *s != Stage::Recovery)
        .map(|s| (s, 0))
        .collect();
    for r in rows {
        for (stage, sum) in &mut sums {
            *sum = sum.saturating_add(r.stage(*stage).unwrap_or(0));
        }
    }
    let most = sums.into_iter().rev().max_by_key(|s| s.1).filter(|s| s.1 > 0)?;
    Some((most.0.name(), most.1))
}
