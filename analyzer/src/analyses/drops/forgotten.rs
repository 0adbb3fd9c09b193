//! Connections that a stateful firewall has forgotten: what it drops is the first that passes on them after a long silence. In this host its drops tell; of
//! one on the way, that nothing sent then was acknowledged (`application::Unanswered`).
//!
//! Needs `drops` (nftables rules or iptables, TCP data), `tx`, `rx`, `connections`, `tcp_states`, the first list of sockets. Said where each connection with drops had been silent for longer
//! (by a quarter; where five connections and five with long silences tell, by a hundredth and 10 ms) than any to the same place on which something then went on: by that alone it is inferred. Must not take for one: a rule that drops one in so many,
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
use super::reasons::RULES;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::tcp::states::ESTABLISHED;
use crate::reconstruct::transmit::tables::TxStart;
use crate::reconstruct::whose::Carries;

/// Fewest connections.
const FEWEST: usize = 3;
/// Shortest silence, ns.
const LEAST_NS: i64 = 1_000_000_000;
/// From a send to the drop of what it made, ns: it may be on its way for a while; and of what did not pass: it is sent again after this at the soonest.
const AT_ONCE_NS: i64 = 10_000_000;
const FIRST_RTO_NS: i64 = 200_000_000;

/// So many connections with long silences on either side: that those with drops are all the longer ones is a chance of 1 in 252, were they drawn alike (twice as many with drops and three others: 1 in 286). Clients that slow down
/// together make them longer by time alone, so that some must have passed behind the first drop, too; and timers vary by so much.
const SHARP: usize = 5;
const BEHIND: usize = 2;
const VARIES: (i64, i64) = (100, 10_000_000);

/// How uncertain the times of the first list are: so much shorter a silence before a drop may be, and longer one after which something passed, ns.
const LISTED_NS: i64 = 500_000_000;

/// The event that says when a connection was opened.
const STATES: &str = "sock:inet_sock_set_state";

/// Something sent or come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    at_ns: i64,
    /// It is known to have passed.
    passed: bool,
    /// It was seen to begin.
    begun: bool,
}

/// Silence and drops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Forgotten {
    /// Connections with drops, or with what was not acknowledged, of which the silence before is known.
    pub connections: u64,
    /// The shortest silence on one of them before its first drop: from what was sent or came before (also before the recording, where a list of sockets tells), or from
    /// its opening; where it is older than the recording, was silent from its start, and is in no list, from there on.
    pub silent_least_ns: i64,
    /// The longest silence after which something passed on a connection to the same place.
    pub passed_most_ns: i64,
}

/// Of a group of drops.
pub(super) fn forgotten(facts: &Facts, group: &Group, rows: &[&DropRow]) -> Option<Forgotten> {
    if group.reason != RULES || !facts.gaps.is_empty() {
        return None;
    }
    // First drop of each. Of some it is less certain whose they were: these do not count, but must not speak against it.
    let mut first: FxHashMap<ConnectionId, i64> = FxHashMap::default();
    let mut sure: FxHashSet<ConnectionId> = FxHashSet::default();
    // Ends of connections tell no more than their data did.
    let fin = |r: &&&DropRow| r.owner.is_some_and(|o| o.carries == Carries::Fin);
    for r in rows.iter().filter(|r| !fin(r)) {
        let owner = r.owner.filter(|o| o.carries == Carries::Data)?;
        let c = owner.connection?;
        if owner.confidence.is_solid() {
            sure.insert(c);
        }
        let at = first.entry(c).or_insert(r.time_ns);
        *at = r.time_ns.min(*at);
    }
    silences(facts, &first, |c| sure.contains(&c))
}

/// Of connections by when what did not get through was first sent.
pub(crate) fn after_silence(facts: &Facts, first: &FxHashMap<ConnectionId, i64>) -> Option<Forgotten> {
    silences(facts, first, |_| true)
}

/// The same, of which those that are not `sure` do not count.
fn silences(
    facts: &Facts,
    first: &FxHashMap<ConnectionId, i64>,
    sure: impl Fn(ConnectionId) -> bool,
) -> Option<Forgotten> {
    if first.len() < FEWEST {
        return None;
    }
    let to = |c: ConnectionId| -> Option<(IpAddr, u16)> {
        let row = facts.connections.get(c.0 as usize)?;
        Some((row.daddr?, row.dport))
    };
    let places: FxHashSet<(IpAddr, u16)> = first.keys().filter_map(|c| to(*c)).collect();
    // What was sent and came on each connection to these places, and whether it is known to have passed.
    let mut seen: FxHashMap<ConnectionId, Vec<Seen>> = (facts.connections.iter())
        .filter(|r| to(r.connection).is_some_and(|p| places.contains(&p)))
        .map(|r| (r.connection, vec![]))
        .collect();
    for t in &facts.tx {
        if let Some(of) = t.connection.and_then(|c| seen.get_mut(&c)) {
            of.push(Seen {
                at_ns: t.start_ns,
                passed: t.t_ack_ns.is_some() && t.retransmits == 0,
                begun: t.start == TxStart::Sendmsg,
            });
        }
    }
    for r in &facts.rx {
        if let Some(of) = r.connection.and_then(|c| seen.get_mut(&c)) {
            of.push(Seen {
                at_ns: r.start_ns,
                passed: true,
                begun: true,
            });
        }
    }
    let opened = opened(facts, &seen);
    // Of one whose opening is not known the start of the recording tells nothing.
    let start = facts
        .capture
        .recorded(STATES)
        .then_some(facts.capture.start_ns)
        .flatten();
    // With whether they began before the recording: then they are as long at least; and whether they count.
    let mut silences: Vec<(i64, bool, bool)> = vec![];
    let (mut passed, mut passed_later, mut long, mut behind) = (None, None, 0usize, 0usize);
    let first_drop = first.values().copied().min().unwrap_or(i64::MAX);
    for (c, of) in &mut seen {
        of.sort_unstable();
        let drop = first.get(c).copied();
        let until = of.partition_point(|s| drop.is_none_or(|at| s.at_ns <= at));
        let before = of.get(..until).unwrap_or_default();
        let before = match (drop, before.split_last()) {
            // What was dropped is the last of them.
            (Some(at), Some((last, rest)))
                if at.saturating_sub(last.at_ns) <= if last.passed { AT_ONCE_NS } else { FIRST_RTO_NS } =>
            {
                let listed = facts.quiet.get(c).map(|at| at.saturating_add(LISTED_NS));
                let before = rest.last().map(|s| s.at_ns).max(opened.get(c).copied()).or(listed);
                // What was sent again may have been sent before the recording began.
                let quiet = before.or(start.filter(|_| last.begun));
                silences.extend(quiet.map(|q| (last.at_ns.saturating_sub(q), before.is_none(), sure(*c))));
                rest
            }
            // What was dropped first was sent before the recording began: sent again.
            (Some(_), None) => continue,
            (Some(_), Some(_)) => return None,
            (None, _) => before,
        };
        let gaps = before.windows(2).filter_map(|w| match w {
            [a, b] if b.passed => Some((b.at_ns.checked_sub(a.at_ns)?, b.at_ns)),
            _ => None,
        });
        // Each connection once: the silences of one are of one timer.
        let (mut own, mut late) = (false, false);
        for (gap, at) in gaps {
            passed = passed.max(Some(gap));
            own |= gap >= LEAST_NS;
            late |= gap >= LEAST_NS && at > first_drop;
        }
        (long, behind) = (long + usize::from(own), behind + usize::from(late));
        // One that was silent since before the recording, longer than is known, and then something passed.
        let since = before
            .first()
            .filter(|f| f.passed && f.begun && !opened.contains_key(c));
        let listed = facts.quiet.get(c).map(|at| at.saturating_sub(LISTED_NS));
        let since = since
            .zip(listed.or(start))
            .map(|(f, last)| f.at_ns.saturating_sub(last));
        passed_later = passed_later.max(since);
    }
    let passed: i64 = passed?;
    // Gaps of one timer are alike but for some us.
    let longest = passed_later.map_or(passed, |ns| ns.max(passed));
    let clear = longest.saturating_add(longest / 4).saturating_add(1);
    let sharp = longest.saturating_add((longest / VARIES.0).max(VARIES.1));
    let beyond = silences.iter().filter(|s| s.2 && s.0 >= sharp).count();
    let many = beyond >= SHARP && long >= SHARP || beyond >= SHARP * 2 && long >= FEWEST;
    let least = match many && behind >= BEHIND {
        true => sharp,
        false => clear,
    };
    let least = least.max(LEAST_NS);
    // Of one that began before the recording, and would have to be longer, it is not known whether it was.
    silences.retain(|(ns, older, _)| *ns >= least || !older);
    let silent = silences.iter().map(|s| s.0).min()?;
    let count = silences.iter().filter(|s| s.2).count();
    (count >= FEWEST && silent >= least).then_some(Forgotten {
        connections: count as u64,
        silent_least_ns: silent,
        passed_most_ns: longest,
    })
}

/// When those of them that were opened in the recording stood.
fn opened(facts: &Facts, of: &FxHashMap<ConnectionId, Vec<Seen>>) -> FxHashMap<ConnectionId, i64> {
    let stood = facts.tcp_states.iter();
    let stood = stood.filter(|s| s.kind == "sock" && s.state == ESTABLISHED && of.contains_key(&s.connection));
    stood.map(|s| (s.connection, s.time_ns)).collect()
}
