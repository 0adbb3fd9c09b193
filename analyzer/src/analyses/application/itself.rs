//! A proxy that for some time answers by itself: it asks a server for each request, and then for none, as when it holds all its servers for dead.
//!
//! Needs the views `turnarounds`, `responses`, `tx`, `opens`. By the address of the proxy and its task. By itself is an answer between whose request's read and
//! whose send its thread read and sent nothing else, by UDP neither, and tried no connection. Told where such answers come in spells, and outside of these its threads send a
//! request, that a server answers, during nearly each, on the same connections: a cache, which answers now one and then another by itself, is not meant. What it answered (an error, a page of its own) no event tells.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use super::others::Calls;
use super::sockets::{Role, Socket};
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::application::tables::TurnaroundRow;
use crate::reconstruct::transmit::tables::{TxKind, TxStart};
use crate::stat::nearest_rank;

/// Fewest answers by itself that make a spell.
const IN_SPELL: usize = 10;
/// Farthest from one to the next of a spell, in distances between two answers of any kind.
const NEAR: i64 = 20;
/// Share of the answers in a spell that are by itself, and of the time that spells may last.
const HALF: f64 = 0.5;
/// Fewest answers in all spells.
const FEWEST: usize = 20;
/// Share of what it answers by itself that is in spells, and of the other requests for which it asks.
const MOSTLY: f64 = 0.95;
/// Spells kept.
const KEPT: usize = 20;

/// Answers of a proxy of its own.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ByItself {
    /// Its task.
    pub task: String,
    /// `address:port` that it was asked at.
    pub server: String,
    /// Answers that it made by itself, in these spells.
    pub n: u64,
    /// All its answers there.
    pub of: u64,
    /// Request readable to answer, of those by itself: median, ns.
    pub p50_ns: Option<i64>,
    /// When it did: from, to, ns since the start of the recording.
    pub spells: Vec<(i64, i64)>,
    /// Spells, kept and others.
    pub all: u64,
}

/// The address with most of these.
pub(super) fn by_itself(facts: &Facts, sockets: &[Socket<'_>]) -> Option<ByItself> {
    let start = facts.capture.start_ns?;
    // Whose threads ask others: proxies.
    let clients = sockets.iter().filter(|s| s.in_turns && s.role == Role::Client);
    // When each of them sent a request that was answered.
    let mut asks: FxHashMap<i32, Vec<i64>> = FxHashMap::default();
    for (_, r) in clients.flat_map(|s| s.judged_responses()) {
        asks.entry(r.pid).or_default().push(r.send_ns);
    }
    asks.values_mut().for_each(|of| of.sort_unstable());
    let asked = |t: &TurnaroundRow| {
        let of = asks.get(&t.sender_pid).map_or(&[][..], Vec::as_slice);
        of.get(of.partition_point(|at| *at <= t.read_ns))
            .is_some_and(|at| *at < t.send_ns)
    };
    let mut at: BTreeMap<(SocketAddr, Name), Vec<&TurnaroundRow>> = BTreeMap::new();
    for s in sockets.iter().filter(|s| s.in_turns && s.role == Role::Server) {
        let Some(to) = s.local(facts) else { continue };
        for t in s
            .judged_turnarounds()
            .filter(|t| t.confidence.is_solid() && asks.contains_key(&t.sender_pid))
        {
            at.entry((to, t.sender)).or_default().push(t);
        }
    }
    // Where events were lost a request to another may be.
    if at.is_empty() || !facts.gaps.is_empty() {
        return None;
    }
    // Sends without an answer, those by UDP, and attempts to connect, are in no turn.
    let kinds = [TxKind::Tcp, TxKind::Udp];
    let sent = facts
        .tx
        .iter()
        .filter(|t| kinds.contains(&t.kind) && t.start == TxStart::Sendmsg);
    let sent = sent.map(|t| (t.pid, t.start_ns));
    let began = facts.opens.iter().map(|o| (o.pid, o.start_ns));
    let calls = Calls::of(sockets).and(sent.chain(began));
    let of = |((to, task), mut of): ((SocketAddr, Name), Vec<&TurnaroundRow>)| {
        of.sort_by_key(|t| (t.read_ns, t.send_ns, t.connection));
        let alone: Vec<bool> = of.iter().map(|t| calls.at_work(t)).collect();
        let ends = |s: &[&TurnaroundRow]| Some((s.first()?.read_ns, s.last()?.read_ns));
        let long = |s: &[&TurnaroundRow]| ends(s).map_or(0, |(from, to)| to.saturating_sub(from));
        let near = (long(&of) / i64::try_from(of.len()).ok()?.max(1)).saturating_mul(NEAR);
        let by_itself: Vec<&TurnaroundRow> = of.iter().zip(&alone).filter(|(_, a)| **a).map(|(t, _)| *t).collect();
        let near = |a: &&TurnaroundRow, b: &&TurnaroundRow| b.read_ns.saturating_sub(a.read_ns) <= near;
        let spells: Vec<&[&TurnaroundRow]> = by_itself.chunk_by(near).filter(|s| s.len() >= IN_SPELL).collect();
        let n: usize = spells.iter().map(|s| s.len()).sum();
        let within = |s: &&[&TurnaroundRow]| {
            let (from, to) = ends(s)?;
            let to = of.partition_point(|t| t.read_ns <= to);
            of.get(of.partition_point(|t| t.read_ns < from)..to)
        };
        let inside: Vec<&[&TurnaroundRow]> = spells.iter().filter_map(within).collect();
        // How many, and for how many of them a server was asked.
        let sum = |of: &[&TurnaroundRow]| (of.len(), of.iter().filter(|t| asked(t)).count());
        let (all, all_asked) = sum(&of);
        let (inside, inside_asked) = inside
            .iter()
            .map(|s| sum(s))
            .fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let outside = all.saturating_sub(inside);
        let outside_asked = all_asked.saturating_sub(inside_asked);
        let time: i64 = spells.iter().map(|s| long(s)).fold(0, i64::saturating_add);
        let few = |n: usize, of: f64, least: f64| (n as f64) < least * of;
        let unlike = few(n, by_itself.len() as f64, MOSTLY)
            || few(n, inside as f64, HALF)
            || by_itself.len().saturating_sub(n) as f64 > (1.0 - MOSTLY) * outside as f64
            || few(outside_asked, outside as f64, MOSTLY)
            || time as f64 > HALF * long(&of) as f64;
        // Those who are asked for otherwise: not the requests of others, for which nobody need be asked.
        let asking: FxHashSet<ConnectionId> = of
            .iter()
            .zip(&alone)
            .filter(|(_, a)| !**a)
            .map(|(t, _)| t.connection)
            .collect();
        let theirs = spells
            .iter()
            .flat_map(|s| s.iter())
            .filter(|t| asking.contains(&t.connection))
            .count();
        if n < FEWEST || outside < FEWEST || unlike || few(theirs, n as f64, HALF) {
            return None;
        }
        let mut took: Vec<i64> = spells.iter().flat_map(|s| s.iter()).map(|t| t.total_ns()).collect();
        let kept = spells.iter().take(KEPT).filter_map(|s| ends(s));
        let kept = kept.map(|(from, to)| (from.saturating_sub(start), to.saturating_sub(start)));
        Some(ByItself {
            task: task.text().into_owned(),
            server: to.to_string(),
            n: n as u64,
            of: of.len() as u64,
            spells: kept.collect(),
            all: spells.len() as u64,
            p50_ns: nearest_rank(&mut took, 50),
        })
    };
    let found = at.into_iter().filter_map(of);
    found.max_by(|a, b| a.n.cmp(&b.n).then_with(|| b.server.cmp(&a.server)))
}
