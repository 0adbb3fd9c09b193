//! A server whose threads wait for requests that only they could answer: for an answer each asks another server, which asks them for it.
//!
//! ```text
//! gunicorn  thread 1..5   request read ── asks nginx ─────── asleep ─────── gives up, answers
//! nginx                                    └ asks gunicorn ── its request lies unread there, as all five wait
//! ```
//! Needs `turnarounds`, `connections`, `tcp_states`, `responses`. Of late answers in whose time their thread opened a connection to another server and was not answered on it for most of that time, where a process that serves at that end has
//! connections to this server itself. Told where all threads that answer there were so at once, and requests lay unread meanwhile. Which request is for which answer no event tells: inferred. Must not take for one: a server that is slow for another reason while it
//! asks a proxy that serves it, too, as long as one of its threads is free.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use super::sockets::{Role, Socket};
use crate::analyses::lives::lives;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::stat::nearest_rank;

/// Shortest answer that is late.
const LATE_NS: i64 = 500_000_000;
/// Part of its time in which the other server had not answered.
const MOSTLY: f64 = 0.8;
/// Fewest of them, and fewest requests that lay unread for as long meanwhile.
const FEWEST: usize = 3;

/// A server that waits for itself.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct WaitsForItself {
    /// `address:port`.
    pub server: String,
    /// Task of its threads.
    pub task: String,
    /// `address:port` of the other one.
    pub by: String,
    /// Its threads that waited so, all at once.
    pub threads: u64,
    /// Answers that waited so, and their time, median, ns.
    pub n: u64,
    /// See there.
    pub p50_ns: i64,
    /// First begin and last end of these, ns since the start of the recording.
    pub within_ns: (i64, i64),
    /// Requests that lay unread there meanwhile for half as long as these took, or longer.
    pub unread: u64,
}

/// The one with most such answers.
pub(super) fn waits_for_itself(facts: &Facts, sockets: &[Socket<'_>]) -> Option<WaitsForItself> {
    if !facts.gaps.is_empty() {
        return None;
    }
    let mut answers: BTreeMap<SocketAddr, Vec<&TurnaroundRow>> = BTreeMap::new();
    for s in sockets.iter().filter(|s| s.in_turns && s.role == Role::Server) {
        if let Some(here) = s.local(facts) {
            answers.entry(here).or_default().extend(s.judged_turnarounds());
        }
    }
    let late = |t: &&&TurnaroundRow| t.total_ns() >= LATE_NS && t.pid == t.sender_pid;
    answers.retain(|_, of| of.iter().filter(late).count() >= FEWEST);
    if answers.is_empty() {
        return None;
    }
    // Processes that serve at each end, and ends that processes ask.
    let mut serves: FxHashMap<SocketAddr, FxHashSet<i32>> = FxHashMap::default();
    for s in sockets.iter().filter(|s| s.role == Role::Server) {
        if let Some(here) = s.local(facts) {
            let of = s.judged_turnarounds().map(|t| facts.process(t.pid));
            serves.entry(here).or_default().extend(of);
        }
    }
    let lives = lives(facts);
    let mut asks: FxHashSet<(i32, SocketAddr)> = FxHashSet::default();
    // Connections that threads opened: when, to whom, and until when nothing came on them.
    let mut opened: FxHashMap<i32, Vec<(i64, SocketAddr, i64)>> = FxHashMap::default();
    let mut first: FxHashMap<ConnectionId, i64> = FxHashMap::default();
    for r in &facts.responses {
        let at = r.ready_ns.unwrap_or(r.read_ns);
        first
            .entry(r.connection)
            .and_modify(|ns| *ns = at.min(*ns))
            .or_insert(at);
    }
    for row in facts
        .connections
        .iter()
        .filter(|r| r.role().0 == Role::Client && r.pid > 0)
    {
        let Some(to) = row.remote() else { continue };
        asks.insert((facts.process(row.pid), to));
        let life = lives.get(&row.connection).copied().unwrap_or_default();
        if let Some(stood) = life.stood {
            let ended = life.ended.map_or(i64::MAX, |e| e.0);
            let until = first.get(&row.connection).copied().unwrap_or(i64::MAX).min(ended);
            opened.entry(row.pid).or_default().push((stood, to, until));
        }
    }
    opened.values_mut().for_each(|of| of.sort_unstable());
    let unanswered = |t: &TurnaroundRow| -> Option<SocketAddr> {
        let of = opened.get(&t.pid)?;
        let from = of.partition_point(|o| o.0 < t.read_ns);
        let mut of = of.get(from..)?.iter().take_while(|o| o.0 <= t.send_ns);
        let most = (t.total_ns() as f64 * MOSTLY) as i64;
        of.find(|(stood, _, until)| (*until).min(t.send_ns).saturating_sub(*stood) >= most)
            .map(|o| o.1)
    };
    let start = facts.capture.start_ns.unwrap_or(0);
    let one = |(server, of): (&SocketAddr, &Vec<&TurnaroundRow>)| {
        let mut by: BTreeMap<SocketAddr, Vec<&TurnaroundRow>> = BTreeMap::new();
        for t in of.iter().filter(late) {
            // Its own proxy, not itself under another name.
            if let Some(to) = unanswered(t).filter(|to| to != server) {
                by.entry(to).or_default().push(t);
            }
        }
        let (other, waited) = by.into_iter().max_by_key(|(_, w)| w.len())?;
        let behind = serves.get(&other)?;
        if waited.len() < FEWEST || !behind.iter().any(|p| asks.contains(&(*p, *server))) {
            return None;
        }
        // All at once: nobody was free.
        let threads: BTreeSet<i32> = waited.iter().map(|t| t.pid).collect();
        let all: BTreeSet<i32> = of.iter().map(|t| t.pid).collect();
        let (begins, ends) = (waited.iter().map(|t| t.read_ns), waited.iter().map(|t| t.send_ns));
        let (from, to) = (begins.min()?, ends.max()?);
        let mut took: Vec<i64> = waited.iter().map(|t| t.total_ns()).collect();
        let p50 = nearest_rank(&mut took, 50)?;
        let unread = of.iter().filter(|t| {
            let unread = t.read_ns.saturating_sub(t.start_ns());
            unread >= p50 / 2 && t.start_ns() >= from && t.start_ns() <= to
        });
        let unread = unread.count();
        let at_once = {
            let mut edges: Vec<(i64, i64)> = waited.iter().flat_map(|t| [(t.read_ns, 1), (t.send_ns, -1)]).collect();
            edges.sort_unstable();
            let mut now = 0;
            edges
                .iter()
                .map(|(_, d)| {
                    now += d;
                    now
                })
                .max()
                .unwrap_or(0)
        };
        let stuck = threads == all && usize::try_from(at_once).is_ok_and(|n| n >= all.len());
        (stuck && unread >= FEWEST).then(|| WaitsForItself {
            server: server.to_string(),
            task: waited.first().map_or_else(String::new, |t| t.task.text().into_owned()),
            by: other.to_string(),
            threads: threads.len() as u64,
            n: waited.len() as u64,
            p50_ns: p50,
            within_ns: (from.saturating_sub(start), to.saturating_sub(start)),
            unread: unread as u64,
        })
    };
    answers.iter().filter_map(one).max_by_key(|w| w.n)
}
