//! What the answers of a server are made of: the way there and back, unread at the server, and in it from read to send (work, or waits of its own). Of answers whose turnaround
//! at the server is in the recording, too; so the three sum to the answer, and their means to its mean.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::answers::server;
use super::options::Recording;
use crate::analyses::application::{Role, sockets};
use crate::analyses::verdict::duration;
use crate::facts::ConnectionId;

/// Part of the answers whose parts must be known.
const KNOWN: f64 = 0.5;

/// Sums over the answers of a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// Answers.
    pub n: u64,
    /// Request readable until read.
    pub unread_ns: i64,
    /// Read until the answer is sent.
    pub work_ns: i64,
    /// Send to readable, both ways.
    pub way_ns: i64,
}

/// Of each server (the empty name: of all), before and after.
pub(super) fn of(before: &[Recording<'_>], after: &[Recording<'_>]) -> BTreeMap<String, [Parts; 2]> {
    let mut out: BTreeMap<String, [Parts; 2]> = BTreeMap::new();
    for (at, side) in [before, after].into_iter().enumerate() {
        for r in side {
            add(r, at, &mut out);
        }
    }
    out
}

fn add(r: &Recording<'_>, at: usize, out: &mut BTreeMap<String, [Parts; 2]>) {
    let here = r.connections();
    let all = sockets(r.facts);
    // Turnarounds by their socket and begin: unread, whole.
    let mut lay: FxHashMap<(ConnectionId, i64), (i64, i64)> = FxHashMap::default();
    for t in all.iter().flat_map(|s| s.judged_turnarounds()) {
        if let Some(ready) = t.ready_ns {
            lay.insert((t.connection, ready), (t.read_ns.wrapping_sub(ready), t.total_ns()));
        }
    }
    for s in all.iter().filter(|s| s.in_turns && s.role == Role::Client) {
        if here.as_ref().is_some_and(|h| !h.contains(&s.connection)) {
            continue;
        }
        let Some(server) = server(r.facts, s.connection, s.role) else {
            continue;
        };
        for (ns, row) in s.judged_responses() {
            let Some(peer) = row.peer.filter(|_| row.confidence.is_solid() && r.has(row.send_ns)) else {
                continue;
            };
            let key = (peer.connection, row.send_ns.wrapping_add(peer.there_ns));
            let Some((unread, whole)) = lay.get(&key).copied().filter(|l| l.1 == peer.turnaround_ns) else {
                continue;
            };
            for server in [server.as_str(), ""] {
                if let Some(p) = out.entry(server.to_owned()).or_default().get_mut(at) {
                    p.n += 1;
                    p.unread_ns = p.unread_ns.saturating_add(unread);
                    p.work_ns = p.work_ns.saturating_add(whole.wrapping_sub(unread));
                    p.way_ns = p.way_ns.saturating_add(ns.wrapping_sub(whole));
                }
            }
        }
    }
}

/// `; mostly unread at the server: mean 250.0 µs -> 41.10 ms (in the server, from read to send 20.31 ms -> 20.52 ms, the way 70.1 µs -> 71.3 µs)`;
/// `None`: too few of the answers have parts, or none moved as the whole did.
pub(super) fn said(before: (&Parts, u64), after: (&Parts, u64), longer: bool) -> Option<String> {
    let known = |(p, n): (&Parts, u64)| p.n > 0 && p.n as f64 >= KNOWN * n as f64;
    if !known(before) || !known(after) {
        return None;
    }
    let mean = |p: &Parts, ns: i64| ns / i64::try_from(p.n.max(1)).unwrap_or(i64::MAX);
    let (b, a) = (before.0, after.0);
    let mut all = [
        ("unread at the server", b.unread_ns, a.unread_ns),
        ("in the server, from read to send", b.work_ns, a.work_ns),
        ("the way there and back", b.way_ns, a.way_ns),
    ]
    .map(|(name, x, y)| (name, mean(b, x), mean(a, y)));
    let moved = |(_, x, y): &(&str, i64, i64)| if longer { y - x } else { x - y };
    all.sort_by_key(|p| std::cmp::Reverse(moved(p)));
    let [most, others @ ..] = &all;
    let text = |(name, x, y): &(&str, i64, i64)| format!("{name} {} -> {}", duration(*x), duration(*y));
    let others: Vec<String> = others.iter().map(text).collect();
    (moved(most) > 0).then(|| {
        let (name, x, y) = most;
        let (x, y) = (duration(*x), duration(*y));
        let whole: i64 = all.iter().map(moved).sum();
        let mostly = if moved(most).saturating_mul(2) >= whole {
            "mostly "
        } else {
            ""
        };
        format!("; {mostly}{name}: mean {x} -> {y} ({})", others.join(", "))
    })
}
