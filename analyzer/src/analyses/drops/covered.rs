//! Packets for hosts that were reached before, and that a route which came meanwhile has looked for on another device, where nobody has their addresses: a new network (of containers, a VPN, a bridge) whose range covers theirs.
//!
//! ```text
//! before   172.20.5.11 answers, by the gateway              routes   default via 10.40.2.1
//! then     ARP for 172.20.5.11 on br-7f3ac1, no answer       routes   172.20.0.0/16 dev br-7f3ac1 (new), default via 10.40.2.1
//! ```
//! Needs `drops` for want of a neighbour, `neighbours`, `connections`, `tcp_states`, and of the snapshots routes of both times and links. Must not be told where the device has answered for one of them, where they were not reached before, or
//! where the route was there at the begin.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::group::Group;
use super::reasons::UNRESOLVED;
use super::rerouted::few;
use crate::analyses::lives::lives;
use crate::analyses::verdict::counted;
use crate::facts::Facts;
use crate::reconstruct::neighbours::tables::NeighbourRow;
use crate::routes::Route;
use crate::snapshots::number;

/// A packet too many waited for a neighbour.
const TOO_MANY: &str = "NEIGH_QUEUEFULL";
/// Routes that are looked at.
const LOOKED_AT: usize = 64;

/// Of a group's packets, in words that stand before what is said of them.
pub(super) fn covered(facts: &Facts, group: &Group) -> Option<String> {
    if ![UNRESOLVED, TOO_MANY].contains(&group.reason.as_str()) {
        return None;
    }
    let devices = &facts.multicast.devices;
    let routes = facts
        .snapshots
        .iter()
        .filter(|r| r.what == "routes" && r.end && !r.start);
    let new = routes.filter_map(|r| {
        let route = Route::onward(&r.line)?;
        let (to, dev) = (route.to?, devices.name(route.netns, number(&r.line, "ifindex")?)?);
        route.via.is_none().then(|| (route, to, dev.to_owned()))
    });
    let mut new: Vec<_> = new.collect();
    new.sort_by(|a, b| (&a.2, a.1).cmp(&(&b.2, b.1)));
    new.truncate(LOOKED_AT);
    new.into_iter()
        .find_map(|(route, to, dev)| words(facts, &route, to, &dev))
}

/// Of a route that came.
fn words(facts: &Facts, route: &Route, (net, bits): (IpAddr, u8), dev: &str) -> Option<String> {
    let mut asked: BTreeMap<IpAddr, Vec<&NeighbourRow>> = BTreeMap::new();
    let there = |r: &&NeighbourRow| r.dev.text() == dev && route.length(r.address).is_some();
    for r in facts.neighbours.iter().filter(there) {
        asked.entry(r.address.to_canonical()).or_default().push(r);
    }
    let valid = |r: &&NeighbourRow| [r.before, r.after].into_iter().flatten().any(|h| h.valid().is_some());
    asked.retain(|_, rows| !rows.iter().any(valid));
    if asked.is_empty() {
        return None;
    }
    // Who had a connection before they were looked for there.
    let lives = lives(facts);
    let mut since: BTreeMap<IpAddr, i64> = BTreeMap::new();
    let mut connections = 0u64;
    for c in &facts.connections {
        let Some(address) = c.daddr.map(|a| a.to_canonical()) else {
            continue;
        };
        let Some(first) = asked.get(&address).and_then(|rows| rows.first()) else {
            continue;
        };
        let life = lives.get(&c.connection).copied().unwrap_or_default();
        let stood = life.stood.map_or(c.born.is_none(), |at| at < first.time_ns);
        if stood && c.first_ns < first.time_ns && c.bytes_in > 0 {
            connections += 1;
            since.insert(address, first.time_ns);
        }
    }
    let start = facts.capture.start_ns.unwrap_or(0);
    let from = since.values().min()?.saturating_sub(start) as f64 / 1e9;
    let named: Vec<String> = since.keys().map(IpAddr::to_string).collect();
    Some(format!(
        "from {from:.3} s on what is for {} is looked for on {dev}, where nobody has these addresses: meanwhile their host got the route `{net}/{bits} dev {dev}`, which covers them; before, {} with them stood",
        few(&named),
        counted(connections, "connection", "connections"),
    ))
}
