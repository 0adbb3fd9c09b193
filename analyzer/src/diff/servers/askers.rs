//! Who asks a server, and which answers wait for it: programs that serve themselves (a front, an application), or others, which are users of their own.
//!
//! In: requests of clients' sockets, turnarounds of servers', TCP payload sent, lists of tasks. Out: figures by server. A request is waited for by the answer of its process that was read last before it, and whose last byte
//! was sent after it was answered. A process serves where it answers one request at least for each twenty that it sends to all servers, all of them in turns: what one does besides (a worker that also answers a probe, streams) nobody tells.
//! Nothing where there is no list of tasks, or servers have the names of their ports.
//!
//! ```text
//! user ── request ──▶ front ───────────────────────── answer ──▶     a turn: read, ..., last send before the next read
//!                       └── request ──▶ store ── answer ──▶┘         awaited: within it
//! ```

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};

use super::answers::server;
use crate::analyses::application::{Role, Socket, sockets};
use crate::diff::sides::options::Recording;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::transmit::tables::TxKind;

/// Requests that a side must have.
const LEAST: usize = 30;
/// Part of the requests that must come from programs that serve: what others ask, they wait for.
const FROM_SERVERS: f64 = 0.95;
/// Part of the requests that answers may wait for, and nobody does: they lie within one by chance.
const BY_CHANCE: f64 = 0.05;
/// So many requests to all servers for each that a program answers, at most.
const PER_ANSWER: usize = 20;
/// What is sent after so long a silence, ns, is no part of the answer before (a farewell of TLS, a ping).
const SILENT_NS: i64 = 5_000_000_000;
/// Requests under way at once in a process that are looked through.
const UNDER_WAY: usize = 1_000;

/// Who asks a server, on one side.
#[derive(Debug, Default)]
pub(in crate::diff) struct Asked {
    pub requests: usize,
    /// By programs that serve.
    pub by_servers: usize,
    /// Of these: such that an answer waited for, and such of which that is not known.
    pub awaited: usize,
    pub unknown: usize,
    /// How long answers took that waited for them, ns, by the server that gave them.
    pub waited: BTreeMap<String, Vec<i64>>,
    /// Servers whose programs ask.
    pub programs_of: BTreeSet<String>,
}

impl Asked {
    pub fn is_from_servers(&self) -> bool {
        self.requests >= LEAST && self.by_servers as f64 >= FROM_SERVERS * self.requests as f64
    }
    fn share(&self, of: usize) -> f64 {
        of as f64 / self.by_servers.max(1) as f64
    }
    /// The part that answers waited for.
    pub fn awaited_share(&self) -> f64 {
        self.share(self.awaited)
    }
    /// No answer waits for it, but by chance.
    pub fn is_awaited(&self) -> bool {
        self.share(self.awaited.saturating_add(self.unknown)) > BY_CHANCE
    }
    pub fn is_known(&self) -> bool {
        self.share(self.unknown) <= BY_CHANCE
    }
}

/// A request that was read, and answered to the last byte.
#[derive(Clone, Copy)]
struct Turn<'n> {
    start_ns: i64,
    read_ns: i64,
    end_ns: i64,
    server: &'n str,
}

/// A process that answers requests.
#[derive(Default)]
struct Serving<'n> {
    turns: Vec<Turn<'n>>,
    /// Others than requests in turns go over its sockets, too.
    unclear: bool,
    longest_ns: i64,
}

/// What came of the search for who waits.
enum Waiting {
    Nobody,
    Turn(usize),
    NotKnown,
}

impl Serving<'_> {
    fn waiting(&self, to: &str, send_ns: i64, answered_ns: i64) -> Waiting {
        let read = self.turns.partition_point(|t| t.read_ns <= send_ns);
        let before = self.turns.iter().enumerate().take(read).rev();
        for (looked, (at, t)) in before.enumerate() {
            if send_ns.saturating_sub(t.read_ns) > self.longest_ns {
                break;
            }
            if looked >= UNDER_WAY {
                return Waiting::NotKnown;
            }
            if t.end_ns >= answered_ns && t.server != to {
                return Waiting::Turn(at);
            }
        }
        Waiting::Nobody
    }
}

/// When payload was sent on connections of servers, ascending.
fn sends(facts: &Facts, of: &FxHashSet<ConnectionId>) -> FxHashMap<ConnectionId, Vec<i64>> {
    let mut out: FxHashMap<ConnectionId, Vec<i64>> = FxHashMap::default();
    for t in facts.tx.iter().filter(|t| t.kind == TxKind::Tcp) {
        if let Some(c) = t.connection.filter(|c| of.contains(c)) {
            out.entry(c).or_default().push(t.start_ns);
        }
    }
    out.values_mut().for_each(|of| of.sort_unstable());
    out
}

/// Requests of a socket that were answered to their last byte, each with its threads: what is sent long after the rest is no part of an answer.
fn turns<'n>(s: &Socket<'_>, sent: &[i64], server: &'n str) -> Vec<(Turn<'n>, [i32; 2])> {
    let rows: Vec<_> = s.judged_turnarounds().collect();
    let next = rows.iter().skip(1).map(|t| t.read_ns).chain([i64::MAX]);
    let one = |(t, next): (&&TurnaroundRow, i64)| {
        let from = sent.partition_point(|ns| *ns < t.send_ns);
        let mut end_ns = t.send_ns;
        for ns in sent.iter().skip(from).take_while(|ns| **ns < next) {
            if ns.saturating_sub(end_ns) > SILENT_NS {
                break;
            }
            end_ns = *ns;
        }
        let turn = Turn {
            start_ns: t.start_ns(),
            read_ns: t.read_ns,
            end_ns,
            server,
        };
        (turn, [t.pid, t.sender_pid])
    };
    rows.iter().zip(next).map(one).collect()
}

fn add(r: &Recording<'_>, out: &mut BTreeMap<String, Asked>) {
    let here = r.connections();
    let all = sockets(r.facts);
    let named: Vec<_> = all
        .iter()
        .filter_map(|s| Some((s, server(r, s.connection, s.role)?)))
        .collect();
    let served = || named.iter().filter(|(s, _)| s.role == Role::Server);
    let sends = sends(r.facts, &served().map(|(s, _)| s.connection).collect());
    let mut serving: FxHashMap<i32, Serving<'_>> = FxHashMap::default();
    for (s, name) in served() {
        // Threads that began and ended meanwhile are in no list; who listens is.
        let row = r.facts.connections.get(s.connection.0 as usize);
        let listens = row.and_then(|row| r.facts.listened_by.get(&row.sport)).copied();
        let sent = sends.get(&s.connection).map_or(&[][..], Vec::as_slice);
        if !s.in_turns {
            let threads = s.turnarounds.iter().flat_map(|t| [t.pid, t.sender_pid]);
            for process in threads.map(|tid| r.facts.process(tid)).chain(listens) {
                serving.entry(process).or_default().unclear = true;
            }
            continue;
        }
        for (turn, threads) in turns(s, sent, name) {
            let threads = threads.map(|tid| r.facts.process(tid));
            for process in threads.into_iter().chain(listens).collect::<BTreeSet<i32>>() {
                serving.entry(process).or_default().turns.push(turn);
            }
        }
    }
    for of in serving.values_mut() {
        of.turns.sort_by_key(|t| t.read_ns);
        let long = of.turns.iter().map(|t| t.end_ns.saturating_sub(t.read_ns));
        of.longest_ns = long.max().unwrap_or(0);
    }
    let takes = |s: &Socket<'_>| s.in_turns && here.as_ref().is_none_or(|h| h.contains(&s.connection));
    let clients = named.iter().filter(|(s, _)| s.role == Role::Client && takes(s));
    // Requests of each process to each server: when they were sent, and answered.
    let mut requests: BTreeMap<(i32, &str), Vec<(i64, i64)>> = BTreeMap::new();
    for (s, name) in clients {
        for (ns, row) in s.judged_responses().filter(|(_, row)| r.has(row.send_ns)) {
            let of = requests.entry((r.facts.process(row.pid), name)).or_default();
            of.push((row.send_ns, row.send_ns.saturating_add(ns)));
        }
    }
    let mut asks: FxHashMap<i32, usize> = FxHashMap::default();
    for ((process, _), rows) in &requests {
        *asks.entry(*process).or_default() += rows.len();
    }
    for ((process, name), rows) in requests {
        let asks = asks.get(&process).copied().unwrap_or(0);
        let of = out.entry(name.to_owned()).or_default();
        of.requests = of.requests.saturating_add(rows.len());
        let by = serving.get(&process).filter(|by| !by.unclear);
        let Some(by) = by.filter(|by| by.turns.len().saturating_mul(PER_ANSWER) >= asks) else {
            continue;
        };
        of.by_servers = of.by_servers.saturating_add(rows.len());
        of.programs_of.extend(
            by.turns
                .iter()
                .map(|t| t.server)
                .collect::<BTreeSet<_>>()
                .into_iter()
                .map(str::to_owned),
        );
        let mut turns: FxHashSet<usize> = FxHashSet::default();
        for (send_ns, answered_ns) in rows {
            match by.waiting(name, send_ns, answered_ns) {
                Waiting::Nobody => {}
                Waiting::NotKnown => of.unknown = of.unknown.saturating_add(1),
                Waiting::Turn(at) => {
                    of.awaited = of.awaited.saturating_add(1);
                    turns.insert(at);
                }
            }
        }
        for t in turns.iter().filter_map(|at| by.turns.get(*at)) {
            let took = t.end_ns.saturating_sub(t.start_ns);
            of.waited.entry(t.server.to_owned()).or_default().push(took);
        }
    }
}

/// By server; `None`: nothing tells.
pub(in crate::diff) fn of(all: &[Recording<'_>]) -> Option<BTreeMap<String, Asked>> {
    let told = |r: &Recording<'_>| !r.facts.processes.is_empty() && !r.by_port;
    all.iter().all(told).then(|| {
        let mut out = BTreeMap::new();
        all.iter().for_each(|r| add(r, &mut out));
        out
    })
}
