//! Drops by a rule of a transfer that was under way before the recording, gets on as fast in each part of it, and goes on behind it: a policer whose rate it finds. It may be slow for that; nothing happened to it here.
//!
//! Needs `drops` with their sockets, `tx`, `connections`, `tcp_states`, `responses`; no lost events. Must not be said of a connection on which anybody waits for an answer, that began or ended in the recording, or that got on
//! half as fast in one part of it as in another.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::group::Group;
use super::reasons::RULES;
use crate::analyses::lives::lives;
use crate::analyses::tcp::label;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::whose::Carries;

/// Parts of the recording in each of which it gets on.
const PARTS: usize = 4;
/// In none of them more than so many times as much as in another.
const EVEN: u64 = 2;
/// What comes back is less than one part in so many of what it sends.
const BACK: u64 = 100;

/// Such transfers.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Steady {
    /// Packets of the group that are theirs.
    pub count: u64,
    /// The one that lost most, `saddr:sport > daddr:dport`.
    pub most: String,
    /// Others.
    pub others: u64,
}

/// Connections on which somebody waited for an answer.
fn asked(facts: &Facts) -> FxHashSet<ConnectionId> {
    facts.responses.iter().map(|r| r.connection).collect()
}

/// Of a group's rows.
pub(super) fn steady(facts: &Facts, group: &Group, rows: &[&DropRow]) -> Option<Steady> {
    if group.reason != RULES || !facts.gaps.is_empty() {
        return None;
    }
    let mut by: BTreeMap<ConnectionId, u64> = BTreeMap::new();
    for d in rows {
        let data = d.owner.filter(|o| o.carries == Carries::Data);
        if let Some(c) = data.and_then(|o| o.connection) {
            *by.entry(c).or_default() += 1;
        }
    }
    if by.is_empty() {
        return None;
    }
    let (start, length) = (facts.capture.start_ns?, facts.capture.duration_ns.max(1));
    let part = |t: i64| {
        let nth = t.saturating_sub(start).saturating_mul(PARTS as i64) / length;
        usize::try_from(nth).unwrap_or(0).min(PARTS - 1)
    };
    let (lives, asked) = (lives(facts), asked(facts));
    // It gets on meanwhile: what it sent is acknowledged in each part.
    let mut acked: BTreeMap<ConnectionId, [u64; PARTS]> = by.keys().map(|c| (*c, [0; PARTS])).collect();
    for t in &facts.tx {
        let of = t.connection.and_then(|c| acked.get_mut(&c)).zip(t.t_ack_ns);
        if let Some(sum) = of.and_then(|(of, at)| of.get_mut(part(at))) {
            *sum = sum.saturating_add(t.bytes.unwrap_or(0).into());
        }
    }
    let gets_on = |c: &ConnectionId| {
        let of = acked.get(c).copied().unwrap_or_default();
        let (least, most) = (of.iter().min().copied(), of.iter().max().copied());
        least
            .zip(most)
            .is_some_and(|(least, most)| least > 0 && most <= least.saturating_mul(EVEN))
    };
    by.retain(|c, _| {
        let Some(row) = facts.connections.get(c.0 as usize) else {
            return false;
        };
        let ends = [Some(*c), row.peer];
        let stands = ends.into_iter().flatten().all(|c| {
            let life = lives.get(&c).copied().unwrap_or_default();
            life.stood.is_none() && life.ended.is_none()
        });
        let one_way = row.bytes_out > 0 && row.bytes_in.saturating_mul(BACK) <= row.bytes_out;
        let asked = ends.into_iter().flatten().any(|c| asked.contains(&c));
        stands && row.born.is_none() && one_way && gets_on(c) && !asked
    });
    let (most, _) = by.iter().max_by_key(|(_, n)| **n)?;
    Some(Steady {
        count: by.values().sum(),
        most: facts.connections.get(most.0 as usize).map_or_else(String::new, label),
        others: by.len() as u64 - 1,
    })
}
