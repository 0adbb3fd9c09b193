//! What a program keeps to itself while it asks somebody else: a connection to another server, as a transaction left open during a call.
//!
//! Needs `responses`, of sockets that speak in turns. A thread asks X on a connection, then S, then X again on the same one, on which nobody asked in between: it kept that
//! connection for so long. Where so many requests to S are under way at most as there are such connections, and threads share these, who waits, waits for one of them. Must not
//! be said of threads that have a connection each: there it is a thread that is waited for.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::limits::Limit;
use super::sockets::{Role, Socket};
use super::waited::server;
use crate::facts::{ConnectionId, Facts};

/// Part of the requests to S that must be so.
const NEARLY: f64 = 0.8;
/// Fewest of them.
const LEAST: usize = 20;

/// What is kept.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Holds {
    /// The server that is asked meanwhile.
    pub asked: String,
    /// The server whose connections are kept.
    pub server: String,
    /// So many connections.
    pub connections: u64,
    /// Requests to the one in the course of which one was kept.
    pub requests: u64,
    /// Of so many.
    pub of: u64,
}

/// A request of a thread: begin, end, connection, server.
type Asked<'s> = (i64, i64, ConnectionId, &'s str);

/// For the first server of the limit of which it is so.
pub(super) fn holds(facts: &Facts, sockets: &[Socket<'_>], limit: &Limit) -> Option<Holds> {
    let names: BTreeMap<ConnectionId, String> = (sockets.iter())
        .filter(|s| s.in_turns && s.role == Role::Client)
        .map(|s| (s.connection, server(facts, s.connection)))
        .collect();
    let mut threads: FxHashMap<i32, Vec<Asked<'_>>> = FxHashMap::default();
    let mut begins: FxHashMap<ConnectionId, Vec<i64>> = FxHashMap::default();
    let mut users: FxHashMap<ConnectionId, BTreeSet<i32>> = FxHashMap::default();
    for s in sockets.iter().filter(|s| s.in_turns && s.role == Role::Client) {
        let Some(to) = names.get(&s.connection) else { continue };
        for (ns, r) in s.judged_responses().filter(|(_, r)| r.task.text() == limit.task) {
            let end = r.send_ns.saturating_add(ns);
            threads
                .entry(r.pid)
                .or_default()
                .push((r.send_ns, end, s.connection, to));
            begins.entry(s.connection).or_default().push(r.send_ns);
            users.entry(s.connection).or_default().insert(r.pid);
        }
    }
    threads.values_mut().for_each(|of| of.sort_unstable());
    begins.values_mut().for_each(|of| of.sort_unstable());
    let alone = |c: ConnectionId, from: i64, to: i64| {
        let of = begins.get(&c).map_or(&[][..], Vec::as_slice);
        of.partition_point(|ns| *ns < to) == of.partition_point(|ns| *ns <= from)
    };
    limit.servers.iter().find_map(|(asked, most)| {
        let (mut of, mut kept): (usize, BTreeMap<&str, (usize, BTreeSet<ConnectionId>)>) = (0, BTreeMap::new());
        for three in threads.values().flat_map(|of| of.windows(3)) {
            let [before, during, behind] = three else { continue };
            if during.3 != asked.as_str() {
                continue;
            }
            of += 1;
            let same = before.2 == behind.2 && before.2 != during.2 && before.3 != during.3;
            if same && before.1 <= during.0 && during.1 <= behind.0 && alone(before.2, before.0, behind.0) {
                let slot = kept.entry(before.3).or_default();
                slot.0 += 1;
                slot.1.insert(before.2);
            }
        }
        let (server, (requests, connections)) = kept.into_iter().max_by_key(|(_, (n, _))| *n)?;
        let shared = connections
            .iter()
            .filter(|c| users.get(c).is_some_and(|of| of.len() > 1))
            .count();
        let pool = shared * 2 > connections.len();
        let told =
            pool && requests >= LEAST && requests as f64 >= NEARLY * of as f64 && connections.len() as u64 == *most;
        told.then(|| Holds {
            asked: asked.clone(),
            server: server.to_owned(),
            connections: connections.len() as u64,
            requests: requests as u64,
            of: of as u64,
        })
    })
}
