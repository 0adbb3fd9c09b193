//! Hosts outside the recording from which nothing more came, though this host went on sending to them.
//!
//! Needs `tcp_samples` (each segment that came to an established socket), `rx`, `tx`, `resets`, `retransmits`, `opens`, `drops`. Told where segments were sent again twice or
//! more, and nothing came from that address for [`LEAST_NS`] after the first send that had no answer, until the recording ended.

use std::collections::BTreeMap;
use std::net::IpAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::analyses::outside::Outside;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::opens::tables::OpenEnd;
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::reconstruct::transmit::tables::TxKind;

/// Shortest silence, ns.
const LEAST_NS: i64 = 500_000_000;
/// A host heard in the last of so many parts of it was heard until the end.
const UNTIL_THE_END: i64 = 10;
/// Others that call at its ports from which it is one of many.
const CALLERS: usize = 4;
/// Fewest segments sent again in it.
const AGAIN: u64 = 2;

/// A host that fell silent.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Silence {
    /// Its address.
    pub address: String,
    /// When something came from it last, ns since the start of the recording.
    pub since_ns: i64,
    /// From then to the end of the recording, ns.
    pub for_ns: i64,
    /// Segments sent to it meanwhile for the first time, attempts to connect among them.
    pub sent: u64,
    /// Segments sent again meanwhile.
    pub again: u64,
    /// Of all these, known to have been dropped by this host.
    pub dropped: u64,
    /// Packets dropped by this host meanwhile of which it is not known whose they were; `None`: drops were not recorded.
    pub dropped_unknown: Option<u64>,
    /// Another host outside from which something came in the last tenth of that time: the one heard last.
    pub heard: Option<String>,
    /// It asked this host and was asked nothing, and no other host fell silent: one that was switched off, or went away, waits for nothing.
    #[serde(skip)]
    pub one_client: bool,
}

/// All its connections are to ports at which this host is called by others, too, and it opened none to it.
fn is_client(facts: &Facts, address: IpAddr) -> bool {
    let is = |a: &IpAddr| a.to_canonical() == address.to_canonical();
    let asked = facts.opens.iter().any(|o| o.to.is_some_and(|to| is(&to.0)));
    let (theirs, others): (Vec<&ConnectionRow>, Vec<&ConnectionRow>) =
        facts.connections.iter().partition(|c| c.daddr.is_some_and(|a| is(&a)));
    let mut callers: FxHashMap<u16, FxHashSet<IpAddr>> = FxHashMap::default();
    for (c, from) in others.iter().filter_map(|c| Some((c, c.daddr?))) {
        callers.entry(c.sport).or_default().insert(from.to_canonical());
    }
    let many = |port: u16| callers.get(&port).is_some_and(|of| of.len() >= CALLERS);
    !asked && theirs.iter().all(|c| many(c.sport))
}

/// What was sent to an address after the last packet from it.
#[derive(Default)]
struct After {
    first: Option<i64>,
    sent: u64,
    again: u64,
    dropped: u64,
}

/// Each segment that is known to have come to a connection, and when.
pub(super) fn heard(facts: &Facts) -> impl Iterator<Item = (ConnectionId, i64)> {
    let samples = facts.tcp_samples.iter().map(|s| (s.connection, s.time_ns));
    let acks = facts.tx.iter().filter(|t| t.kind == TxKind::Tcp);
    let acks = acks.filter_map(|t| Some((t.connection?, t.t_ack_ns?)));
    let data = facts.rx.iter().filter_map(|r| Some((r.connection?, r.start_ns)));
    samples.chain(acks).chain(data)
}

/// The one to which most was sent.
pub(super) fn silence(facts: &Facts) -> Option<Silence> {
    let (start, end) = (facts.capture.start_ns?, facts.capture.end_ns?);
    if facts.retransmits.len() < AGAIN as usize || !facts.gaps.is_empty() {
        return None;
    }
    // A socket of this recording has the address: what that host did, others of its sockets tell.
    let hosts = Outside::of(facts);
    let outside = |c: Option<ConnectionId>| hosts.to(c?);
    // No probe sees what comes to a socket that is closing, answers an attempt, or ends a connection.
    let segments = heard(facts).filter_map(|(c, at)| Some((outside(Some(c))?, at)));
    let resets = facts.resets.iter().filter(|r| r.received);
    let resets = resets.filter_map(|r| Some((r.to?.0, r.time_ns)));
    let stood = facts.opens.iter();
    let stood = stood.filter(|o| matches!(o.end, OpenEnd::Established | OpenEnd::Refused));
    let stood = stood.filter_map(|o| Some((o.to?.0, o.end_ns)));
    let mut last: BTreeMap<IpAddr, i64> = BTreeMap::new();
    let came = segments.chain(resets).chain(stood);
    for (from, time_ns) in came.filter(|(from, _)| !hosts.has_here(*from)) {
        let at = last.entry(from).or_insert(time_ns);
        *at = time_ns.max(*at);
    }
    let mut after: BTreeMap<IpAddr, After> = BTreeMap::new();
    let mut add = |to: Option<IpAddr>, at: i64, count: fn(&mut After) -> &mut u64| {
        if let Some((to, last)) = to.and_then(|to| Some((to, *last.get(&to)?)))
            && at > last
        {
            let of = after.entry(to).or_default();
            of.first = Some(of.first.map_or(at, |first| first.min(at)));
            *count(of) += 1;
        }
    };
    for t in facts.tx.iter().filter(|t| t.kind == TxKind::Tcp) {
        add(outside(t.connection), t.t_sched_ns, |a| &mut a.sent);
    }
    for o in facts.opens.iter().filter(|o| o.connection.is_some()) {
        add(o.to.map(|to| to.0), o.start_ns, |a| &mut a.sent);
    }
    for r in &facts.retransmits {
        add(outside(r.connection), r.time_ns, |a| &mut a.again);
    }
    for d in facts.drops.iter().filter(|d| d.expected == Some(false)) {
        let owner = d.owner.as_ref().and_then(|o| o.connection);
        add(outside(owner), d.time_ns, |a| &mut a.dropped);
    }
    let silent = after.into_iter().filter(|(_, a)| {
        let first = a.first.unwrap_or(end);
        a.again >= AGAIN && end.saturating_sub(first) >= LEAST_NS
    });
    let silent: Vec<(IpAddr, After)> = silent.collect();
    let alone = silent.len() == 1;
    let most = silent
        .into_iter()
        .max_by_key(|(address, a)| (a.sent.saturating_add(a.again), std::cmp::Reverse(*address)));
    let (address, a) = most?;
    let since = *last.get(&address)?;
    let late = end.saturating_sub(end.saturating_sub(since) / UNTIL_THE_END);
    let heard = last.into_iter().filter(|(from, at)| *from != address && *at >= late);
    let heard = heard.max_by_key(|(from, at)| (*at, std::cmp::Reverse(*from)));
    // The peer's packets may have been dropped here before anything told whose they were.
    let unknown = facts
        .drops
        .iter()
        .filter(|d| d.expected == Some(false) && d.time_ns > since);
    let unknown = unknown.filter(|d| d.owner.as_ref().is_none_or(|o| o.connection.is_none()));
    let dropped_unknown = facts.capture.recorded("skb:kfree_skb").then(|| unknown.count() as u64);
    Some(Silence {
        address: address.to_string(),
        since_ns: since.saturating_sub(start),
        for_ns: end.saturating_sub(since),
        sent: a.sent,
        again: a.again,
        dropped: a.dropped,
        dropped_unknown,
        one_client: alone && heard.is_some() && is_client(facts, address),
        heard: heard.map(|(from, _)| from.to_string()),
    })
}
