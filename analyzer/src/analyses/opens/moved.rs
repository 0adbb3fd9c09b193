//! Connections whose segments came to another host of the recording, which has the same address and did not know them: two hosts by mistake, or several on
//! purpose (ECMP, anycast, a failover) to which the route changed.
//!
//! Needs `resets`, `tx`, `hops`, `neighbours`.
//!
//! ```text
//! RST received: a:50001 > v:443, whose peer lives and sent none, and just before it one sent by a host that has v:443 and no such socket, or listens there
//! frames of a:50001:  eth0, down2     eth0, down2     eth0, down1 -> the RST      moved from down2 to down1
//! ```

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use rustc_hash::FxHashMap;

use crate::analyses::neighbours::Flapping;
use crate::analyses::went::Went;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::opens::tables::{End, ResetRow, Sender};
use crate::reconstruct::tcp::states::CLOSE;

/// From a RST to its arrival, at most, ns.
const ARRIVES_NS: i64 = 1_000_000;
/// The last change of a link-layer address may end connections that send after it, ns.
const LATER_NS: i64 = 2_000_000_000;
/// Frames before the last that are looked at for another way.
const FRAMES: usize = 16;
/// Frames before a change that went the same way.
const STEADY: usize = 2;
/// Changes told.
const TOLD: usize = 3;

/// Who sent a RST that the peer's TCP did not send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Twin {
    /// Nobody that is known.
    No,
    /// A host with the peer's address that has no such socket.
    Socketless,
    /// A host that listens at the peer's address and port.
    Listener,
}

/// Another device by which segments went from some time on.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Moved {
    /// Device before.
    pub before: String,
    /// Device then.
    pub after: String,
    /// Connections.
    pub count: u64,
}

/// Whether a RST that the peer's TCP did not send was sent by another host of this recording that has its address.
pub(super) fn twins(facts: &Facts) -> impl Fn(&ResetRow) -> Twin {
    let mut sent: BTreeMap<(End, Option<End>), Vec<i64>> = BTreeMap::new();
    let socketless = |r: &ResetRow| r.reason.is_empty() || r.reason.contains("NO_SOCKET");
    // Of a listener itself the event has no remote end.
    let without = |r: &&ResetRow| !r.received && r.connection.is_none() && (r.to.is_none() || socketless(r));
    for r in facts.resets.iter().filter(without) {
        if let Some(mut from) = r.from {
            // Who listens at all of its host's addresses has none of its own.
            if from.0.is_unspecified() {
                from.0 = Ipv4Addr::UNSPECIFIED.into();
            }
            sent.entry((from, r.to)).or_default().push(r.time_ns);
        }
    }
    sent.values_mut().for_each(|of| of.sort_unstable());
    let closed: FxHashMap<ConnectionId, i64> = (facts.tcp_states.iter())
        .filter(|s| s.kind == "sock" && s.state == CLOSE)
        .map(|s| (s.connection, s.time_ns))
        .collect();
    // By the lists of addresses; where there are none nothing tells.
    let several = |address| facts.routes.holders(address) != 1;
    move |r| {
        let soon = |key: &(End, Option<End>)| {
            let of = sent.get(key)?;
            let before = of.get(of.partition_point(|at| *at <= r.time_ns).checked_sub(1)?)?;
            Some(r.time_ns.saturating_sub(*before) <= ARRIVES_NS)
        };
        let Some(peer) = r.to.filter(|_| r.received && r.sender == Sender::Between) else {
            return Twin::No;
        };
        let any = (Ipv4Addr::UNSPECIFIED.into(), peer.1);
        let soon = |key| soon(&key) == Some(true);
        // What comes to a socket that is closed its own host's listener refuses.
        let there = || {
            let of = facts.connections.get(r.connection?.0 as usize)?.peer?;
            Some(closed.get(&of).is_none_or(|at| *at > r.time_ns))
        };
        match () {
            () if soon((peer, r.from)) => Twin::Socketless,
            () if (soon((peer, None)) || soon((any, None))) && several(peer.0) && there() == Some(true) => {
                Twin::Listener
            }
            () => Twin::No,
        }
    }
}

/// How often the link-layer address changed, there and back, that hosts had for the peer of most of these, while most of them were reset; 0: another one's, or not then.
pub(super) fn flapped(flapping: &[Flapping], facts: &Facts, resets: &[(ConnectionId, i64)]) -> u64 {
    let peer = |c: ConnectionId| Some(facts.connections.get(c.0 as usize)?.daddr?.to_canonical());
    let mut by: BTreeMap<IpAddr, Vec<i64>> = BTreeMap::new();
    for (c, at) in resets {
        if let Some(peer) = peer(*c) {
            by.entry(peer).or_default().push(*at);
        }
    }
    let Some((address, mut times)) = by.into_iter().max_by_key(|(_, times)| times.len()) else {
        return 0;
    };
    let address = address.to_string();
    times.sort_unstable();
    let start = facts.capture.start_ns.unwrap_or(0);
    let until = |at: i64| times.partition_point(|t| *t < at);
    let then = |f: &&Flapping| {
        let from = f.first_ns.saturating_add(start);
        let to = f.last_ns.saturating_add(start).saturating_add(LATER_NS);
        let hit = until(to.saturating_add(1)).saturating_sub(until(from));
        f.address == address && hit.saturating_mul(2) > resets.len()
    };
    flapping.iter().find(then).map_or(0, Flapping::changes)
}

/// By which other device the last frame before each of these moments went; most first.
pub(super) fn moved(facts: &Facts, resets: &[(ConnectionId, i64)]) -> Vec<Moved> {
    let went = Went::of(facts, resets.iter().map(|r| r.0));
    let one = |(c, at): &(ConnectionId, i64)| {
        let mut ways = went.until(*c, *at).take(FRAMES).peekable();
        let last = ways.next()?;
        while ways.next_if(|way| *way == last).is_some() {}
        // Those before went one way: where frames take turns, as over a bond, none of it changed.
        let before = ways.next()?;
        let one = ways.take(STEADY).all(|way| way == before);
        let both = before.iter().zip(last).find(|(before, after)| before != after)?;
        one.then_some((*both.0, *both.1))
    };
    let mut count: BTreeMap<(Name, Name), u64> = BTreeMap::new();
    for way in resets.iter().filter_map(one) {
        *count.entry(way).or_default() += 1;
    }
    // Of a few it says nothing about the others.
    if count.values().sum::<u64>().saturating_mul(2) < resets.len() as u64 {
        return vec![];
    }
    let mut all: Vec<Moved> = count
        .into_iter()
        .map(|((before, after), count)| Moved {
            before: before.text().into_owned(),
            after: after.text().into_owned(),
            count,
        })
        .collect();
    all.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.before.cmp(&b.before)));
    all.truncate(TOLD);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Resets between the first and a while after the last change, most of them to that address.
    #[test]
    fn an_address_that_goes_there_and_back_is_why() {
        let mut f = Facts::empty();
        f.capture.start_ns = Some(5_000_000_000);
        f.connections = (0..3).map(crate::testing::tcp::connection).collect();
        let peer = f.connections[0].daddr.unwrap().to_string();
        f.connections[2].daddr = Some(Ipv4Addr::new(192, 0, 2, 9).into());
        let flapping = |address: &str| Flapping {
            address: address.into(),
            lladdr: String::new(),
            other: String::new(),
            there: 3,
            back: 2,
            first: None,
            first_ns: 1_000_000_000,
            last_ns: 4_000_000_000,
        };
        let at = |c, ms: i64| (ConnectionId(c), 5_000_000_000 + ms * 1_000_000);
        let of = |address: &str, resets: &[_]| flapped(&[flapping(address)], &f, resets);
        assert_eq!(of(&peer, &[at(0, 1_500), at(1, 5_500), at(2, 2_000)]), 5);
        // Of another address; most before it began, or long after it ended; most of another peer.
        assert_eq!(of("192.0.2.1", &[at(0, 1_500)]), 0);
        assert_eq!(of(&peer, &[at(0, 900), at(1, 6_500), at(0, 2_000)]), 0);
        assert_eq!(of(&peer, &[at(2, 1_500), at(2, 2_500), at(0, 2_000)]), 0);
    }
}
