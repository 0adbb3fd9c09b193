//! What the listening side did with handshakes: connections that stood at their client long before at the server, half-open ones that filled
//! the queue, SYNs that sockets in TIME_WAIT refused.
//!
//! Needs `opens`, `tcp_states`, `retransmits` (SYN-ACKs tell their ends) and the kernel's counters, which alone say why: no event tells of a SYN
//! or an ACK that a listener drops. Without the counter the reason is not told.
//!
//! ```text
//! client: SYN_SENT ... ESTABLISHED                                          | late: the server's own ESTABLISHED is behind
//! server: (request)  ... SYN-ACK ............... SYN-ACK again ... ESTABLISHED | a SYN-ACK sent again. Half-open: there is none.
//! ```
//! Source: net/ipv4/inet_connection_sock.c `reqsk_timer_handler`, net/ipv4/tcp_minisocks.c `tcp_check_req` (TCP_DEFER_ACCEPT),
//! net/ipv4/tcp_input.c `tcp_conn_request` (a full queue of requests is counted in ListenDrops and not in ListenOverflows).

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use crate::counters::tables::risen;
use crate::facts::Facts;
use crate::reconstruct::opens::tables::OpenEnd;
use crate::reconstruct::tcp::states::ESTABLISHED;
use crate::stat::Distribution;

/// Shortest time between the two ends' ESTABLISHED that is told, ns: a SYN-ACK is sent again after a second, or 200 ms at least.
const LATE_NS: i64 = 200_000_000;
/// Fewest half-open connections at a listener that may have filled its queue.
const HALF_OPEN: usize = 8;

/// Connections that their client had before the server's socket did.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Late {
    /// The listening end.
    pub to: String,
    /// Such connections.
    pub connections: u64,
    /// From the client's ESTABLISHED to the server's.
    pub behind: Distribution,
    /// SYN-ACKs that were sent again meanwhile.
    pub synacks: u64,
    /// Handshakes' last ACKs that TCP_DEFER_ACCEPT ignored (TcpExtTCPDeferAcceptDrop), the whole recording; `None`: not counted, or none.
    pub deferred: Option<u64>,
    /// Handshakes refused for a full accept queue (TcpExtListenOverflows); likewise.
    pub overflows: Option<u64>,
}

/// A listener whose half-open connections never were answered, and SYNs that were refused though no accept queue was full.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct HalfOpen {
    /// The listening end.
    pub listener: String,
    /// TcpExtListenDrops less TcpExtListenOverflows: SYNs refused for another reason than a full accept queue, the whole recording.
    pub refused: u64,
    /// SYN-ACKs sent again to those who did not answer.
    pub synacks: u64,
    /// Such connections.
    pub connections: u64,
    /// And addresses.
    pub addresses: u64,
    /// What their addresses have in common, `10.9.4.x`; the first of them, where that is nothing.
    pub from: String,
}

type Ends = (SocketAddr, SocketAddr);

/// SYN-ACKs that were sent again: ends, and when.
fn synacks(facts: &Facts) -> BTreeMap<Ends, Vec<i64>> {
    let mut out: BTreeMap<Ends, Vec<i64>> = BTreeMap::new();
    for r in &facts.retransmits {
        if let Some(ends) = r.synack {
            out.entry(ends).or_default().push(r.time_ns);
        }
    }
    out
}

/// When sockets stood, by local and remote end.
fn stood(facts: &Facts) -> BTreeMap<Ends, Vec<i64>> {
    let mut out: BTreeMap<Ends, Vec<i64>> = BTreeMap::new();
    let established = facts
        .tcp_states
        .iter()
        .filter(|s| s.kind == "sock" && s.state == ESTABLISHED);
    for s in established {
        let Some(c) = facts.connections.get(s.connection.0 as usize) else {
            continue;
        };
        if let Some(ends) = c.local().zip(c.remote()) {
            out.entry(ends).or_default().push(s.time_ns);
        }
    }
    out
}

fn counter(facts: &Facts, name: &str) -> Option<u64> {
    risen(&facts.counters, name).filter(|n| *n > 0)
}

/// The listener with most of them.
pub(super) fn late(facts: &Facts) -> Option<Late> {
    let again = synacks(facts);
    if again.is_empty() {
        return None;
    }
    let stood = stood(facts);
    let mut by: BTreeMap<SocketAddr, (Vec<i64>, u64)> = BTreeMap::new();
    for o in facts.opens.iter().filter(|o| o.end == OpenEnd::Established) {
        let Some((from, to)) = o.from.zip(o.to) else { continue };
        let end = |(ip, port): (IpAddr, u16)| SocketAddr::new(ip.to_canonical(), port);
        let ends = (end(to), end(from));
        let server = stood.get(&ends).and_then(|at| at.iter().find(|t| **t >= o.end_ns));
        let Some(behind) = server.map(|t| t.saturating_sub(o.end_ns)).filter(|ns| *ns >= LATE_NS) else {
            continue;
        };
        let until = o.end_ns.saturating_add(behind);
        let sent = again
            .get(&ends)
            .map_or(0, |at| at.iter().filter(|t| (o.end_ns..=until).contains(*t)).count());
        if sent > 0 {
            let of = by.entry(ends.0).or_default();
            of.0.push(behind);
            of.1 += sent as u64;
        }
    }
    let (to, (behind, synacks)) = by
        .into_iter()
        .max_by_key(|(to, of)| (of.0.len(), std::cmp::Reverse(*to)))?;
    Some(Late {
        to: to.to_string(),
        connections: behind.len() as u64,
        synacks,
        deferred: counter(facts, "TcpExtTCPDeferAcceptDrop").filter(|n| *n >= behind.len() as u64),
        overflows: counter(facts, "TcpExtListenOverflows"),
        behind: Distribution::of(behind, 0),
    })
}

/// The listener with most of them.
pub(super) fn half_open(facts: &Facts) -> Option<HalfOpen> {
    let drops = counter(facts, "TcpExtListenDrops")?;
    let refused = drops.saturating_sub(risen(&facts.counters, "TcpExtListenOverflows").unwrap_or(0));
    let stood = stood(facts);
    let mut by: BTreeMap<SocketAddr, (u64, BTreeSet<SocketAddr>)> = BTreeMap::new();
    for (ends, at) in synacks(facts).into_iter().filter(|(ends, _)| !stood.contains_key(ends)) {
        let of = by.entry(ends.0).or_default();
        of.0 += at.len() as u64;
        of.1.insert(ends.1);
    }
    let (listener, (synacks, of)) = by
        .into_iter()
        .max_by_key(|(to, of)| (of.1.len(), std::cmp::Reverse(*to)))?;
    let addresses: BTreeSet<IpAddr> = of.iter().map(SocketAddr::ip).collect();
    // A stray one is no full queue.
    (refused >= HALF_OPEN as u64 && of.len() >= HALF_OPEN).then(|| HalfOpen {
        listener: listener.to_string(),
        refused,
        synacks,
        connections: of.len() as u64,
        from: in_common(&addresses),
        addresses: addresses.len() as u64,
    })
}

/// `10.9.4.x` where they have three of four numbers in common.
fn in_common(of: &BTreeSet<IpAddr>) -> String {
    let net = |a: &IpAddr| match a {
        IpAddr::V4(a) => Some([a.octets()[0], a.octets()[1], a.octets()[2]]),
        IpAddr::V6(_) => None,
    };
    let nets: BTreeSet<_> = of.iter().map(net).collect();
    match (nets.len(), nets.first(), of.first()) {
        (1, Some(Some([a, b, c])), _) if of.len() > 1 => format!("{a}.{b}.{c}.x"),
        (_, _, Some(first)) if of.len() > 1 => format!("{first} and others"),
        (_, _, first) => first.map_or_else(String::new, IpAddr::to_string),
    }
}

/// SYNs and other segments that sockets in TIME_WAIT refused for their older timestamps.
pub(super) fn paws_timewait(facts: &Facts) -> Option<u64> {
    counter(facts, "TcpExtPAWSTimewait")
}
