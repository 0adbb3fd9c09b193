//! Which traffic do both sides have? Units of services that one side alone has, as of a backup that runs after and did not run before, are left out
//! of what is compared of units: they would pass for a change of the others.
//!
//! In: rows of `rx` and `tx` and the sockets' ends. Out: sockets and skbs that are left out of each recording, and a sentence. A service is the server's
//! port: one that moved to another host is the same. Where what is left out is more than half of a side, nothing is: then the traffic is another.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use rustc_hash::FxHashSet;

use super::options::Recording;
use super::parity::{Check, Level, check};
use super::slices::hidden;
use crate::diff::values::ends::server_port;
use crate::facts::{ConnectionId, SkbId};

/// Fewest units of a service that one side alone has.
const LEAST: u64 = 30;
/// Largest part of a side's units that is left out.
const MOST: f64 = 0.5;
/// Services that are named.
const NAMED: usize = 4;

/// Of one recording.
#[derive(Debug, Default)]
pub(in crate::diff) struct LeftOut {
    pub connections: FxHashSet<ConnectionId>,
    pub skbs: FxHashSet<SkbId>,
}

/// Units of a side.
#[derive(Default)]
struct Side {
    /// By service.
    services: BTreeMap<u16, u64>,
    /// All of them.
    all: u64,
    /// Ports at either end: which of them is the service's is not known of every connection.
    ports: BTreeSet<u16>,
}

fn side(all: &[Recording<'_>]) -> Side {
    let mut out = Side::default();
    for r in all {
        let rx = r.facts.rx.iter().filter(|x| r.sees(x.start_ns, x.dev));
        let tx = r.facts.tx.iter().filter(|x| r.sees(x.start_ns, x.dev));
        for c in rx.map(|x| x.connection).chain(tx.map(|x| x.connection)) {
            out.all += 1;
            if let Some(row) = c.and_then(|c| r.facts.connections.get(c.0 as usize)) {
                out.ports.extend([row.sport, row.dport]);
            }
            if let Some(port) = c.and_then(|c| server_port(r.facts, c)) {
                *out.services.entry(port).or_default() += 1;
            }
        }
    }
    out
}

/// Services of `here` that `there` has not.
fn alone(here: &Side, there: &Side) -> BTreeSet<u16> {
    let of = here.services.iter();
    of.filter(|(port, n)| **n >= LEAST && !there.ports.contains(port))
        .map(|(port, _)| *port)
        .collect()
}

/// What is left out of a recording.
fn of_one(r: &Recording<'_>, ports: &BTreeSet<u16>) -> LeftOut {
    let mut out = LeftOut::default();
    let ids = (0..r.facts.connections.len() as u32).map(ConnectionId);
    out.connections
        .extend(ids.filter(|c| server_port(r.facts, *c).is_some_and(|p| ports.contains(&p))));
    let theirs = |c: Option<ConnectionId>| c.is_some_and(|c| out.connections.contains(&c));
    let rx = r.facts.rx.iter().filter(|x| theirs(x.connection)).map(|x| x.skb_id);
    let tx = r.facts.tx.iter().filter(|x| theirs(x.connection));
    out.skbs = rx
        .chain(tx.flat_map(|x| [Some(x.skb_id), x.original].into_iter().flatten()))
        .collect();
    out
}

fn words(ports: &BTreeSet<u16>, part: f64) -> String {
    if ports.is_empty() {
        return "none".to_owned();
    }
    let named: Vec<String> = ports.iter().take(NAMED).map(u16::to_string).collect();
    let more = if ports.len() > NAMED { ", ..." } else { "" };
    format!("port {}{more}: {:.0} % of the units", named.join(", "), part * 100.0)
}

impl Side {
    /// The part of its units that services have.
    fn part(&self, ports: &BTreeSet<u16>) -> f64 {
        let n: u64 = ports.iter().filter_map(|p| self.services.get(p)).sum();
        n as f64 / self.all.max(1) as f64
    }
}

/// Who speaks to whom, loopback apart.
fn addresses(side: &[Recording<'_>]) -> BTreeSet<IpAddr> {
    let rows = side.iter().flat_map(|r| &r.facts.connections);
    let both = rows
        .flat_map(|c| [c.saddr, c.daddr])
        .flatten()
        .map(|a| a.to_canonical());
    both.filter(|a| !a.is_loopback()).collect()
}

/// That most units of either side are of services which the other has not, that none is in both, and no address: the two are of different work.
/// (A server that moved to another port has its address.)
pub(in crate::diff) fn nothing_in_common(b: &[Recording<'_>], a: &[Recording<'_>]) -> Option<Check> {
    if hidden(b, a) || !addresses(b).is_disjoint(&addresses(a)) {
        return None;
    }
    let sides = [side(b), side(a)];
    let ports = [alone(&sides[0], &sides[1]), alone(&sides[1], &sides[0])];
    let parts = [sides[0].part(&ports[0]), sides[1].part(&ports[1])];
    let shared = |s: &Side, alone: &BTreeSet<u16>| s.services.iter().any(|(p, n)| *n >= LEAST && !alone.contains(p));
    let strangers = parts.iter().all(|p| *p > MOST) && !shared(&sides[0], &ports[0]) && !shared(&sides[1], &ports[1]);
    strangers.then(|| {
        check(
            "services",
            words(&ports[0], parts[0]),
            words(&ports[1], parts[1]),
            Some((
                Level::Prevents,
                "No server's port and no address is on both sides: they are recordings of different work, and what one does is no measure of the other.",
            )),
        )
    })
}

/// Of each recording of both sides, and what is said of it; `None`: nothing is left out.
pub(in crate::diff) fn left_out(b: &[Recording<'_>], a: &[Recording<'_>]) -> Option<([Vec<LeftOut>; 2], Check)> {
    if hidden(b, a) {
        return None;
    }
    let sides = [side(b), side(a)];
    let ports = [alone(&sides[0], &sides[1]), alone(&sides[1], &sides[0])];
    let parts = [sides[0].part(&ports[0]), sides[1].part(&ports[1])];
    if ports.iter().all(BTreeSet::is_empty) || parts.iter().any(|p| *p > MOST) {
        return None;
    }
    let says = "Units of services that one side alone has are left out of the times of units.";
    let told = check(
        "services of one side",
        words(&ports[0], parts[0]),
        words(&ports[1], parts[1]),
        Some((Level::Differs, says)),
    );
    let of = |side: &[Recording<'_>], ports| side.iter().map(|r| of_one(r, ports)).collect();
    Some(([of(b, &ports[0]), of(a, &ports[1])], told))
}
