//! Requests that wait on connections whose peer has gone without a word, after a failover or a reboot: half-open ones.
//!
//! Needs `tcp_samples`, `tx`, `rx`, `tcp_states`, `resets`, and the requests without an answer. Told where a server's address has two ages: from some moment
//! on nothing came any more on any connection that was open then, though a request on one of them at least was sent again twice, and connections to the same address and port
//! that were opened later are answered. One that was open before the recording and is answered later proves that the peer still knows such: then nothing is said.
//! Who still waits on one of the first age then waits for what no longer knows of it: it sends nothing, so no segment of it can be refused.
//! Limit: that the peer is gone is inferred; a path that lets only later connections through looks alike. Where what they sent was dropped by this host, that is why.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use super::silence::heard;
use super::sockets::{Role, Socket};
use super::unanswered::{Unanswered, most_asked};
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::tcp::states::SYN_SENT;

/// Shortest wait, ns.
const LEAST_NS: i64 = 1_000_000_000;
/// Times that a request was sent again in vain.
const AGAIN: u64 = 2;

/// Those of one server.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct HalfOpen {
    /// `address:port`, as clients call it.
    pub server: String,
    /// Connections that still wait.
    pub connections: u64,
    /// The task that most of them are of, and how many; empty: not known.
    pub task: String,
    /// As said.
    pub of_task: u64,
    /// When something came last on any connection of their age, ns since the start of the recording.
    pub since_ns: i64,
    /// Connections that were opened later and heard something.
    pub anew: u64,
    /// Begin of the first of these, ns since the start of the recording.
    pub anew_ns: i64,
}

/// A client's connection.
struct Client {
    connection: ConnectionId,
    /// In the recording: `first_ns` is its opening.
    opened: bool,
    first_ns: i64,
    heard_ns: Option<i64>,
}

/// Those of which the last that they sent was dropped by this host.
fn dropped(facts: &Facts, of: impl Iterator<Item = u32>) -> FxHashSet<u32> {
    let mut last: FxHashMap<u32, (i64, i64)> = of.map(|c| (c, (i64::MIN, i64::MIN))).collect();
    let again = facts.retransmits.iter().map(|r| (r.connection, r.time_ns));
    for (c, at) in again.chain(facts.tx.iter().map(|t| (t.connection, t.start_ns))) {
        if let Some(of) = c.and_then(|c| last.get_mut(&c.0)) {
            of.0 = of.0.max(at);
        }
    }
    for d in facts.drops.iter().filter(|d| d.expected == Some(false)) {
        let c = d.owner.and_then(|o| o.connection);
        if let Some(of) = c.and_then(|c| last.get_mut(&c.0)) {
            of.1 = of.1.max(d.time_ns);
        }
    }
    last.retain(|_, (sent, lost)| *lost > i64::MIN && lost >= sent);
    last.into_keys().collect()
}

/// The server of which most wait.
pub(super) fn half_open(facts: &Facts, all: &[Socket<'_>], unanswered: &[Unanswered]) -> Option<HalfOpen> {
    let start = facts.capture.start_ns?;
    let waits = |u: &&Unanswered| u.until == "recording" && u.waited_ns >= LEAST_NS;
    let mut waiting: FxHashMap<u32, &Unanswered> = FxHashMap::default();
    waiting.extend(unanswered.iter().filter(waits).map(|u| (u.connection, u)));
    if waiting.is_empty() || !facts.gaps.is_empty() {
        return None;
    }
    // When something came last on each connection.
    let mut last: FxHashMap<ConnectionId, i64> = FxHashMap::default();
    for (connection, at) in heard(facts) {
        let of = last.entry(connection).or_insert(at);
        *of = at.max(*of);
    }
    let mut servers: BTreeMap<SocketAddr, Vec<Client>> = BTreeMap::new();
    for s in all.iter().filter(|s| s.role == Role::Client) {
        let Some(row) = facts.connections.get(s.connection.0 as usize) else {
            continue;
        };
        if let Some(to) = row.daddr {
            servers
                .entry(SocketAddr::new(to.to_canonical(), row.dport))
                .or_default()
                .push(Client {
                    connection: s.connection,
                    opened: row.born == Some(SYN_SENT),
                    first_ns: row.first_ns,
                    heard_ns: last.get(&s.connection).copied(),
                });
        }
    }
    // Sent again and again, and never answered, or by a RST: one that is lost, or a FIN, is no sign, and what its client gave up before anyone was
    // answered again tells nothing of who answered then.
    let reset = facts.resets.iter().filter(|r| r.received);
    // Its client may have closed it when the RST came.
    let late = facts.reset_when_closed.iter().copied();
    let reset: FxHashSet<u32> = reset.filter_map(|r| r.connection).chain(late).map(|c| c.0).collect();
    let refused = |u: &&Unanswered| u.until == "recording" || reset.contains(&u.connection);
    let tried = unanswered.iter().filter(|u| u.retransmits >= AGAIN).filter(refused);
    let tried: FxHashSet<u32> = tried.map(|u| u.connection).collect();
    let dropped = dropped(facts, waiting.keys().copied());
    let of = |(server, mut of): (SocketAddr, Vec<Client>)| {
        of.sort_by_key(|c| (c.first_ns, c.connection));
        // The first connection that is answered when none from before it is any more.
        let (mut last, mut anew, mut waits) = (None, None, false);
        for (n, c) in of.iter().enumerate() {
            if let (Some(last), Some(own), true) = (last, c.heard_ns, waits && c.opened)
                && own >= c.first_ns
                && last < c.first_ns
            {
                anew = Some((n, c.first_ns, last));
                break;
            }
            last = last.max(c.heard_ns);
            waits |= waiting.contains_key(&c.connection.0);
        }
        let (n, anew_ns, since) = anew?;
        let (old, new) = of.split_at_checked(n)?;
        if old.iter().any(|c| dropped.contains(&c.connection.0)) {
            return None;
        }
        // A pool that was open before the recording, and is used since: its peer knows it.
        let known = new.iter().any(|c| !c.opened && c.heard_ns > Some(anew_ns));
        if known || !old.iter().any(|c| tried.contains(&c.connection.0)) {
            return None;
        }
        let still: Vec<&Unanswered> = old
            .iter()
            .filter_map(|c| waiting.get(&c.connection.0).copied())
            .collect();
        let most = most_asked(&still);
        Some(HalfOpen {
            server: server.to_string(),
            connections: still.len() as u64,
            task: most.map_or_else(String::new, |m| m.0.to_owned()),
            of_task: most.map_or(0, |m| m.1 as u64),
            since_ns: since.saturating_sub(start),
            anew: new.iter().filter(|c| c.opened && c.heard_ns.is_some()).count() as u64,
            anew_ns: anew_ns.saturating_sub(start),
        })
    };
    let found = servers.into_iter().filter_map(of);
    found.max_by(|a, b| a.connections.cmp(&b.connections).then_with(|| b.server.cmp(&a.server)))
}
