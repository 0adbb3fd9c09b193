//! Frames that came to a host without their IP address, where the neighbour tables tell why: another host has the same MAC address.
//!
//! Needs `neighbours`. A switch or bridge sends frames for one MAC address to the port at which it saw that address last.

use std::collections::BTreeSet;
use std::net::IpAddr;

use crate::facts::Facts;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::neighbours::tables::NeighbourRow;

/// Reason of the kernel for packets that came to an address that is none of the host's.
pub(super) const NOT_MINE: &str = "IP_INADDRERRORS";
/// Addresses named.
const NAMED: usize = 3;

/// `172.20.0.12 and 172.20.0.13 have the same MAC address, 02:42:ac:14:00:0c`.
pub(super) fn same_mac(facts: &Facts, rows: &[&DropRow]) -> Option<String> {
    let to = rows.iter().find_map(|d| {
        let c = d.owner.as_ref()?.connection?;
        facts.connections.get(c.0 as usize)?.daddr
    })?;
    // By the tables before and after, and by what changed between.
    let at = |n: &NeighbourRow| {
        Some((
            n.address,
            n.after.or(n.before).and_then(|held| held.valid())?.to_string(),
        ))
    };
    let told = facts.neighbours.iter().filter_map(at);
    let known: Vec<(IpAddr, String)> = facts
        .routes
        .macs()
        .map(|(a, mac)| (a, mac.to_owned()))
        .chain(told)
        .collect();
    let mac = known.iter().rfind(|(a, _)| *a == to).map(|(_, mac)| mac.clone())?;
    // Several addresses of one host are no news.
    let host = facts.routes.namespace(to);
    let other = |a: IpAddr| a == to || host.is_none() || facts.routes.namespace(a) != host;
    let same = known
        .iter()
        .filter(|(a, m)| a.is_ipv4() == to.is_ipv4() && *m == mac && other(*a));
    let same: BTreeSet<IpAddr> = same.map(|(a, _)| *a).collect();
    let named: Vec<String> = same.iter().take(NAMED).map(IpAddr::to_string).collect();
    (same.len() > 1).then(|| {
        let more = if same.len() > NAMED { " and others" } else { "" };
        format!("{}{more} have the same MAC address, {mac}", named.join(" and "))
    })
}
