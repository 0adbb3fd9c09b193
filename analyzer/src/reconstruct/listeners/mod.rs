//! How many sockets listened at a port at once, as the kernel's lists of sockets (sock_diag) say: with SO_REUSEPORT the kernel gives each
//! connection to one of several, by a hash of its addresses or by a program.
//!
//! In: `sockets` snapshots. Out: [`listeners`], by port. Must not guess: of a port at which sockets of several network namespaces or
//! of several addresses listened nothing is told, nor whose a socket is.
//!
//! ```text
//! lines of one list in state listen ── by namespace and address ── sockets of it
//!                                      └ another one of that port: not told
//! ```
//! Source: net/core/sock_reuseport.c `reuseport_select_sock`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use netmortem_formats::Capture;
use netmortem_formats::capture::SnapshotWhen;

use crate::reconstruct::tcp::tables::ConnectionRow;
use crate::snapshots::{field, listening};

/// Others that speak to one end from which it is asked by many.
const MANY: usize = 3;

#[cfg(test)]
mod tests;

/// Ports at which TCP sockets listened, of any network namespace and address.
pub fn ports(capture: &Capture) -> BTreeSet<u16> {
    listening(capture, |_| true).map(|(port, _)| port).collect()
}

/// Ends that three others or more spoke to, by either end's socket.
pub fn asked_by_many<'a>(connections: impl IntoIterator<Item = &'a ConnectionRow>) -> BTreeSet<(IpAddr, u16)> {
    let mut others: BTreeMap<(IpAddr, u16), BTreeSet<(IpAddr, u16)>> = BTreeMap::new();
    for c in connections {
        let (Some(own), Some(peer)) = (c.saddr, c.daddr) else {
            continue;
        };
        let (own, peer) = ((own.to_canonical(), c.sport), (peer.to_canonical(), c.dport));
        for (end, other) in [(own, peer), (peer, own)] {
            let of = others.entry(end).or_default();
            if of.len() < MANY {
                of.insert(other);
            }
        }
    }
    let many = others.into_iter().filter(|(_, of)| of.len() >= MANY);
    many.map(|(end, _)| end).collect()
}

/// TCP sockets that listened at each port, in the list that has most of them.
pub fn listeners(capture: &Capture) -> BTreeMap<u16, u64> {
    let mut most: BTreeMap<u16, u64> = BTreeMap::new();
    // Namespace and address of each port.
    let mut at: BTreeMap<u16, BTreeSet<(&str, &str)>> = BTreeMap::new();
    for when in [SnapshotWhen::Start, SnapshotWhen::End] {
        let mut of: BTreeMap<u16, u64> = BTreeMap::new();
        for (port, l) in listening(capture, move |w| w == when) {
            if let (Some(netns), Some(src)) = (field(l, "netns"), field(l, "src")) {
                at.entry(port).or_default().insert((netns, src));
                *of.entry(port).or_default() += 1;
            }
        }
        for (port, n) in of {
            let most = most.entry(port).or_default();
            *most = n.max(*most);
        }
    }
    most.retain(|port, _| at.get(port).is_some_and(|at| at.len() == 1));
    most
}
