//! Whose request ended what late answers waited for: a lock that a transaction holds while its client is idle.
//!
//! Needs `turnarounds` (`woken_by`), `connections`. Of answers whose threads slept until another thread of the server woke them: what that one was
//! answering then. Where it had been woken itself it handed on what it had waited for, so the one that woke it is asked. That a lock was
//! released is inferred. Must not take for one: a dispatcher that hands work to threads, which answers nobody itself; a lock that many hold for a
//! moment each, where no one connection is behind half of them. That all are woken by the request itself may also be what it brought them: a
//! message that they wait for.
//!
//! ```text
//! holder      answer | ... its client is idle (idle_ns) ... | request: read, wakes the first, answer
//! first       request | ................ asleep ........................ | answer, wakes the second
//! second              request | ......... asleep ........................ ...... | answer
//! ```

use rustc_hash::FxHashMap;

use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::stat::nearest_rank;

/// Fewest answers, and part of those of which the request is known, that one connection's requests must have ended.
const FEWEST: usize = 3;
const MOSTLY: f64 = 0.5;
/// Asleep in one call, and of that until the thread woke it, where a timer broke it off.
const ASLEEP: f64 = 0.9;
const WOKEN: f64 = 0.02;
/// From the waking to the answer of who was woken, ns.
const NEAR_NS: i64 = 20_000_000;
/// Answers of that thread that are looked at.
const LAST: usize = 8;
/// Of a wait that was handed on, steps that are followed.
const STEPS: usize = 64;

/// Who released them.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Released {
    /// Of these requests: the server's socket.
    #[serde(skip)]
    pub connection: ConnectionId,
    /// Answers that waited for it, of those looked at.
    pub n: u64,
    /// Of these, such whose wait was handed on by others that had waited: as a lock is.
    pub handed: u64,
    /// Requests that ended the waits.
    pub requests: u64,
    /// `task/thread` of the server that answered them; `2 threads, the first task/thread,` where several did.
    pub by: String,
    /// Address of the client that sent them, and its task where that is in the recording: `10.0.0.3:40000`, `psql at 10.0.0.3:40000`.
    pub client: String,
    /// From its answer before to such a request, median, ns; `None`: there was none before.
    pub idle_ns: Option<i64>,
    /// The server for whose answers that client waited in most of these times, and the share of them; `None`: it did not, or that is not recorded.
    pub meanwhile: Option<(String, f64)>,
}

/// Slept most of its time until another thread woke it.
fn waited(r: &TurnaroundRow) -> bool {
    r.woken_by_pid != 0 && r.woken_by_ns as f64 >= MOSTLY * r.total_ns() as f64 && r.total_ns() > NEAR_NS
}

struct Server<'f> {
    by_thread: FxHashMap<i32, Vec<&'f TurnaroundRow>>,
}

impl<'f> Server<'f> {
    fn of(facts: &'f Facts, port: u16) -> Server<'f> {
        let mut by_thread: FxHashMap<i32, Vec<&TurnaroundRow>> = FxHashMap::default();
        let here = |c: ConnectionId| facts.connections.get(c.0 as usize).is_some_and(|r| r.sport == port);
        for t in facts.turnarounds.iter().filter(|t| here(t.connection)) {
            by_thread.entry(t.sender_pid).or_default().push(t);
        }
        for of in by_thread.values_mut() {
            of.sort_by_key(|t| t.read_ns);
        }
        Server { by_thread }
    }

    /// Waited; or slept nearly all of its time in one call, which a timer of its own broke off before (PostgreSQL looks for deadlocks after a second), in a thread
    /// that answered nothing else meanwhile: one that serves many connections sleeps until any of them has something.
    fn waited(&self, r: &TurnaroundRow) -> bool {
        let part = |ns: i64| ns as f64 / r.total_ns().max(1) as f64;
        let broken_off = part(r.asleep_in_ns) >= ASLEEP && part(r.woken_by_ns) >= WOKEN;
        let alone = || {
            let of = self.by_thread.get(&r.sender_pid).map_or(&[][..], Vec::as_slice);
            !(of.iter()).any(|t| t.send_ns > r.start_ns() && t.send_ns < r.send_ns && t.connection != r.connection)
        };
        waited(r) || r.woken_by_pid != 0 && r.total_ns() > NEAR_NS && broken_off && alone()
    }

    /// What the thread that woke it was answering, or had just answered: one that had waited itself, where there is one.
    fn before(&self, r: &TurnaroundRow) -> Option<&'f TurnaroundRow> {
        let of = self.by_thread.get(&r.woken_by_pid)?;
        let until = of.partition_point(|t| t.read_ns <= r.send_ns);
        let near = |t: &&&TurnaroundRow| t.send_ns >= r.send_ns.saturating_sub(NEAR_NS);
        let last = || of.get(..until).unwrap_or_default().iter().rev().take(LAST).filter(near);
        // What it had waited for itself it had just got: an answer that it sends much later waited for another thing.
        let now = |t: &&&&TurnaroundRow| t.send_ns <= r.send_ns.saturating_add(NEAR_NS) && t.confidence.is_solid();
        let handed = last().filter(|t| now(&t)).find(|t| self.waited(t));
        handed.or_else(|| last().find(|t| t.read_ns >= r.start_ns())).copied()
    }

    /// The first of those that handed it on, and whether any did.
    fn root(&self, r: &TurnaroundRow) -> Option<(&'f TurnaroundRow, bool)> {
        let mut at = self.before(r)?;
        for nth in 0..STEPS {
            if !self.waited(at) {
                return (at.read_ns >= r.start_ns() && at.read_ns <= r.send_ns).then_some((at, nth > 0));
            }
            at = self.before(at)?;
        }
        None
    }
}

/// Which server a thread waited for in most of these times.
pub(super) type Asked<'a> = &'a dyn Fn(i32, &[(i64, i64)]) -> Option<(String, f64)>;

/// Of these answers.
pub(super) fn released(facts: &Facts, rows: &[&TurnaroundRow], asked: Asked<'_>) -> Option<Released> {
    let woken = rows.iter().filter(|r| r.woken_by_pid != 0).count();
    if woken < FEWEST || (woken as f64) < MOSTLY * rows.len() as f64 {
        return None;
    }
    let port = facts.connections.get(rows.first()?.connection.0 as usize)?.sport;
    let server = Server::of(facts, port);
    let waiting: Vec<&TurnaroundRow> = rows.iter().copied().filter(|r| server.waited(r)).collect();
    if waiting.len() < FEWEST || (waiting.len() as f64) < MOSTLY * rows.len() as f64 {
        return None;
    }
    let mut by: FxHashMap<ConnectionId, Vec<(&TurnaroundRow, bool)>> = FxHashMap::default();
    let mut known = 0usize;
    for r in &waiting {
        if let Some(root) = server.root(r) {
            known += 1;
            by.entry(root.0.connection).or_default().push(root);
        }
    }
    let (connection, roots) = by.into_iter().max_by_key(|(c, of)| (of.len(), std::cmp::Reverse(*c)))?;
    let n = roots.len();
    if n < FEWEST || (n as f64) < MOSTLY * known as f64 || known.saturating_mul(2) < waiting.len() {
        return None;
    }
    let handed = roots.iter().filter(|r| r.1).count() as u64;
    let mut roots: Vec<&TurnaroundRow> = roots.into_iter().map(|r| r.0).collect();
    roots.sort_by_key(|t| t.read_ns);
    roots.dedup_by_key(|t| t.read_ns);
    let first = roots.first()?;
    let mut by = super::task(&first.sender, first.sender_pid);
    let mut threads: Vec<i32> = roots.iter().map(|t| t.sender_pid).collect();
    threads.sort_unstable();
    threads.dedup();
    if let n @ 2.. = threads.len() {
        by = format!("{n} threads, the first {by},");
    }
    let own = facts.turnarounds.iter().filter(|t| t.connection == connection);
    let mut own: Vec<i64> = own.map(|t| t.send_ns).collect();
    own.sort_unstable();
    let idle = roots.iter().filter_map(|t| {
        let before = own.get(own.partition_point(|sent| *sent < t.start_ns()).checked_sub(1)?)?;
        Some((*before, t.start_ns()))
    });
    let times: Vec<(i64, i64)> = idle.collect();
    let mut idle: Vec<i64> = times.iter().map(|t| t.1.saturating_sub(t.0)).collect();
    let row = facts.connections.get(connection.0 as usize)?;
    let end = row.remote()?;
    let peer = row.peer.and_then(|p| facts.connections.get(p.0 as usize));
    let task = peer.map(|p| p.task).filter(|task| !task.is_empty());
    Some(Released {
        connection,
        n: n as u64,
        handed,
        requests: roots.len() as u64,
        by,
        client: task.map_or_else(|| end.to_string(), |task| format!("{} at {end}", task.text())),
        idle_ns: nearest_rank(&mut idle, 50),
        meanwhile: peer.filter(|p| p.pid > 0).and_then(|p| asked(p.pid, &times)),
    })
}
