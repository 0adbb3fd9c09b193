//! Connections that a stateful firewall has forgotten: what it drops is the first that passes on them after a long silence.
//!
//! Needs `drops` (rules of nftables or iptables, TCP data), `tx`, `rx`, `connections`. Said where each connection with drops had been silent for longer
//! than any to the same place on which something then went on: by that alone it is inferred. Must not take for one: a rule that drops one in so many,
//! or an address, where busy connections are hit, too.
//!
//! ```text
//! a connection      data | ........ silent_least_ns or longer ........ | data: dropped, sent again: dropped ...
//! others            data | .. silent, passed_most_ns at most .. | data: acknowledged
//! ```
//! Source: net/netfilter/nf_conntrack_proto_tcp.c (`nf_conntrack_tcp_timeout_established`, `tcp_loose`).

use std::net::IpAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Group;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::whose::Carries;

/// Reasons of rules.
const RULES: &str = "NETFILTER_DROP";
/// Fewest connections.
const FEWEST: usize = 3;
/// Shortest silence, ns.
const LEAST_NS: i64 = 1_000_000_000;
/// From a send to the drop of what it made, ns.
const AT_ONCE_NS: i64 = 10_000_000;

/// Silence and drops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Forgotten {
    /// Connections with drops.
    pub connections: u64,
    /// The shortest silence on one of them before its first drop; where it was silent from the start of the recording, from there on.
    pub silent_least_ns: i64,
    /// The longest silence after which something passed on a connection to the same place.
    pub passed_most_ns: i64,
}

/// Of a group of drops.
pub(super) fn forgotten(facts: &Facts, group: &Group, rows: &[&DropRow]) -> Option<Forgotten> {
    if group.reason != RULES || !facts.gaps.is_empty() {
        return None;
    }
    // First drop of each. What was sent again at the end is less certain: such a one alone tells nothing.
    let mut first: FxHashMap<ConnectionId, i64> = FxHashMap::default();
    let mut unsure: FxHashSet<ConnectionId> = FxHashSet::default();
    for r in rows {
        let owner = r.owner.filter(|o| o.carries == Carries::Data)?;
        let c = owner.connection?;
        if !owner.confidence.is_solid() {
            unsure.insert(c);
            continue;
        }
        let at = first.entry(c).or_insert(r.time_ns);
        *at = r.time_ns.min(*at);
    }
    if first.len() < FEWEST || unsure.iter().any(|c| !first.contains_key(c)) {
        return None;
    }
    let to = |c: ConnectionId| -> Option<(IpAddr, u16)> {
        let row = facts.connections.get(c.0 as usize)?;
        Some((row.daddr?, row.dport))
    };
    let places: FxHashSet<(IpAddr, u16)> = first.keys().filter_map(|c| to(*c)).collect();
    // What was sent and came on each connection to these places, and whether it is known to have passed.
    let mut seen: FxHashMap<ConnectionId, Vec<(i64, bool)>> = (facts.connections.iter())
        .filter(|r| to(r.connection).is_some_and(|p| places.contains(&p)))
        .map(|r| (r.connection, vec![]))
        .collect();
    for t in &facts.tx {
        if let Some(of) = t.connection.and_then(|c| seen.get_mut(&c)) {
            of.push((t.start_ns, t.t_ack_ns.is_some() && t.retransmits == 0));
        }
    }
    for r in &facts.rx {
        if let Some(of) = r.connection.and_then(|c| seen.get_mut(&c)) {
            of.push((r.start_ns, true));
        }
    }
    let start = facts.capture.start_ns?;
    let (mut silent, mut passed) = (i64::MAX, None);
    for (c, of) in &mut seen {
        of.sort_unstable();
        let drop = first.get(c).copied();
        let until = of.partition_point(|s| drop.is_none_or(|at| s.0 <= at));
        let before = of.get(..until).unwrap_or_default();
        let before = match (drop, before.split_last()) {
            // What was dropped is the last of them.
            (Some(at), Some((last, rest))) if at.saturating_sub(last.0) <= AT_ONCE_NS => {
                let quiet = rest.last().map_or(start, |s| s.0);
                silent = silent.min(last.0.saturating_sub(quiet));
                rest
            }
            // What was dropped first was sent before the recording began: sent again.
            (Some(_), None) => continue,
            (Some(_), Some(_)) => return None,
            (None, _) => before,
        };
        let gaps = before.windows(2).filter_map(|w| match w {
            [a, b] if b.1 => b.0.checked_sub(a.0),
            _ => None,
        });
        passed = passed.max(gaps.max());
    }
    let passed = passed?;
    (silent >= LEAST_NS && silent > passed).then_some(Forgotten {
        connections: first.len() as u64,
        silent_least_ns: silent,
        passed_most_ns: passed,
    })
}
