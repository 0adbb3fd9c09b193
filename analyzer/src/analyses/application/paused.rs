//! Requests that their client sent in parts with a long pause between two of them: a second that no answer's time has in it.
//!
//! Needs `responses` (`pause_ns`, `paused_in`), `connections`, `tcp_states`. By client task and server. Pauses that are alike are a time-out of
//! the client: it waited for something that did not come (`100 Continue`), and went on without it. Must not take for one: a client that sends
//! piece by piece, whose longest pause is a small part of that; a client that thinks between its requests and sends a word without an answer
//! behind each (COM_STMT_CLOSE, WINDOW_UPDATE): it sends its first request at once. So those count that lie on connections opened in the
//! recording whose first request was sent with a pause, too; of older ones nothing is told.
//!
//! ```text
//! connect | send of the head ........ asleep in poll, nothing comes ........ | send of the body | answer
//!                            |<----------------- pause_ns ------------------>|<- response_ns ->|
//! ```

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::server;
use super::sockets::{Role, RoleBy, Socket};
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::application::tables::ResponseRow;
use crate::stat::{Distribution, nearest_rank};

/// Shortest pause, ns.
pub const LEAST_NS: i64 = 100_000_000;
/// Fewest requests of a group with one.
const FEWEST: usize = 3;
/// Pauses whose p10 and p90 are closer than this part of their median are a time-out: one in so many.
const NARROW: i64 = 10;
/// Smallest part of all requests of the group.
const SHARE: f64 = 0.05;
/// Share that makes most.
const MOSTLY: f64 = 0.5;
/// Groups kept: those with most time.
const GROUPS: usize = 20;

/// Requests of a program to a server that it sent in parts.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Paused {
    /// Task that asked.
    pub task: String,
    /// `address:port`, as its clients call it.
    pub server: String,
    /// Requests with a pause of [`LEAST_NS`] or longer.
    pub requests: u64,
    /// All requests of this group.
    pub of: u64,
    /// The longest pause in each of them.
    pub pause: Distribution,
    /// The pauses are alike: a time-out of the client.
    pub timeout: bool,
    /// The call in which most of them slept; empty: not in one, or not known.
    pub asleep_in: String,
    /// From the last part to the first byte of the answer.
    pub response: Distribution,
    /// When the first of them began to pause, at the earliest, ns since the start of the recording.
    pub first_ns: i64,
}

/// Whether a client paused in this request, once: one that sends piece by piece, as what it sends comes to be, does not.
pub(crate) fn paused(r: &ResponseRow) -> bool {
    r.pause_ns >= LEAST_NS && r.pause_ns as f64 > MOSTLY * r.sending_ns as f64 && r.confidence.is_solid()
}

/// Whether pauses between sends on this client's connection are pauses within requests: its first one has one.
pub(crate) fn tells(s: &Socket<'_>) -> bool {
    let opened = (s.role, s.role_by) == (Role::Client, RoleBy::Handshake);
    s.in_turns && opened && s.responses.first().is_some_and(paused)
}

/// All requests, and those with a pause.
type Group<'f> = (u64, Vec<&'f ResponseRow>);

/// All of them, most time first.
pub(super) fn all(facts: &Facts, sockets: &[Socket<'_>]) -> Vec<Paused> {
    let mut groups: BTreeMap<(Name, String), Group<'_>> = BTreeMap::new();
    for s in sockets.iter().filter(|s| tells(s)) {
        for (_, r) in s.judged_responses().filter(|(_, r)| paused(r)) {
            let of = groups.entry((r.task, server(facts, s.connection))).or_default();
            of.1.push(r);
        }
    }
    if groups.is_empty() {
        return vec![];
    }
    let clients = sockets.iter().filter(|s| s.in_turns && s.role == Role::Client);
    for s in clients {
        let name = server(facts, s.connection);
        for (_, r) in s.judged_responses() {
            if let Some(of) = groups.get_mut(&(r.task, name.clone())) {
                of.0 += 1;
            }
        }
    }
    let mut found: Vec<Paused> = groups
        .into_iter()
        .filter_map(|((task, server), (of, rows))| judged(facts, (task, server), of, &rows))
        .collect();
    found.sort_by(|a, b| (b.pause.sum_ns, &a.task, &a.server).cmp(&(a.pause.sum_ns, &b.task, &b.server)));
    found.truncate(GROUPS);
    found
}

fn judged(facts: &Facts, (task, server): (Name, String), of: u64, rows: &[&ResponseRow]) -> Option<Paused> {
    if rows.len() < FEWEST || (rows.len() as f64) < SHARE * of as f64 {
        return None;
    }
    let mut pauses: Vec<i64> = rows.iter().map(|r| r.pause_ns).collect();
    let pause = Distribution::of(pauses.clone(), 0);
    let spread = pause.p90_ns?.saturating_sub(nearest_rank(&mut pauses, 10)?);
    let timeout = spread <= pause.p50_ns? / NARROW;
    let mut calls: FxHashMap<Name, usize> = FxHashMap::default();
    for r in rows {
        *calls.entry(r.paused_in).or_default() += 1;
    }
    let most = calls
        .into_iter()
        .max_by_key(|(call, n)| (*n, std::cmp::Reverse(*call)))?;
    let call = Some(most.0).filter(|_| most.1 as f64 > MOSTLY * rows.len() as f64);
    let start = facts.capture.start_ns.unwrap_or(0);
    let first = rows.iter().map(|r| r.send_ns.saturating_sub(r.pause_ns)).min()?;
    Some(Paused {
        task: task.text().into_owned(),
        server,
        requests: rows.len() as u64,
        of,
        pause,
        timeout,
        asleep_in: call.map_or_else(String::new, |c| c.text().into_owned()),
        response: Distribution::of(rows.iter().filter_map(|r| r.response_ns()).collect(), 0),
        first_ns: first.saturating_sub(start),
    })
}
