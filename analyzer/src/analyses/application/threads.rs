//! Threads that serve several connections one after the other, and what those that ask do between an answer and their next request.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::long_work::{LongWork, long_work};
use super::others::Others;
use super::parts::{Part, Parts};
use super::sockets::{Role, Socket};
use super::spans::Spans;
use super::task;
use crate::analyses::tcp::label;
use crate::explain::{Id, Kind};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::thread::IDLE;

/// Threads kept of each kind: those with most time.
pub const THREADS: usize = 20;
/// A wait for a CPU that idled counts as held off it from here, ns: leaving idle, or moving to another CPU, is faster.
pub const HELD_OFF_NS: i64 = 1_000_000;

/// A thread that answered requests of several connections.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Serving {
    /// `task/thread` that read them.
    pub task: String,
    /// `address:port` at which they came.
    pub server: String,
    /// Connections whose requests it read, and all of that server.
    pub connections: u64,
    /// As said.
    pub of: u64,
    /// Sockets that listened at its port, all in one namespace; `None`: not known.
    pub listeners: Option<u64>,
    /// Requests.
    pub requests: u64,
    /// Their turnarounds, ns in all.
    pub turnaround_ns: i64,
    /// Of it, lying unread while the thread was between the read of a request of another connection and its answer, and had a CPU.
    pub behind_ns: i64,
    /// Whose requests most of that was behind, where these take far longer than the others.
    pub mostly: Option<LongWork>,
    /// The turnaround with most of that, of equals the first row.
    pub worst: Option<Id>,
}

/// A thread that asked.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Asker {
    /// `task/thread`.
    pub task: String,
    /// Answers that were followed by a request.
    pub turns: u64,
    /// Answer readable to next request sent, ns in all.
    pub between_ns: i64,
    /// Request sent to answer readable, ns in all.
    pub awaiting_ns: i64,
    /// Of `between_ns`: runnable, but not run for a ms or more although its CPU idled.
    pub held_off_ns: i64,
    /// What it did in `between_ns`, largest first.
    pub parts: Vec<Part>,
    /// The longest of these times, of equals the first row.
    pub worst: Option<Id>,
}

/// Servers' threads of several connections, most time in turnarounds first.
pub(super) fn serving<'f>(facts: &'f Facts, sockets: &[Socket<'f>], others: &Others) -> Vec<Serving> {
    let mut by: BTreeMap<(String, i32), Vec<&'f TurnaroundRow>> = BTreeMap::new();
    let mut of: FxHashMap<String, FxHashSet<ConnectionId>> = FxHashMap::default();
    let mut busy: FxHashMap<i32, Vec<(i64, i64)>> = FxHashMap::default();
    for s in sockets.iter().filter(|s| s.in_turns && s.role == Role::Server) {
        let label = facts
            .connections
            .get(s.connection.0 as usize)
            .map_or_else(String::new, label);
        let here = label.split(" > ").next().unwrap_or_default().to_owned();
        for r in s.judged_turnarounds() {
            by.entry((here.clone(), r.pid)).or_default().push(r);
            of.entry(here.clone()).or_default().insert(r.connection);
            if r.pid == r.sender_pid {
                busy.entry(r.pid).or_default().push((r.read_ns, r.send_ns));
            }
        }
    }
    let busy: FxHashMap<i32, Spans> = busy.into_iter().map(|(pid, s)| (pid, Spans::of(s))).collect();
    let row = |((server, pid), rows): ((String, i32), Vec<&'f TurnaroundRow>)| {
        let connections: FxHashSet<ConnectionId> = rows.iter().map(|r| r.connection).collect();
        let last = rows.iter().max_by_key(|r| r.read_ns)?;
        let sum = |ns: &dyn Fn(&TurnaroundRow) -> i64| rows.iter().map(|r| ns(r)).fold(0i64, i64::saturating_add);
        // A connection's own requests are answered before its next is readable: what is in between is others'.
        // What it waited for a CPU meanwhile is not others' work.
        let behind = |r: &TurnaroundRow| {
            let no_cpu = r.split.run_queue_ns.saturating_add(r.split.waking_ns);
            let of = busy.get(&pid).map_or(0, |b| b.within(r.start_ns(), r.read_ns));
            of.min(r.total_ns().saturating_sub(no_cpu)).max(0)
        };
        let serving = (connections.len() > 1).then(|| Serving {
            task: task(&last.task, pid),
            connections: connections.len() as u64,
            of: of.get(&server).map_or(0, FxHashSet::len) as u64,
            listeners: server
                .rsplit(':')
                .next()
                .and_then(|p| facts.listeners.get(&p.parse().ok()?).copied()),
            server,
            requests: rows.len() as u64,
            turnaround_ns: sum(&TurnaroundRow::total_ns),
            behind_ns: sum(&behind),
            mostly: None,
            worst: longest(facts, &rows, behind),
        });
        serving.map(|s| (s, pid, rows))
    };
    let mut all: Vec<(Serving, i32, Vec<&TurnaroundRow>)> = by.into_iter().filter_map(row).collect();
    all.sort_by_key(|(s, _, _)| std::cmp::Reverse(s.turnaround_ns));
    all.truncate(THREADS);
    let whose = |(mut s, pid, rows): (Serving, i32, Vec<&TurnaroundRow>)| {
        s.mostly = long_work(facts, pid, &rows, others, s.behind_ns);
        s
    };
    all.into_iter().map(whose).collect()
}

/// Clients' threads, most time between answers and requests first.
pub(super) fn askers(facts: &Facts, sockets: &[Socket<'_>]) -> Vec<Asker> {
    let mut by: BTreeMap<i32, (Vec<&TurnaroundRow>, i64)> = BTreeMap::new();
    for s in sockets.iter().filter(|s| s.in_turns && s.role == Role::Client) {
        for r in s.judged_turnarounds() {
            by.entry(r.sender_pid).or_default().0.push(r);
        }
        for (ns, r) in s.judged_responses() {
            let of = by.entry(r.pid).or_default();
            of.1 = of.1.saturating_add(ns);
        }
    }
    let asker = |(pid, (rows, awaiting_ns)): (i32, (Vec<&TurnaroundRow>, i64))| {
        let last = rows.iter().max_by_key(|r| r.send_ns)?;
        let mut parts = Parts::default();
        for r in &rows {
            parts.add(r);
        }
        Some(Asker {
            task: task(&last.sender, pid),
            turns: rows.len() as u64,
            between_ns: rows.iter().map(|r| r.total_ns()).fold(0, i64::saturating_add),
            awaiting_ns,
            held_off_ns: rows.iter().map(|r| held_off(r)).fold(0, i64::saturating_add),
            parts: parts.largest(),
            worst: longest(facts, &rows, TurnaroundRow::total_ns),
        })
    };
    let mut all: Vec<Asker> = by.into_iter().filter_map(asker).collect();
    all.sort_by_key(|a| std::cmp::Reverse(a.between_ns));
    all.truncate(THREADS);
    all
}

/// The row with most of something; of equals the first of the view.
fn longest(facts: &Facts, rows: &[&TurnaroundRow], ns: impl Fn(&TurnaroundRow) -> i64) -> Option<Id> {
    let ids = rows
        .iter()
        .map(|r| (ns(r), Id::of_row(Kind::Turnaround, &facts.turnarounds, *r)));
    ids.min_by_key(|(ns, id)| (std::cmp::Reverse(*ns), *id))?.1
}

/// Runnable on a CPU that idled, for longer than waking takes.
fn held_off(r: &TurnaroundRow) -> i64 {
    let ns = r.split.run_queue_ns;
    match ns >= HELD_OFF_NS && r.run_queue_task.text() == IDLE {
        true => ns,
        false => 0,
    }
}
