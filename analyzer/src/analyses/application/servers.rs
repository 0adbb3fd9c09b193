//! Each server as clients of this host saw it: its answers, and where the time over their median is.
//!
//! An answer is slow when it took so many times the median of its server and so much more (`cut.rs`), and is no far faster than those with most of the time. The slow ones are told apart by where most of each
//! one's time was: in the server, on the way there, on the way back; or it is not known, when the server is not in the recording.
//! Of those it is asked when their requests were acknowledged: the peer's host had them then.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::apart::{Apart, apart, one_client};
use super::cut::{least_of_slow, with_most};
use super::fresh::fresh;
use super::kept::{Kept, kept};
use super::metered::{Metered, metered};
use super::nature::{Nature, nature};
use super::opening::{Opening, opening};
use super::parts::Part;
use super::pools::{behind, held, slow, solid};
use super::released::Released;
use super::shift::{Shift, shift};
use super::sockets::{Role, Socket};
use super::spans::Spans;
use super::stood::{Came, Stood, stood};
use super::waited::{Waited, Waits, server};
use super::way::{Place, place};
use super::work::{ForWork, for_work};
use crate::explain::{Id, Kind};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::ResponseRow;
use crate::reconstruct::dispatch::Lost;
use crate::reconstruct::transmit::tables::TxKind;
use crate::stat::{Distribution, nearest_rank};

/// Of a server without any, the slowest 1 % are told apart, where the slowest took so long, ns.
const LONG_NS: i64 = 1_000_000;
/// Reads of an answer that is no transfer, at most.
pub(super) const FEW_READS: u32 = 8;
/// Median from which all answers of a server are looked at, and not its slow ones alone, ns.
const ALWAYS_NS: i64 = 20_000_000;
/// Part of all their time that one place must have then.
const MOSTLY: f64 = 0.5;
/// Servers kept: those whose answers took longest in all.
pub const SERVERS: usize = 20;

/// A server.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Server {
    /// `address:port`, as its clients call it.
    pub server: String,
    /// Clients' sockets.
    pub connections: u64,
    /// Clients' threads that read its answers.
    pub threads: u64,
    /// Send to the last byte readable that was read before the next send, where that took few reads; else to the first.
    pub response: Distribution,
    /// The slowest of these.
    pub worst: Option<Id>,
    /// Of these, whose turnaround at the server is in the recording.
    pub paired: u64,
    /// Share of the time from the first request to the last answer in which at least one was under way.
    pub busy: f64,
    /// Time by which answers took longer than their median, all in all, ns.
    pub over_ns: i64,
    /// Of it that of the slowest: one in a hundred, at least one.
    pub slowest_over_ns: i64,
    /// Slow answers by where most of their time was, most time over the median first; where none is slow, the slowest 1 %.
    pub slow: Vec<Slow>,
    /// All answers, where their median is 20 ms or more and one place has half of their time or more.
    pub whole: Option<Slow>,
    /// Times in which it answered nobody while requests waited all through them.
    pub stood: Vec<Stood>,
    /// Clients all of whose answers take long, alike, where the others' do not; what is said above is of the others.
    pub apart: Vec<Apart>,
    /// Slow answers that only waited for a server all of whose answers take long; likewise; inferred.
    #[serde(skip)]
    pub nature: Vec<Nature>,
}

/// Slow answers of a server with most of their time in one place.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Slow {
    /// `server`, `there`, `back`, `rest` (after the first byte); `unknown`: the server is not in the recording, or its part is not known.
    pub at: &'static str,
    /// Answers.
    pub n: u64,
    /// Their median, ns.
    pub p50_ns: i64,
    /// The fastest and the slowest of them, ns.
    pub min_ns: i64,
    /// As said.
    pub max_ns: i64,
    /// Time by which they took longer than the server's median, ns.
    pub over_ns: i64,
    /// Their time, ns.
    #[serde(skip)]
    pub sum_ns: i64,
    /// Share of their time that was there.
    pub share: f64,
    /// Of `server`: what its threads did, largest first.
    pub parts: Vec<Part>,
    /// Of `server`: task and thread with most of it, and its share.
    pub task: (String, f64),
    /// Of `server`: as `slowest_behind`.
    pub behind: Option<(String, f64)>,
    /// Of `server`: what they waited for.
    pub waited: Option<Waited>,
    /// Of `server`: whose request ended what they waited for.
    pub released: Option<Released>,
    /// Of `server`: that another client's request ended them.
    pub for_work: Option<ForWork>,
    /// Of `server`: that they lay unread until a thread was free.
    pub kept: Option<Kept>,
    /// Of `server`: that it lets them go at a pace of its own, for one client's address.
    pub metered: Option<Metered>,
    /// Of `server`: that their threads' own attempts to connect failed meanwhile.
    pub opening: Option<Opening>,
    /// Of `there`: what held the requests in this host longest, ns.
    pub held: Option<(&'static str, i64)>,
    /// Of `there` and `back`: where most of the way was.
    pub place: Option<Place>,
    /// Of `unknown`: requests that were acknowledged, all of them and sent once, in less than half of the time until the answer.
    pub acked: u64,
    /// The longest time until one of these was, ns.
    pub acked_max_ns: Option<i64>,
    /// Of `unknown`: those that are among the first on new connections, and all that are.
    #[serde(skip)]
    pub fresh: Option<(u64, u64)>,
    /// The one client's address that all of them are to, where it had no others from there, and other clients had.
    #[serde(skip)]
    pub client: Option<String>,
    /// When they became much slower, where they were there all along.
    #[serde(skip)]
    pub shift: Option<Shift>,
    /// When their requests were sent, ns since the start of the recording, in order; empty where none is slow.
    #[serde(skip)]
    pub times: Vec<i64>,
}

pub(super) type Answer<'f> = (i64, &'f ResponseRow);

/// All of them, most time first.
pub(super) fn servers<'f>(facts: &'f Facts, sockets: &[Socket<'f>], waits: &Waits<'f>) -> Vec<Server> {
    let mut by: BTreeMap<String, Vec<Answer<'f>>> = BTreeMap::new();
    let mut came: FxHashMap<String, Came> = FxHashMap::default();
    for s in sockets.iter().filter(|s| s.role == Role::Client) {
        came.entry(server(facts, s.connection)).or_default().add(s);
    }
    Came::add_units(&mut came, facts);
    for s in sockets.iter().filter(|s| s.in_turns && s.role == Role::Client) {
        let of = by.entry(server(facts, s.connection)).or_default();
        // What its user waits for is all of it; of one that is a transfer, its begin.
        let whole = |ns: i64, r: &ResponseRow| match r.reads <= FEW_READS {
            true => r.whole_ns().map_or(ns, |all| all.max(ns)),
            false => ns,
        };
        of.extend(s.judged_responses().map(|(ns, r)| (whole(ns, r), r)));
    }
    // Those with most time are looked at: there may be thousands.
    let mut by: Vec<(String, Vec<Answer<'f>>)> = by.into_iter().collect();
    by.sort_by_cached_key(|(_, rows)| std::cmp::Reverse(rows.iter().fold(0i64, |sum, r| sum.saturating_add(r.0))));
    by.truncate(SERVERS);
    let lost = Lost::of(&facts.gaps);
    let medians = by.iter().filter_map(|(name, rows)| {
        let mut times: Vec<i64> = rows.iter().map(|r| r.0).collect();
        Some((name.clone(), (times.len() as u64, nearest_rank(&mut times, 50)?)))
    });
    let medians: FxHashMap<String, (u64, i64)> = medians.collect();
    let mut all: Vec<Server> = by
        .into_iter()
        .filter_map(|(name, rows)| {
            let came = came.remove(&name).unwrap_or_default();
            of_server(facts, (waits, &lost, &medians), name, rows, came)
        })
        .collect();
    all.sort_by_key(|s| std::cmp::Reverse(s.response.sum_ns));
    all
}

fn of_server<'f>(
    facts: &'f Facts,
    (waits, lost, medians): (&Waits<'f>, &Lost, &FxHashMap<String, (u64, i64)>),
    server: String,
    rows: Vec<Answer<'f>>,
    came: Came,
) -> Option<Server> {
    let (mut rows, ..) = solid(rows, |r| r.1.confidence.is_solid());
    let apart = apart(facts, waits, &mut rows);
    let nature = nature(waits, medians, &server, &mut rows);
    rows.sort_by_key(|(ns, r)| (std::cmp::Reverse(*ns), r.connection, r.send_ns));
    let response = Distribution::of(rows.iter().map(|r| r.0).collect(), 0);
    let p50 = response.p50_ns?;
    let over = |rows: &[Answer<'_>]| {
        let over = rows.iter().map(|r| r.0.saturating_sub(p50).max(0));
        over.fold(0i64, i64::saturating_add)
    };
    let ends = rows.iter().map(|(ns, r)| (r.send_ns, r.send_ns.saturating_add(*ns)));
    let (first, last) = (ends.clone().map(|e| e.0).min()?, ends.clone().map(|e| e.1).max()?);
    let under_way = Spans::of(ends.collect()).within(first, last);
    let connections: FxHashSet<ConnectionId> = rows.iter().map(|r| r.1.connection).collect();
    let threads: FxHashSet<i32> = rows.iter().map(|r| r.1.pid).collect();
    let least = least_of_slow(p50);
    let mut classes: BTreeMap<&'static str, Vec<Answer<'_>>> = BTreeMap::new();
    let slow_ones = rows.partition_point(|r| r.0 >= least);
    let any = slow_ones > 0;
    let told = match slow_ones {
        // Of one whose answers all take long, alike, the slowest tell no more than all do.
        0 if response.max_ns >= Some(LONG_NS) && p50 < ALWAYS_NS => slow(rows.len()),
        n => n,
    };
    for row in rows.iter().take(told) {
        classes.entry(at(row)).or_default().push(*row);
    }
    let every = rows.as_slice();
    let mut slow_ones: Vec<Slow> = classes
        .into_iter()
        .map(|(at, mut rows)| {
            let times: Vec<i64> = rows.iter().map(|r| r.0).collect();
            let start = facts.capture.start_ns.unwrap_or(0);
            rows.truncate(with_most(&times, p50));
            let asked = rows.iter().map(|r| (r.1.send_ns.saturating_sub(start), r.0));
            let mut asked: Vec<(i64, i64)> = asked.filter(|_| any && facts.gaps.is_empty()).collect();
            asked.sort_unstable();
            let shift = shift(&asked, facts.capture.duration_ns);
            let mut times: Vec<i64> = rows.iter().map(|r| r.1.send_ns.saturating_sub(start)).collect();
            // Where events were lost what is missing makes bursts of its own.
            times.truncate(if any && facts.gaps.is_empty() { times.len() } else { 0 });
            times.sort_unstable();
            let fresh = (at == "unknown").then(|| fresh(facts, &rows, every)).flatten();
            Slow {
                fresh,
                over_ns: over(&rows),
                shift,
                times,
                client: one_client(facts, &rows, every),
                ..class(facts, waits, at, &rows)
            }
        })
        .collect();
    slow_ones.sort_by_key(|s| std::cmp::Reverse(s.over_ns));
    let whole = (p50 >= ALWAYS_NS).then(|| whole(facts, waits, &rows)).flatten();
    Some(Server {
        whole,
        apart,
        nature,
        stood: stood(facts, lost, &rows, p50, came),
        server,
        connections: connections.len() as u64,
        threads: threads.len() as u64,
        worst: rows
            .first()
            .and_then(|r| Id::of_row(Kind::Response, &facts.responses, r.1)),
        paired: rows.iter().filter(|r| r.1.peer.is_some()).count() as u64,
        busy: under_way as f64 / last.saturating_sub(first).max(1) as f64,
        over_ns: over(&rows),
        slowest_over_ns: over(rows.get(..slow(rows.len())).unwrap_or_default()),
        slow: slow_ones,
        response,
    })
}

/// All answers that have most of their time in the place with most time.
fn whole(facts: &Facts, waits: &Waits<'_>, rows: &[Answer<'_>]) -> Option<Slow> {
    let mut classes: BTreeMap<&'static str, Vec<Answer<'_>>> = BTreeMap::new();
    for row in rows {
        classes.entry(at(row)).or_default().push(*row);
    }
    let sum = |rows: &[Answer<'_>]| rows.iter().map(|r| r.0).fold(0i64, i64::saturating_add);
    let all = sum(rows);
    let (place, of) = classes.into_iter().max_by_key(|(_, of)| sum(of))?;
    (sum(&of) as f64 >= MOSTLY * all as f64).then(|| class(facts, waits, place, &of))
}

/// All of these, as of one place.
pub(super) fn all_at(facts: &Facts, waits: &Waits<'_>, at: &'static str, rows: &[Answer<'_>]) -> Slow {
    let mut rows = rows.to_vec();
    rows.sort_by_key(|(ns, r)| (std::cmp::Reverse(*ns), r.connection, r.send_ns));
    class(facts, waits, at, &rows)
}

/// From the first byte to the last, ns.
fn rest(ns: i64, r: &ResponseRow) -> i64 {
    ns.saturating_sub(r.response_ns().unwrap_or(ns))
}

/// Where most of it was.
fn at((ns, r): &Answer<'_>) -> &'static str {
    let rest = rest(*ns, r);
    let first = r.peer.map(|p| p.turnaround_ns.max(p.there_ns).max(p.back_ns));
    match r.peer {
        _ if rest > first.unwrap_or(ns.saturating_sub(rest)) => "rest",
        None => "unknown",
        Some(p) if p.turnaround_ns >= p.there_ns.max(p.back_ns) => "server",
        Some(p) if p.there_ns >= p.back_ns => "there",
        Some(_) => "back",
    }
}

fn class(facts: &Facts, waits: &Waits<'_>, at: &'static str, rows: &[Answer<'_>]) -> Slow {
    let mut times: Vec<i64> = rows.iter().map(|r| r.0).collect();
    let sum = |of: &dyn Fn(&Answer<'_>) -> i64| rows.iter().map(of).fold(0i64, i64::saturating_add);
    let part = sum(&|(ns, r)| match (at, r.peer) {
        ("server", Some(p)) => p.turnaround_ns,
        ("there", Some(p)) => p.there_ns,
        ("back", Some(p)) => p.back_ns,
        ("rest", _) => rest(*ns, r),
        _ => *ns,
    });
    let mut out = Slow {
        at,
        n: rows.len() as u64,
        p50_ns: nearest_rank(&mut times, 50).unwrap_or(0),
        min_ns: rows.last().map_or(0, |r| r.0),
        max_ns: rows.first().map_or(0, |r| r.0),
        over_ns: 0,
        sum_ns: sum(&|r| r.0),
        share: part as f64 / sum(&|r| r.0).max(1) as f64,
        parts: vec![],
        task: Default::default(),
        behind: None,
        waited: None,
        released: None,
        for_work: None,
        kept: None,
        metered: None,
        opening: None,
        held: None,
        place: None,
        acked: 0,
        acked_max_ns: None,
        fresh: None,
        client: None,
        shift: None,
        times: vec![],
    };
    let sends: FxHashMap<(ConnectionId, i64), ()> = rows.iter().map(|(_, r)| ((r.connection, r.send_ns), ())).collect();
    match at {
        "server" => {
            let theirs: Vec<_> = rows.iter().filter_map(|(_, r)| waits.turnaround(r)).collect();
            (out.parts, out.task) = waits.doing(&theirs);
            out.behind = behind(&theirs);
            out.waited = waits.waited(&theirs);
            // Who keeps the connection of its last answer reads from it.
            let reads = out.waited.as_ref().is_none_or(|w| w.kind == "read");
            out.kept = kept(facts, &theirs).filter(|_| reads);
            out.waited = out.waited.filter(|_| out.kept.is_none());
            out.opening = opening(facts, &theirs);
            out.released = waits.released(&theirs).filter(|_| out.waited.is_none());
            // What is known to hold them is no limit.
            let known = out.waited.is_some() || out.released.is_some();
            out.metered = metered(facts, &theirs).filter(|_| !known);
            let known = known || out.metered.is_some() || out.opening.is_some();
            out.for_work = for_work(facts, &theirs).filter(|_| !known);
        }
        "unknown" => (out.acked, out.acked_max_ns) = acked(facts, rows),
        "rest" => {}
        _ => {
            let ways = rows.iter().filter_map(|(_, r)| {
                let p = r.peer?;
                let ready = r.ready_ns?;
                Some(match at {
                    "there" => (p.connection, r.send_ns, r.send_ns.saturating_add(p.there_ns)),
                    _ => (r.connection, ready.saturating_sub(p.back_ns), ready),
                })
            });
            out.place = place(facts, &ways.collect::<Vec<_>>());
            out.held = held(facts, &sends).filter(|_| at == "there");
        }
    }
    out
}

/// How many of these requests the peer's host had acknowledged long before the answer came; and the longest time until it had.
fn acked(facts: &Facts, rows: &[Answer<'_>]) -> (u64, Option<i64>) {
    let mut at: FxHashMap<(ConnectionId, i64), Option<i64>> = rows
        .iter()
        .map(|(_, r)| ((r.connection, r.send_ns), Some(i64::MIN)))
        .collect();
    for t in facts.tx.iter().filter(|t| t.kind == TxKind::Tcp) {
        let Some(last) = t.connection.and_then(|c| at.get_mut(&(c, t.start_ns))) else {
            continue;
        };
        let once = t.t_ack_ns.filter(|_| t.retransmits == 0);
        *last = last.zip(once).map(|(last, ack)| last.max(ack));
    }
    let took = rows.iter().filter_map(|(ns, r)| {
        let ack = (*at.get(&(r.connection, r.send_ns))?).filter(|ack| *ack > r.send_ns)?;
        let took = ack.saturating_sub(r.send_ns);
        (took <= ns / 2).then_some(took)
    });
    let took: Vec<i64> = took.collect();
    (took.len() as u64, took.into_iter().max())
}
