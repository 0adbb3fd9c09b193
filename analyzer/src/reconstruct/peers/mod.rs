//! Which socket is at the other end of a TCP connection, where both are in the recording.
//!
//! In: sockets with their addresses and times, rows of `rx` and `tx`. Out: `peer` of each connection. Must not guess: of two candidates none.
//!
//! ```text
//! addresses and ports turned round, alive at the same time, one such to either ────> the peer
//! none, or several (NAT: DNAT, masquerade; the same addresses in two namespaces)
//!   └ all packets that one sent and some socket got, over veth, bridges, loopback ── that socket
//! ```
//! A packet keeps its skb from the sender's device to the receiver's socket inside one host, whatever netfilter writes into its headers.

use rustc_hash::FxHashMap;

use crate::facts::ConnectionId;
use crate::reconstruct::receive::tables::RxRow;
use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::reconstruct::transmit::tables::TxRow;

#[cfg(test)]
mod tests;

/// Sockets with the same ends that are looked at for one, the latest of those that began before its end: of more nothing is told.
const ALIKE: usize = 64;
/// No connection.
const NONE: u32 = u32::MAX;

type Ends = (std::net::IpAddr, u16, std::net::IpAddr, u16);

fn ends(c: &ConnectionRow) -> Option<Ends> {
    Some((c.saddr?, c.sport, c.daddr?, c.dport))
}

/// By addresses: the peer of each connection, by its number.
fn by_ends(connections: &[&ConnectionRow]) -> Vec<Option<ConnectionId>> {
    let mut by: FxHashMap<Ends, Vec<&ConnectionRow>> = FxHashMap::default();
    for c in connections.iter().copied() {
        if let Some(of) = ends(c) {
            by.entry(of).or_default().push(c);
        }
    }
    for of in by.values_mut() {
        of.sort_by_key(|o| o.first_ns);
    }
    let peer = |c: &ConnectionRow| {
        let (saddr, sport, daddr, dport) = ends(c)?;
        let of = by.get(&(daddr, dport, saddr, sport))?;
        let began = of.get(..of.partition_point(|o| o.first_ns <= c.last_ns))?;
        let mut near = began.iter().rev();
        let alive = |o: &&&ConnectionRow| o.connection != c.connection && c.first_ns <= o.last_ns;
        let mut of = near.by_ref().take(ALIKE).filter(alive);
        match (of.next(), of.next()) {
            (Some(one), None) if near.next().is_none() => Some(one.connection),
            _ => None,
        }
    };
    let all: Vec<Option<ConnectionId>> = connections.iter().copied().map(peer).collect();
    // Of two that name the same one, neither is known to be it.
    let mutual = |(n, peer): (usize, &Option<ConnectionId>)| {
        peer.filter(|p| {
            all.get(p.0 as usize)
                .copied()
                .flatten()
                .is_some_and(|back| back.0 as usize == n)
        })
    };
    all.iter().enumerate().map(mutual).collect()
}

/// Of the packets of a connection so many are one peer's, to be its: a RST for a socket that is gone may be counted for another one.
const NEARLY_ALL: u32 = 20;

/// What packets say of one connection: the first two other ends, with their packets, and all.
#[derive(Clone, Copy, Default)]
struct Seen {
    of: [(u32, u32); 2],
    all: u32,
}

impl Seen {
    fn add(&mut self, c: u32) {
        self.all = self.all.saturating_add(1);
        if let Some(of) = self.of.iter_mut().find(|of| of.1 == 0 || of.0 == c) {
            *of = (c, of.1.saturating_add(1));
        }
    }

    fn one(&self) -> Option<u32> {
        let (c, n) = self.of.into_iter().max_by_key(|of| of.1)?;
        let others = self.all.saturating_sub(n);
        (n > 0 && others.saturating_mul(NEARLY_ALL) <= n).then_some(c)
    }
}

/// The peer of each connection, by its number.
pub fn peers(connections: &[&ConnectionRow], tx: &[TxRow], rx: &[RxRow]) -> Vec<Option<ConnectionId>> {
    let mut peers = by_ends(connections);
    if peers.iter().all(Option::is_some) {
        return peers;
    }
    let last = tx.iter().map(|t| t.skb_id.0).max().map_or(0, |id| id as usize + 1);
    let mut sender: Vec<u32> = vec![NONE; last];
    for t in tx {
        if let (Some(c), Some(of)) = (t.connection, sender.get_mut(t.skb_id.0 as usize)) {
            *of = c.0;
        }
    }
    let mut seen: Vec<Seen> = vec![Seen::default(); connections.len()];
    for r in rx {
        let Some(to) = r.connection else { continue };
        let from = sender.get(r.skb_id.0 as usize).copied().filter(|c| *c != NONE);
        let Some(from) = from.filter(|from| *from != to.0) else {
            continue;
        };
        for (a, b) in [(from, to.0), (to.0, from)] {
            if let Some(of) = seen.get_mut(a as usize) {
                of.add(b);
            }
        }
    }
    let one = |c: u32| seen.get(c as usize).and_then(Seen::one);
    for (c, of) in (0u32..).zip(&mut peers).filter(|(_, of)| of.is_none()) {
        *of = one(c).filter(|peer| one(*peer) == Some(c)).map(ConnectionId);
    }
    peers
}
