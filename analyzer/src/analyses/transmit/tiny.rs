//! Senders whose segments carry next to nothing, one way: a write for each few bytes, without Nagle.

use rustc_hash::FxHashMap;

use crate::analyses::not_recorded;
use crate::analyses::tcp::label;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::transmit::tables::TxKind;

/// Payload of a segment that is next to nothing: less than its headers.
const TINY: u32 = 40;
/// Fewest segments, and a second, that matter.
const LEAST: (usize, f64) = (500, 200.0);
/// Share of a connection's segments that are so small.
const MOSTLY: f64 = 0.9;

/// A sender of tiny segments.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Tiny {
    /// As in the view `connections`.
    pub connection: u32,
    /// `saddr:sport > daddr:dport`.
    pub label: String,
    /// Task that sent the first of them.
    pub task: String,
    /// Segments with payload, first transmissions.
    pub segments: u64,
    /// Median payload, bytes.
    pub p50_bytes: u32,
    /// Segments a second, from first to last.
    pub per_s: f64,
}

/// The connection with most of them. Requests and answers are small too, but each waits for the other.
pub(super) fn tiny(facts: &Facts) -> Option<Tiny> {
    let mut of: FxHashMap<ConnectionId, Vec<usize>> = FxHashMap::default();
    for (at, r) in facts.tx.iter().enumerate().filter(|(_, r)| r.kind == TxKind::Tcp) {
        if let (Some(c), Some(_)) = (r.connection, r.bytes) {
            of.entry(c).or_default().push(at);
        }
    }
    // Without reads nobody knows who waits for an answer.
    if not_recorded(facts, &["skb:skb_copy_datagram_iovec"]).is_some() {
        return None;
    }
    let mut turns: FxHashMap<ConnectionId, usize> = FxHashMap::default();
    let answers = facts.responses.iter().map(|r| (r.connection, r.sends as usize));
    for (c, sends) in answers.chain(facts.turnarounds.iter().map(|r| (r.connection, 1))) {
        *turns.entry(c).or_default() += sends;
    }
    let one = |(c, places): (&ConnectionId, &Vec<usize>)| {
        let n = places.len();
        if n < LEAST.0 || turns.get(c).copied().unwrap_or(0) * 2 > n {
            return None;
        }
        let rows = || places.iter().filter_map(|at| facts.tx.get(*at));
        let mut bytes: Vec<u32> = rows().filter_map(|r| r.bytes).collect();
        bytes.sort_unstable();
        let small = bytes.partition_point(|b| *b <= TINY);
        let sent = || rows().map(|r| r.t_sched_ns);
        let ns = sent().max()?.saturating_sub(sent().min()?).max(1);
        let per_s = n as f64 / (ns as f64 / 1e9);
        (small as f64 >= MOSTLY * n as f64 && per_s >= LEAST.1).then_some(())?;
        Some(Tiny {
            connection: c.0,
            label: facts.connections.get(c.0 as usize).map(label).unwrap_or_default(),
            task: rows()
                .next()
                .map(|r| format!("{}/{}", r.task.text(), r.pid))
                .unwrap_or_default(),
            segments: n as u64,
            p50_bytes: bytes.get(n / 2).copied().unwrap_or(0),
            per_s,
        })
    };
    let all = of.iter().filter_map(one);
    all.max_by_key(|t| (t.segments, std::cmp::Reverse(t.connection)))
}
