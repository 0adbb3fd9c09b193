//! Attempts that fail since their address was taken by another host: its link-layer address changed, and the host that answers now, or does not, is another one.
//!
//! In: `neighbours`, `opens`, `connections`, lists of addresses. Told only where nearly all of the failed attempts began after the change, and the same end was reached
//! before it (or a socket of this recording listens there still, and several namespaces have the address), and not after it, unless the address went back, too. Limits: a failover that was meant to be looks the same
//! from here: both readings are said.

use std::net::{IpAddr, SocketAddr};

use rustc_hash::FxHashMap;

use crate::analyses::neighbours::changes;
use crate::explain::{Id, Kind};
use crate::facts::Facts;
use crate::reconstruct::neighbours::tables::LinkAddr;
use crate::reconstruct::opens::tables::{End, OpenEnd, OpenRow};

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

/// Changes of link-layer addresses that the network told, by address, in order.
pub(super) struct Changes<'f> {
    facts: &'f Facts,
    of: FxHashMap<IpAddr, Vec<Change>>,
    /// When connections to each end stood, by their begin.
    stood: FxHashMap<End, Vec<i64>>,
}

impl<'f> Changes<'f> {
    pub(super) fn of_all(facts: &'f Facts) -> Changes<'f> {
        let mut of: FxHashMap<IpAddr, Vec<Change>> = FxHashMap::default();
        for (at, r, before, after) in changes(facts) {
            let of = of.entry(r.address.to_canonical()).or_default();
            of.push((r.time_ns, before, after, at));
        }
        let mut stood: FxHashMap<End, Vec<i64>> = FxHashMap::default();
        for o in facts
            .opens
            .iter()
            .filter(|o| o.end == OpenEnd::Established && !of.is_empty())
        {
            if let Some((ip, port)) = o.to {
                stood.entry((ip.to_canonical(), port)).or_default().push(o.start_ns);
            }
        }
        Changes { facts, of, stood }
    }

    /// Of failed attempts to one end.
    pub(super) fn twice(&self, attempts: &[&OpenRow]) -> Option<Twice> {
        let (ip, port) = attempts.first()?.to?;
        let address = ip.to_canonical();
        let changes = self.of.get(&address)?;
        let (at, before, after, place) = *changes.first()?;
        let early = attempts.iter().filter(|o| o.start_ns < at).count();
        if early.saturating_mul(BUT) > attempts.len() {
            return None;
        }
        let back = changes.iter().any(|(_, b, a, _)| *b == after && *a == before);
        let stood = self.stood.get(&(address, port)).map_or(&[][..], |of| of);
        // Whoever took it answers: a failover that went well.
        if !back && stood.iter().any(|begin| *begin >= at) {
            return None;
        }
        let holders = self.facts.routes.holders(address);
        let listens = holders > 1 && self.facts.spaces.one_listens(SocketAddr::new(address, port));
        let known = listens || stood.iter().any(|begin| *begin < at);
        known.then(|| Twice {
            address: address.to_string(),
            before: before.to_string(),
            after: after.to_string(),
            back,
            at_ns: at.saturating_sub(self.facts.capture.start_ns.unwrap_or(0)),
            holders: holders as u64,
            first: Id::at(Kind::Neighbour, place),
        })
    }
}
