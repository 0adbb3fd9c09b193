//! Attempts that fail since their address was taken by another host: its link-layer address changed, and the host that answers now, or does not, is another one.
//!
//! In: `neighbours`, `opens`, `connections`, lists of addresses. Told only where nearly all of the failed attempts began after the change, and the same end was reached
//! before it (or a socket of this recording listens there still, and several namespaces have the address). Limits: a failover that was meant to be looks the same
//! from here: both readings are said.

use std::net::{IpAddr, SocketAddr};

use crate::explain::{Id, Kind};
use crate::facts::Facts;
use crate::reconstruct::neighbours::tables::LinkAddr;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};

/// Attempts begun before the change, of so many, at most: one in so many.
const BUT: usize = 10;

/// An address that another host took.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Twice {
    /// The address.
    pub address: String,
    /// Its link-layer address before.
    pub before: String,
    /// And after.
    pub after: String,
    /// Whether entries changed back later, too.
    pub back: bool,
    /// When it changed first, ns since the start of the recording.
    pub at_ns: i64,
    /// Namespaces of this recording that have the address, by the lists.
    pub holders: u64,
    /// The first change.
    pub first: Option<Id>,
}

/// A change of an entry: when, from, to, place in `neighbours`.
type Change = (i64, LinkAddr, LinkAddr, usize);

/// Changes of an address' link-layer address that the network told, in order.
fn changes(facts: &Facts, address: IpAddr) -> Vec<Change> {
    let rows = facts.neighbours.iter().enumerate();
    let own = rows.filter(|(_, r)| r.event == "update" && r.netlink == 0 && r.err.unwrap_or(0) == 0);
    let of = own.filter(|(_, r)| r.address.to_canonical() == address);
    let of = of.filter_map(|(at, r)| {
        let (before, after) = r.before.and_then(|h| h.valid()).zip(r.after.and_then(|h| h.valid()))?;
        (before != after).then_some((r.time_ns, before, after, at))
    });
    of.collect()
}

/// Of failed attempts to one end.
pub(super) fn twice(facts: &Facts, attempts: &[&OpenRow]) -> Option<Twice> {
    let (ip, port) = attempts.first()?.to?;
    let address = ip.to_canonical();
    let changes = changes(facts, address);
    let (at, before, after, place) = *changes.first()?;
    let early = attempts.iter().filter(|o| o.start_ns < at).count();
    if early.saturating_mul(BUT) > attempts.len() {
        return None;
    }
    let holders = facts.routes.holders(address);
    let listens = holders > 1 && facts.spaces.one_listens(SocketAddr::new(address, port));
    let reached = |o: &OpenRow| {
        let there = o.to.is_some_and(|to| (to.0.to_canonical(), to.1) == (address, port));
        there && o.end == OpenEnd::Established && o.end_ns <= at
    };
    let known = listens || facts.opens.iter().any(reached);
    known.then(|| Twice {
        address: address.to_string(),
        before: before.to_string(),
        after: after.to_string(),
        back: changes.iter().any(|(_, b, a, _)| *b == after && *a == before),
        at_ns: at.saturating_sub(facts.capture.start_ns.unwrap_or(0)),
        holders: holders as u64,
        first: Id::at(Kind::Neighbour, place),
    })
}
