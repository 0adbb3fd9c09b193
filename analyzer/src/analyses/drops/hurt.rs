//! Which connections lost packets here: what else is late on them may be for that.

use std::collections::BTreeSet;

use crate::facts::Facts;
use crate::reconstruct::whose::Carries;

/// Connections of which this host lost data or SYNs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hurt {
    /// As in the view `connections`, those of both ends where both are in the recording.
    pub connections: BTreeSet<u32>,
    /// `address:port` of both ends.
    pub ends: BTreeSet<String>,
    /// Packets that were so lost.
    pub lost: u64,
    /// SYNs among them.
    pub syns: u64,
}

/// Of packets that healthy kernels would not have dropped.
pub fn hurt(facts: &Facts) -> Hurt {
    let mut hurt = Hurt::default();
    let lost = facts
        .drops
        .iter()
        .filter(|d| d.expected == Some(false) && !d.background);
    for owner in lost.filter_map(|d| d.owner) {
        let Some(c) = owner.connection else { continue };
        hurt.lost += 1;
        hurt.syns += u64::from(owner.carries == Carries::Syn);
        let Some(row) = facts.connections.get(c.0 as usize) else {
            continue;
        };
        if !hurt.connections.insert(c.0) {
            continue;
        }
        hurt.connections.extend(row.peer.map(|p| p.0));
        let ends = [(row.saddr, row.sport), (row.daddr, row.dport)];
        let ends = ends
            .into_iter()
            .filter_map(|(a, port)| Some(std::net::SocketAddr::new(a?, port)));
        hurt.ends.extend(ends.map(|end| end.to_string()));
    }
    hurt
}
