//! Many hosts that send to one at once, in whose queue all of that has no room (incast): it overflows in moments, however little it carries on average.
//!
//! Needs `drops` with their sockets, `connections`, `xmits`. Must not be said of a queue that is busy most of the time, nor of a few senders: these would slow down.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::Group;
use super::reasons::QUEUE_FULL;
use crate::facts::Facts;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::whose::Carries;
use crate::stat::nearest_rank;

/// Drops further apart are of different bursts, ns.
const APART_NS: i64 = 10_000_000;
/// Fewest bursts, and fewest hosts that lost something in most of them.
const BURSTS: usize = 5;
const SENDERS: i64 = 4;
/// Part of the drops that must be for one host, and the part of the time that bursts may take in all.
const NEARLY: f64 = 0.9;
const MOMENTS: f64 = 0.3;
/// Fewest packets that left in such a moment, on average.
const EACH: usize = 10;
/// What leaves on average, of what does in bursts: more is no idle queue.
const IDLE: f64 = 0.5;

/// Who sends at once to whom.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Incast {
    /// The host that they send to.
    pub to: String,
    /// Moments in which packets were dropped.
    pub bursts: u64,
    /// Hosts that lost packets in one of them, median.
    pub senders: u64,
    /// Hosts that lost any.
    pub of: u64,
    /// How long such a moment is, median.
    pub lasted_ns: i64,
    /// What left by the device on average, bit/s.
    pub average_bit_s: f64,
    /// What left by it in those moments, bit/s.
    pub burst_bit_s: f64,
}

/// Of a group of drops.
pub(super) fn incast(facts: &Facts, group: &Group, rows: &[&DropRow]) -> Option<Incast> {
    if group.reason != QUEUE_FULL || !facts.gaps.is_empty() {
        return None;
    }
    let mut by: BTreeMap<IpAddr, Vec<(i64, IpAddr)>> = BTreeMap::new();
    for d in rows {
        let owner = d.owner.filter(|o| o.carries == Carries::Data);
        let row = owner.and_then(|o| facts.connections.get(o.connection?.0 as usize));
        if let Some((to, from)) = row.and_then(|r| Some((r.daddr?.to_canonical(), r.saddr?.to_canonical()))) {
            by.entry(to).or_default().push((d.time_ns, from));
        }
    }
    let (to, mut lost) = by.into_iter().max_by_key(|(_, lost)| lost.len())?;
    if (lost.len() as f64) < NEARLY * rows.len() as f64 {
        return None;
    }
    lost.sort_unstable();
    let bursts: Vec<&[(i64, IpAddr)]> = lost.chunk_by(|a, b| b.0.saturating_sub(a.0) < APART_NS).collect();
    let hosts = |of: &[(i64, IpAddr)]| of.iter().map(|l| l.1).collect::<BTreeSet<_>>().len();
    let lasted = |of: &[(i64, IpAddr)]| of.last().zip(of.first()).map_or(0, |(last, first)| last.0 - first.0);
    let mut senders: Vec<i64> = bursts.iter().map(|b| hosts(b) as i64).collect();
    let mut lengths: Vec<i64> = bursts.iter().map(|b| lasted(b)).collect();
    let all: i64 = lengths.iter().sum();
    let duration = facts.capture.duration_ns.max(1);
    let senders = nearest_rank(&mut senders, 50)?;
    if bursts.len() < BURSTS || senders < SENDERS || all as f64 > MOMENTS * duration as f64 {
        return None;
    }
    let (mut bytes, mut within, mut sent) = (0u64, 0u64, 0usize);
    for p in facts.xmits.iter().filter(|p| p.dev.text() == group.dev) {
        let Some((at, n)) = p.started_ns.zip(p.bytes) else {
            continue;
        };
        bytes = bytes.saturating_add(n.into());
        let before = bursts.partition_point(|b| b.first().is_some_and(|l| l.0 <= at));
        let of = before.checked_sub(1).and_then(|n| bursts.get(n)?.last());
        if of.is_some_and(|l| at <= l.0) {
            (within, sent) = (within.saturating_add(n.into()), sent + 1);
        }
    }
    let rate = |bytes: u64, ns: i64| bytes as f64 * 8.0 * 1e9 / ns.max(1) as f64;
    let (average_bit_s, burst_bit_s) = (rate(bytes, duration), rate(within, all));
    // Of a moment in which hardly anything left there is no rate.
    if sent < EACH * bursts.len() || average_bit_s > IDLE * burst_bit_s {
        return None;
    }
    Some(Incast {
        to: to.to_string(),
        bursts: bursts.len() as u64,
        senders: senders.unsigned_abs(),
        of: hosts(&lost) as u64,
        lasted_ns: nearest_rank(&mut lengths, 50)?,
        average_bit_s,
        burst_bit_s,
    })
}
