//! What changed while recording that may be why packets were dropped: an address that was taken from its host, a bridge's port whose carrier came back, or was lost, so that what
//! went by it is flooded to other hosts.
//!
//! Needs `addresses` and `links` of the snapshots before and after. After its carrier has come a port of a bridge with spanning tree listens and learns,
//! each for the forward delay (net/bridge/br_stp_if.c `br_stp_enable_port`), and forwards nothing until then. That this was why is inferred. Of addresses it is inferred: what a packet without a route was
//! for, or from, is known where it has a connection only.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::Group;
use super::reasons::{OTHERHOST, STP};
use crate::analyses::went::Went;
use crate::facts::{ConnectionId, Facts};
use crate::name::Name;
use crate::reconstruct::drops::NOT_FORWARDED;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::{ETH_P_IP, ETH_P_IPV6};
use crate::routes::Flap;
use crate::settings::changed::{Change, FORWARD};

/// Reasons of packets for which the host lacks an address or a route.
const UNREACHABLE: [&str; 3] = ["IP_OUTNOROUTES", "IP_INNOROUTES", "IP_INADDRERRORS"];
/// Frames of a connection before the one that was dropped that are looked at.
const FRAMES: usize = 64;
/// BR_STATE_BLOCKING.
const BLOCKING: u64 = 4;
/// Beginnings of names of functions of one family.
const OF_V4: [&str; 4] = ["ip_", "inet_", "tcp_v4_", "udp_"];
const OF_V6: [&str; 5] = ["ip6_", "ipv6_", "inet6_", "tcp_v6_", "udpv6_"];

/// The host forwarded at the start and does not at the end, and what it dropped is for others.
pub(super) fn no_router(facts: &Facts, rows: &[&DropRow]) -> Option<(String, Change)> {
    let off = |c: &&Change| c.name == FORWARD && c.before == "1" && c.after == "0";
    // Who forwards drops none so: of others that have a device of that name, and do not, it may be as well.
    let devs: BTreeSet<Name> = rows.iter().map(|d| d.dev).collect();
    let has = |netns: u64| {
        devs.iter()
            .all(|dev| facts.routes.links.has(netns, &dev.text()) == Some(true))
    };
    let may = |netns: u64| {
        devs.iter()
            .any(|dev| facts.routes.links.has(netns, &dev.text()) == Some(true))
    };
    let theirs = |c: &&Change| {
        let mut others = facts
            .forwards
            .iter()
            .filter(|(n, forwards)| c.netns != Some(**n) && !**forwards);
        let known = !facts.forwards.is_empty() && !others.any(|(n, _)| may(*n));
        known && c.netns.is_none_or(has)
    };
    if !rows.iter().all(|d| d.why == NOT_FORWARDED) {
        return None;
    }
    let mut all = facts.changed.iter().filter(off).filter(theirs);
    let one_change = all.next().filter(|_| all.next().is_none())?;
    let start = facts.capture.start_ns.unwrap_or(0);
    let first = rows.iter().map(|d| d.time_ns).min()?.saturating_sub(start);
    let host = match one_change.addresses.as_slice() {
        [] => "a host".to_owned(),
        of => format!("the host of {}", of.join(" and ")),
    };
    let says = format!(
        "{host} no longer forwards: net.ipv4.ip_forward was switched from 1 to 0 in the recording, and what came there for others was dropped from {:.3} s on",
        first as f64 / 1e9
    );
    Some((says, one_change.clone()))
}

pub(super) fn meanwhile(facts: &Facts, group: &Group, rows: &[&DropRow]) -> Option<String> {
    match group.reason.as_str() {
        STP => port(facts, group),
        OTHERHOST => lost_port(facts, rows),
        reason if UNREACHABLE.contains(&reason) => address(facts, rows),
        _ => None,
    }
}

/// Of all links of that name: one that is blocked at the end is no port whose carrier matters, but one that the tree does without.
fn port(facts: &Facts, group: &Group) -> Option<String> {
    let flap = facts.routes.flap(&group.dev)?;
    let blocked = |f: &Flap| f.dev == group.dev && f.port_state == Some(BLOCKING);
    if facts.routes.flaps.iter().any(blocked) {
        return None;
    }
    let s = |ns: &i64| format!("{:.1}", *ns as f64 / 1e9);
    let when = match group.times.as_slice() {
        [] => return None,
        [at] => format!("a frame that came to it at {} s", s(at)),
        [first, .., last] => format!(
            "{} frames that came to it, the first at {}, the last at {} s",
            group.times.len(),
            s(first),
            s(last)
        ),
    };
    let times = if flap.changes == 1 {
        "once".to_owned()
    } else {
        format!("{} times", flap.changes)
    };
    Some(format!(
        "port {} of a bridge dropped {when} (spanning tree lets nothing pass while it listens and learns, as each time when its carrier, which changed {times} in the recording, has come back: inferred)",
        group.dev,
    ))
}

/// Frames of connections that had gone by another device, whose carrier changed: a bridge that has lost a port knows none for who was behind it, and sends
/// to all. Of the devices the one that most of them had gone by.
fn lost_port(facts: &Facts, rows: &[&DropRow]) -> Option<String> {
    // Of several devices of one name nothing tells which it was.
    let mut flaps: BTreeMap<Name, usize> = BTreeMap::new();
    for f in &facts.routes.flaps {
        *flaps.entry(Name::new(f.dev.as_bytes())).or_default() += 1;
    }
    flaps.retain(|_, n| *n == 1);
    if flaps.is_empty() {
        return None;
    }
    let of = |d: &&DropRow| Some((d.owner?.connection?, d.time_ns));
    let of: Vec<(ConnectionId, i64)> = rows.iter().filter_map(of).collect();
    let went = Went::of(facts, of.iter().map(|d| d.0));
    let mut lost: BTreeMap<Name, Vec<i64>> = BTreeMap::new();
    for (c, at) in &of {
        let mut ways = went.until(*c, *at).take(FRAMES);
        let Some(now) = ways.next() else { continue };
        let flapped = |dev: &&Name| !now.contains(dev) && flaps.contains_key(dev);
        if let Some(dev) = ways.find_map(|way| way.iter().find(flapped)) {
            lost.entry(*dev).or_default().push(*at);
        }
    }
    let (dev, times) = lost.into_iter().max_by_key(|(_, times)| times.len())?;
    let (first, end) = (*times.iter().min()?, *times.iter().max()?);
    let mut passed: Vec<i64> = (facts.hops.iter())
        .filter(|h| h.dev == dev && h.kind == "queue")
        .map(|h| h.time_ns)
        .collect();
    passed.sort_unstable();
    let next = passed.partition_point(|at| *at <= first);
    // Most of them, and none went by it meanwhile.
    if times.len() * 2 < rows.len() || passed.get(next).is_some_and(|again| *again <= end) {
        return None;
    }
    let start = facts.capture.start_ns.unwrap_or(0);
    let s = |ns: i64| format!("{:.3}", ns.saturating_sub(start) as f64 / 1e9);
    let last = *passed.get(next.checked_sub(1)?)?;
    let until = match passed.get(next) {
        Some(again) => format!(
            "from {} to {} s ({:.3} s)",
            s(last),
            s(*again),
            again.saturating_sub(last) as f64 / 1e9
        ),
        None => format!("after {} s", s(last)),
    };
    let times = facts.routes.flap(&dev.text())?.changes;
    let times = if times == 1 {
        "once".to_owned()
    } else {
        format!("{times} times")
    };
    Some(format!(
        "no frame went by {} {until}, whose carrier changed {times} in the recording, and what had gone by it was sent to other ports of its bridge in place, to hosts that do not want it (flooded; inferred)",
        dev.text()
    ))
}

/// Whether a packet is IPv6; `None`: nothing tells. One that has no route may have no protocol yet: then the function that freed it tells.
fn v6(facts: &Facts, d: &DropRow) -> Option<bool> {
    match d.protocol {
        ETH_P_IPV6 => Some(true),
        ETH_P_IP => Some(false),
        _ => {
            let name = facts.names.locations.get(&d.location)?.trim_start_matches('_');
            let is = |all: &[&str]| all.iter().any(|of| name.starts_with(of));
            match (is(&OF_V6), is(&OF_V4)) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            }
        }
    }
}

fn address(facts: &Facts, rows: &[&DropRow]) -> Option<String> {
    let gone = facts.routes.gone();
    let ends = |c: u32| {
        let row = facts.connections.get(c as usize);
        row.map_or([None; 2], |r| [r.saddr, r.daddr])
    };
    let of: BTreeSet<IpAddr> = (rows.iter().filter_map(|d| d.owner.as_ref()?.connection))
        .flat_map(|c| ends(c.0))
        .flatten()
        .map(|a| a.to_canonical())
        .collect();
    let theirs = |(_, a): &&(u64, IpAddr)| of.contains(a);
    let global = |(_, a): &&(u64, IpAddr)| !matches!(a, IpAddr::V6(a) if a.is_unicast_link_local());
    // Another namespace's address is not why. What a host sends without a route has no device: of that it is not known.
    let here = |netns: u64| {
        let has = |d: &DropRow| facts.routes.links.has(netns, &d.dev.text());
        rows.iter().all(|d| has(d) != Some(false))
    };
    let family = |a: &IpAddr| rows.iter().all(|d| v6(facts, d).is_none_or(|v6| v6 == a.is_ipv6()));
    let only = || match gone.iter().filter(global).collect::<Vec<_>>().as_slice() {
        [one] if of.is_empty() && family(&one.1) && here(one.0) => Some(*one),
        _ => None,
    };
    let (_, address) = gone.iter().find(theirs).or_else(only)?;
    Some(format!(
        "{address} was taken from its host in the recording, as when a DHCP lease ends, which may be why (inferred)"
    ))
}
