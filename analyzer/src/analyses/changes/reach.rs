//! Whose packets a change of a host can have touched: what is counted before and after it is of these.
//!
//! A network namespace that does not forward and has no bridge is an end: its settings, routes, rules and queues touch only what it sends and receives itself. Addresses and
//! devices touch others, too (one address of two hosts, a loop). Must not leave out what may pass: what is not known is counted.

use std::net::IpAddr;

use crate::announced::tables::ChangeRow;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::drops::tables::DropRow;

/// Changes that touch only what passes the host that they are of.
const OWN: [&str; 7] = ["route", "rule", "qdisc", "class", "filter", "ruleset", "sysctl"];

/// Of which host alone something can differ; `None`: of any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reach(pub Option<u64>);

impl Reach {
    /// Of changes at one time.
    pub fn of(facts: &Facts, cluster: &[&ChangeRow]) -> Reach {
        let Some(netns) = cluster.first().map(|r| r.netns) else {
            return Reach(None);
        };
        let own = |r: &&ChangeRow| r.netns == netns && OWN.contains(&r.what);
        let forwarded = |r: &ChangeRow| r.netns == netns && r.what == "sysctl" && r.of.ends_with("forward");
        if facts.announced.rows.iter().any(forwarded) {
            return Reach(None);
        }
        let end = facts.forwards.get(&netns) == Some(&false) && !facts.routes.links.may_switch(netns);
        Reach((end && cluster.iter().all(own)).then_some(netns))
    }

    fn has_not(facts: &Facts, netns: u64, (address, pid): (Option<IpAddr>, i32)) -> bool {
        match address.and_then(|a| facts.spaces.has_address(netns, a)) {
            Some(has) => !has,
            None => facts.spaces.of_process(pid).is_some_and(|of| of != netns),
        }
    }

    /// Whether one of a connection's ends may be there.
    pub fn connection(self, facts: &Facts, c: Option<ConnectionId>) -> bool {
        let row = |c: ConnectionId| facts.connections.get(c.0 as usize);
        let Some((netns, own)) = self.0.zip(c.and_then(row)) else {
            return true;
        };
        // An address may be translated on the way: the socket at the other end says which it is.
        let other = own.peer.and_then(row);
        let there = other.map_or((own.daddr, 0), |o| (o.saddr, o.pid));
        !Self::has_not(facts, netns, (own.saddr, own.pid)) || !Self::has_not(facts, netns, there)
    }

    /// Whether a packet was perhaps dropped there, or is of such a connection.
    pub fn drop(self, facts: &Facts, d: &DropRow) -> bool {
        let of = d.owner.and_then(|o| o.connection);
        let device = |netns| facts.routes.links.has(netns, &d.dev.text());
        match (self.0, of) {
            (Some(_), Some(_)) => self.connection(facts, of),
            (Some(netns), None) => device(netns) != Some(false),
            (None, _) => true,
        }
    }
}
