//! What changed in the recording that may be why packets were dropped: an address that was taken from its host, a bridge's port whose carrier came back.
//!
//! Needs `addresses` and `links` of the snapshots before and after. After its carrier has come a port of a bridge with spanning tree listens and learns,
//! each for the forward delay (net/bridge/br_stp_if.c `br_stp_enable_port`), and forwards nothing until then. Of addresses it is inferred: what a packet without a route was
//! for, or from, is known where it has a connection only.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::Group;
use crate::facts::Facts;
use crate::reconstruct::drops::tables::DropRow;

/// Reasons of packets for which the host lacks an address or a route.
const UNREACHABLE: [&str; 3] = ["IP_OUTNOROUTES", "IP_INNOROUTES", "IP_INADDRERRORS"];
/// Reason of frames at a port that does not forward.
const STP: &str = "BRIDGE_INGRESS_STP_STATE";

pub(super) fn meanwhile(facts: &Facts, group: &Group, rows: &[&DropRow]) -> Option<String> {
    match group.reason.as_str() {
        STP => port(facts, group),
        reason if UNREACHABLE.contains(&reason) => address(facts, rows),
        _ => None,
    }
}

fn port(facts: &Facts, group: &Group) -> Option<String> {
    let flap = facts.routes.flap(&group.dev)?;
    let (from, to) = group.times.first().copied().zip(group.times.last().copied())?;
    let s = |ns: i64| format!("{:.1}", ns as f64 / 1e9);
    let times = if flap.changes == 1 {
        "once".to_owned()
    } else {
        format!("{} times", flap.changes)
    };
    Some(format!(
        "port {} of a bridge forwarded nothing from {} to {} s at least (spanning tree: listening or learning, as each time when its carrier, which changed {times} in the recording, has come back)",
        group.dev,
        s(from),
        s(to)
    ))
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
    let theirs = |a: &&IpAddr| of.contains(a);
    let global = |a: &&IpAddr| !matches!(a, IpAddr::V6(a) if a.is_unicast_link_local());
    let only = || match gone.iter().filter(global).collect::<Vec<_>>().as_slice() {
        [one] if of.is_empty() => Some(*one),
        _ => None,
    };
    let address = gone.iter().find(theirs).or_else(only)?;
    Some(format!(
        "{address} was taken from its host in the recording, as when a DHCP lease ends, which may be why (inferred)"
    ))
}
