//! Connections whose congestion window stands still though it is full and nothing is lost: something holds it there.
//!
//! Needs `tx`, `tcp_samples`, `tcp_states`, `retransmits`; the routes of the recording tell which one sets it. A congestion control that is not told of a loss lets a window that
//! is full grow each round trip, by one segment at least; what it may never exceed is `snd_cwnd_clamp`, which a route's metric `cwnd` with `lock` sets (net/ipv4/tcp_metrics.c
//! `tcp_init_metrics`), or a program of BPF; vegas may leave it where it is by design. Not judged: BBR, which sets its window itself, sockets of which anything was sent again or whose state was not Open, and
//! recordings that lost events.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use super::restarts::Around;
use super::senders::Sender;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::tcp::tables::SampleRow;

/// Fewest probes.
const FEWEST: usize = 50;
/// The window must have held it for so many round trips, and so long: CUBIC's plateau is one for a second or two.
const ROUNDS: f64 = 20.0;
const LONG_NS: f64 = 3e9;
/// And for this share of its time.
const HELD: f64 = 0.25;

/// Connections of one end to one host whose window stands still.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Clamped {
    /// Their own end: of several ports its address alone.
    pub from: String,
    /// The host that they send to.
    pub to: String,
    /// Such connections.
    pub connections: u64,
    /// The window, segments: the largest of theirs.
    pub cwnd: u32,
    /// The largest of other connections of that address, segments; null: none sent enough.
    pub others: Option<i64>,
    /// The route to that host that asks for such a window, as the routes of this recording tell; null: none, or several.
    pub route: Option<String>,
}

/// The window that a connection stood at.
pub(super) fn stands(facts: &Facts, s: &Sender, samples: &[&SampleRow], around: &Around) -> Option<u32> {
    let c = ConnectionId(s.connection);
    let first = samples.first()?;
    let same = samples.len() >= FEWEST && samples.iter().all(|p| p.snd_cwnd == first.snd_cwnd);
    if !same || s.retransmits > 0 || facts.negotiated.get(&c).and_then(|n| n.own_window()) == Some(true) {
        return None;
    }
    let (held, rtt) = (s.limiters.iter().find(|l| l.0 == "cwnd")?.1, s.rtt.p50_ns?);
    let ns = held * facts.spent.get(&c)?.busy_ns as f64;
    let long = held >= HELD && ns >= LONG_NS && ns >= ROUNDS * rtt as f64;
    (long && around.open_all_along(facts, c)).then_some(first.snd_cwnd)
}

/// Most of them that one end sends to one host.
pub(super) fn clamped(facts: &Facts, all: &[(&Sender, Option<u32>)]) -> Option<Clamped> {
    let ends = |s: &Sender| -> Option<(SocketAddr, IpAddr)> {
        let row = facts.connections.get(s.connection as usize)?;
        Some((row.local()?, row.remote()?.ip()))
    };
    let mut groups: BTreeMap<(IpAddr, IpAddr), Vec<(SocketAddr, u32)>> = BTreeMap::new();
    for (s, cwnd) in all {
        if let (Some((local, to)), Some(cwnd)) = (ends(s), *cwnd) {
            groups.entry((local.ip(), to)).or_default().push((local, cwnd));
        }
    }
    let ((from, to), of) = groups
        .into_iter()
        .max_by_key(|(ends, of)| (of.len(), std::cmp::Reverse(*ends)))?;
    let cwnd = of.iter().map(|o| o.1).max()?;
    let (first, _) = of.first()?;
    let one = of.iter().all(|o| o.0 == *first);
    let other = |s: &Sender| ends(s).is_some_and(|(local, host)| local.ip() == from && host != to);
    let others = all.iter().filter(|(s, stands)| stands.is_none() && other(s));
    let asked = facts
        .routes
        .cwnd(from, to)
        .filter(|(asked, _)| *asked == u64::from(cwnd));
    Some(Clamped {
        from: if one { first.to_string() } else { from.to_string() },
        to: to.to_string(),
        connections: of.len() as u64,
        cwnd,
        others: others.filter_map(|(s, _)| Some(s.flight?.max_cwnd)).max(),
        route: asked.map(|(_, route)| route.told()),
    })
}
