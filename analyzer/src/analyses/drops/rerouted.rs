//! Packets that were dropped on another way than the one that packets of the same two hosts had gone until then: their next hop changed, and where they go now they are
//! dropped.
//!
//! Needs `hops` and `tx`; to name the hosts and what changed, `links`, `addresses`, `routes` and counters of the snapshots. A way is the devices that a packet was queued on.
//!
//! ```text
//! before    eth0, rtr, eth1, mirror          one way, that none of them goes in the time of the drops
//! dropped   eth0, vpn                        left it at its second device: from rtr to vpn
//! ```
//!
//! Must not be told where both ways were there before (ECMP, a bond, a rule by port: one connection must have gone both ways, or several to one port each), nor of hosts whose packets were not seen before. Which route they took no event tells: a route that
//! came meanwhile is told where the host that they go to now is its gateway.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use rustc_hash::FxHashSet;

use super::places::{Place, Places, Step, address};
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::whose::Carries;
use crate::routes::Route;
use crate::snapshots::field;

/// Fewest packets of two hosts that went the one way before.
const BEFORE: usize = 5;
/// Part of a group's packets that must be of such hosts.
const MOST: f64 = 0.8;
/// Connections to one port that tell, on either way.
const SERVED: usize = 3;
/// Hosts and servers named.
const NAMED: usize = 2;
/// RTPROT_RA.
const BY_RA: &str = "9";

/// From one host to another.
type Pair = (IpAddr, IpAddr);

/// A way and when a packet was sent on it.
struct Sent {
    at: i64,
    skb: SkbId,
    /// Whose it is, and to which port.
    of: (ConnectionId, u16),
}

/// A change of the way.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Rerouted {
    /// The first that was dropped on the other way, ns since the start of the recording; the next that went the old one again.
    pub(super) since_ns: i64,
    pub(super) until_ns: Option<i64>,
    /// Hosts whose packets they are, and what they are sent to.
    pub(super) from: Vec<String>,
    pub(super) to: Vec<String>,
    /// Devices at which the ways part, and addresses of the hosts behind them.
    pub(super) before: (String, Option<IpAddr>),
    pub(super) after: (String, Option<IpAddr>),
    /// That host dropped them.
    pub(super) there: bool,
    /// A route that came meanwhile.
    pub(super) route: Option<Came>,
}

/// A route that came meanwhile, as `default via fe80::1`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Came {
    pub(super) route: String,
    /// It was told by a router advertisement.
    pub(super) by_ra: bool,
    pub(super) v6: bool,
    /// Network namespaces that got it.
    pub(super) namespaces: usize,
    /// Router advertisements that the host sent meanwhile, by its counter.
    pub(super) sent: Option<u64>,
}

/// Where the ways of two packets part: the steps at which they are queued on different devices. `None`: one is the beginning of the other.
fn parting(a: &[Step], b: &[Step]) -> Option<(usize, usize)> {
    let queued = |of: &[Step]| -> Vec<(usize, Name)> {
        let all = of.iter().enumerate().filter(|(_, s)| s.kind == "queue");
        all.map(|(n, s)| (n, s.dev)).collect()
    };
    let (a, b) = (queued(a), queued(b));
    let (a, b) = a.iter().zip(&b).find(|(a, b)| a.1 != b.1)?;
    Some((a.0, b.0))
}

/// The host to which what was queued at a step came.
fn next(facts: &Facts, places: &Places, (of, queued): (SkbId, usize)) -> Option<Place> {
    let rx = places.steps(of).iter().skip(queued).position(|s| s.kind == "rx")?;
    places.received(facts, of, queued.saturating_add(rx))
}

/// What of two hosts was dropped, and where these ways part from those before.
struct Parted {
    /// Devices before and then.
    devs: (Name, Name),
    /// Steps of one of each: which packet, which step.
    before: (SkbId, usize),
    after: (SkbId, usize),
    dropped: usize,
    first: i64,
    again: Option<i64>,
}

/// Whether it is the same traffic that went the one way and then the other: a connection on both, or several of one server. Connections may have gone one way each
/// all the time (ECMP, a rule by port).
fn same(before: &[&Sent], dropped: &[Sent]) -> bool {
    let old: BTreeSet<(u16, ConnectionId)> = before.iter().map(|s| (s.of.1, s.of.0)).collect();
    let new: BTreeSet<(u16, ConnectionId)> = dropped.iter().map(|s| (s.of.1, s.of.0)).collect();
    let n = |of: &BTreeSet<(u16, ConnectionId)>, port: u16| of.iter().filter(|c| c.0 == port).count();
    !old.is_disjoint(&new) || new.iter().any(|c| n(&new, c.0) >= SERVED && n(&old, c.0) >= SERVED)
}

/// Of two hosts.
fn parted(places: &Places, dropped: &[Sent], sent: &[Sent]) -> Option<Parted> {
    let first = dropped.iter().min_by_key(|s| s.at)?;
    let last = dropped.iter().map(|s| s.at).max()?;
    let now = places.steps(first.skb);
    let mut before: Option<(Name, SkbId, usize, usize)> = None;
    let mut n = 0usize;
    let earlier: Vec<&Sent> = sent.iter().filter(|s| s.at < first.at).collect();
    if !same(&earlier, dropped) {
        return None;
    }
    for s in earlier {
        let old = places.steps(s.skb);
        let Some((a, b)) = parting(old, now) else {
            let queued = |of: &[Step]| of.iter().filter(|s| s.kind == "queue").count();
            // What was seen on fewer devices may have gone either way.
            if queued(old) < queued(now) {
                continue;
            }
            return None;
        };
        let dev = old.get(a)?.dev;
        if before.is_some_and(|known| known.0 != dev || known.3 != b) {
            return None;
        }
        before = Some((dev, s.skb, a, b));
        n += 1;
    }
    let (old, skb, a, b) = before.filter(|_| n >= BEFORE)?;
    let new = now.get(b)?.dev;
    // All that were dropped go that way, and none the old one until the last of them.
    let by = |of: SkbId, dev: Name| places.steps(of).iter().any(|s| s.kind == "queue" && s.dev == dev);
    let later = || sent.iter().filter(|s| s.at > first.at && by(s.skb, old));
    let all = dropped.iter().all(|s| by(s.skb, new) && !by(s.skb, old));
    let before_too = sent.iter().any(|s| s.at < first.at && by(s.skb, new));
    if !all || before_too || later().any(|s| s.at <= last) {
        return None;
    }
    Some(Parted {
        devs: (old, new),
        before: (skb, a),
        after: (first.skb, b),
        dropped: dropped.len(),
        first: first.at,
        again: later().map(|s| s.at).min(),
    })
}

/// The hosts that a packet of a drop is of, and the server.
fn whose(facts: &Facts, row: &DropRow) -> Option<(Pair, SocketAddr, ConnectionId)> {
    let owner = row.owner?;
    let own = !matches!(owner.carries, Carries::Received | Carries::TooBig);
    let connection = owner.connection.filter(|_| own)?;
    let c = facts.connections.get(connection.0 as usize)?;
    let (from, to) = (c.saddr?.to_canonical(), c.daddr?.to_canonical());
    Some(((from, to), SocketAddr::new(to, c.dport), connection))
}

pub(super) fn rerouted(facts: &Facts, rows: &[&DropRow]) -> Option<Rerouted> {
    let mut dropped: BTreeMap<Pair, Vec<Sent>> = BTreeMap::new();
    let mut servers: BTreeMap<(Pair, SocketAddr), usize> = BTreeMap::new();
    for row in rows {
        if let Some(((pair, to, c), skb)) = whose(facts, row).zip(row.skb_id) {
            let (at, of) = (row.time_ns, (c, to.port()));
            dropped.entry(pair).or_default().push(Sent { at, skb, of });
            *servers.entry((pair, to)).or_default() += 1;
        }
    }
    let lost: FxHashSet<SkbId> = facts.drops.iter().filter_map(|d| d.skb_id).collect();
    let mut sent: BTreeMap<Pair, Vec<Sent>> = BTreeMap::new();
    for t in facts.tx.iter().filter(|t| !lost.contains(&t.skb_id)) {
        let row = t.connection.and_then(|c| facts.connections.get(c.0 as usize));
        let pair = row.and_then(|c| Some(((c.saddr?.to_canonical(), c.daddr?.to_canonical()), c)));
        if let Some((pair, c)) = pair.filter(|p| dropped.contains_key(&p.0)) {
            let (at, skb, of) = (t.t_sched_ns, t.skb_id, (c.connection, c.dport));
            sent.entry(pair).or_default().push(Sent { at, skb, of });
        }
    }
    let all = dropped.values().chain(sent.values()).flatten().map(|s| s.skb);
    let places = Places::of(facts, all);
    let mut by: BTreeMap<(Name, Name), Vec<(Pair, Parted)>> = BTreeMap::new();
    for (pair, of) in &dropped {
        let before = sent.get(pair).map_or(&[][..], Vec::as_slice);
        if let Some(p) = parted(&places, of, before) {
            by.entry(p.devs).or_default().push((*pair, p));
        }
    }
    let n = |of: &[(Pair, Parted)]| of.iter().map(|(_, p)| p.dropped).sum::<usize>();
    let ((old, new), of) = by.into_iter().max_by_key(|(_, of)| n(of))?;
    if (n(&of) as f64) < MOST * rows.len() as f64 {
        return None;
    }
    let (pair, one) = of.first()?;
    let (before, after) = (next(facts, &places, one.before), next(facts, &places, one.after));
    let v6 = Some(pair.1.is_ipv6());
    let at = |p: Option<Place>| address(facts, p?, v6);
    let netns = after.and_then(|p| p.netns);
    let there = netns.is_some() && places.last(facts, one.after.0).and_then(|p| p.netns) == netns;
    let start = facts.capture.start_ns.unwrap_or(0);
    let since = |ns: i64| ns.saturating_sub(start);
    let pairs: BTreeSet<Pair> = of.iter().map(|o| o.0).collect();
    let from: BTreeSet<IpAddr> = pairs.iter().map(|p| p.0).collect();
    servers.retain(|(pair, _), _| pairs.contains(pair));
    let to: BTreeSet<SocketAddr> = servers.keys().map(|k| k.1).collect();
    Some(Rerouted {
        since_ns: since(of.iter().map(|o| o.1.first).min()?),
        until_ns: of.iter().filter_map(|o| o.1.again).min().map(since),
        from: from.iter().map(IpAddr::to_string).collect(),
        to: to.iter().map(SocketAddr::to_string).collect(),
        before: (old.text().into_owned(), at(before)),
        after: (new.text().into_owned(), at(after)),
        there,
        route: came(facts, &pairs, netns),
    })
}

/// The route to there that a sender got meanwhile and whose gateway is that host.
fn came(facts: &Facts, pairs: &BTreeSet<Pair>, gateway: Option<u64>) -> Option<Came> {
    let gateway = gateway?;
    let new = || {
        facts
            .snapshots
            .iter()
            .filter(|r| r.what == "routes" && r.end && !r.start)
    };
    let old = || {
        facts
            .snapshots
            .iter()
            .filter(|r| r.what == "routes" && r.start)
            .filter_map(|r| Route::read(&r.line))
    };
    let leads = |r: &Route| {
        // One that only another word changed of was there before.
        if old().any(|o| (o.netns, o.to, o.via) == (r.netns, r.to, r.via)) {
            return false;
        }
        let theirs = |(from, to): &Pair| facts.spaces.of_address(*from) == Some(r.netns) && r.length(*to).is_some();
        pairs.iter().any(theirs) && r.via.and_then(|via| facts.spaces.of_address(via)) == Some(gateway)
    };
    let (line, route) = new().find_map(|r| Some((&r.line, Route::onward(&r.line).filter(leads)?)))?;
    let like = |r: &Route| (r.to, r.via, r.v6) == (route.to, route.via, route.v6);
    let namespaces: BTreeSet<u64> = new()
        .filter_map(|r| Some(Route::onward(&r.line).filter(like)?.netns))
        .collect();
    let by_ra = route.v6 && field(line, "protocol") == Some(BY_RA);
    let counter = facts
        .counters
        .iter()
        .find(|c| c.source == "snmp6" && c.netns == Some(gateway) && c.name == "Icmp6OutRouterAdvertisements");
    let sent = counter.and_then(|c| c.end?.checked_sub(c.start.unwrap_or(0)));
    Some(Came {
        route: route.told(),
        by_ra,
        v6: route.v6,
        namespaces: namespaces.len(),
        sent: sent.filter(|n| by_ra && *n > 0),
    })
}

/// `a, b and 3 more`
pub(super) fn few(of: &[String]) -> String {
    let said: Vec<&str> = of.iter().take(NAMED).map(String::as_str).collect();
    match of.len().saturating_sub(NAMED) {
        0 => said.join(" and "),
        n => format!("{} and {n} more", said.join(", ")),
    }
}

impl Rerouted {
    /// What it is, before what is said of the drops. No pause in it: the head of the page has all of it.
    pub(super) fn words(&self) -> String {
        let s = |ns: i64| format!("{:.3} s", ns as f64 / 1e9);
        let when = match self.until_ns {
            None => format!("from {} on", s(self.since_ns)),
            Some(until) => format!("from {} to {}", s(self.since_ns), s(until)),
        };
        let host = |(dev, at): &(String, Option<IpAddr>)| match at {
            Some(at) => format!("to {at} (by {dev})"),
            None => format!("by {dev}"),
        };
        let dropped = match self.there {
            true => "which host drops them",
            false => "on which they are dropped",
        };
        let route = self.route.as_ref().map_or_else(String::new, |r| {
            let whom = match r.namespaces {
                1 => "their host".to_owned(),
                n => format!("{n} network namespaces, theirs among them,"),
            };
            let told = match (r.by_ra, r.sent) {
                (false, _) => String::new(),
                (true, None) => ", told by a router advertisement (proto ra)".to_owned(),
                (true, Some(1)) => {
                    ", told by a router advertisement (proto ra), of which that host sent one".to_owned()
                }
                (true, Some(n)) => format!(", told by router advertisements (proto ra), of which that host sent {n}"),
            };
            let show = if r.v6 { "ip -6 route show" } else { "ip route show" };
            let show = if r.route.starts_with("default") {
                format!("{show} default")
            } else {
                show.to_owned()
            };
            format!(
                ", as meanwhile {whom} got the route `{}`, whose gateway it is{told} (see `{show}`)",
                r.route
            )
        });
        format!(
            "{when} what {} sent to {} went another way than before, not {} any more but {}, {dropped}{route}",
            few(&self.from),
            few(&self.to),
            host(&self.before),
            host(&self.after)
        )
    }
}
