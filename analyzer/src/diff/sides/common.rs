//! Which traffic do both sides have? Units of services that one side alone has, as of a backup that runs after and did not run before, are left out
//! of what is compared of units: they would pass for a change of the others.
//!
//! In: rows of `rx` and `tx` and the sockets' ends. Out: sockets and skbs that are left out of each recording, and a sentence. A service is the server's
//! port: one that moved to another host is the same. Where what is left out is more than half of a side, nothing is: then the traffic is another.
//!
//! Transfers that one side alone has (`transfers`) are left out however many units they have.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use rustc_hash::FxHashSet;

use super::options::Recording;
use super::parity::{Check, Level, check};
use super::slices::hidden;
use super::transfers::Transfers;
use crate::diff::values::ends::server_port;
use crate::facts::{ConnectionId, SkbId};

/// Fewest units of a service that one side alone has.
const LEAST: u64 = 30;
/// Largest part of a side's units that is left out.
const MOST: f64 = 0.5;
/// Services that are named.
pub(super) const NAMED: usize = 4;

/// Of one recording.
#[derive(Debug, Default)]
pub(in crate::diff) struct LeftOut {
    pub connections: FxHashSet<ConnectionId>,
    pub skbs: FxHashSet<SkbId>,
    /// Of transfers: these count in no rate, either.
    pub transfers: FxHashSet<ConnectionId>,
    pub their_skbs: FxHashSet<SkbId>,
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
fn of_one(r: &Recording<'_>, own: &Own) -> LeftOut {
    let mut out = LeftOut::default();
    let ids = (0..r.facts.connections.len() as u32).map(ConnectionId);
    out.connections
        .extend(ids.filter(|c| server_port(r.facts, *c).is_some_and(|p| own.ports.contains(&p))));
    let of = |c: &ConnectionId| server_port(r.facts, *c).is_some_and(|p| own.transfers.contains(&p));
    out.transfers.extend(out.connections.iter().copied().filter(of));
    let skbs = |of: &FxHashSet<ConnectionId>| -> FxHashSet<SkbId> {
        let theirs = |c: Option<ConnectionId>| c.is_some_and(|c| of.contains(&c));
        let rx = r.facts.rx.iter().filter(|x| theirs(x.connection)).map(|x| x.skb_id);
        let tx = r.facts.tx.iter().filter(|x| theirs(x.connection));
        rx.chain(tx.flat_map(|x| [Some(x.skb_id), x.original].into_iter().flatten()))
            .collect()
    };
    (out.skbs, out.their_skbs) = (skbs(&out.connections), skbs(&out.transfers));
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

/// What is left out of both sides.
pub(in crate::diff) struct Alone {
    pub of: [Vec<LeftOut>; 2],
    pub check: Check,
    /// A sentence for the transfers of each side.
    pub transfers: Vec<String>,
}

/// What one side alone has.
struct Own {
    ports: BTreeSet<u16>,
    transfers: BTreeSet<u16>,
    /// Part of its units that these have, and those of them that are no transfers.
    part: f64,
    others: f64,
    /// Units besides.
    rest: u64,
}

impl Own {
    fn of(here: &Side, ports: BTreeSet<u16>, transfers: BTreeSet<u16>) -> Own {
        let part = here.part(&ports);
        Own {
            part,
            others: here.part(&ports.difference(&transfers).copied().collect()),
            rest: (here.all as f64 * (1.0 - part)) as u64,
            ports,
            transfers,
        }
    }
}

/// Of each recording of both sides, and what is said of it; `None`: nothing is left out.
pub(in crate::diff) fn left_out(b: &[Recording<'_>], a: &[Recording<'_>]) -> Option<Alone> {
    if hidden(b, a) {
        return None;
    }
    let (sb, sa) = (side(b), side(a));
    let (pb, pa) = (alone(&sb, &sa), alone(&sa, &sb));
    let (of_b, of_a) = (Transfers::of(b), Transfers::of(a));
    // Where both sides have such, one may be the other, which moved to another port.
    let moved = [of_b.among(&pb, &of_a), of_a.among(&pa, &of_b)];
    let [tb, ta] = match moved.iter().any(BTreeSet::is_empty) {
        true => moved,
        false => <_>::default(),
    };
    let (before, after) = (Own::of(&sb, pb, tb), Own::of(&sa, pa, ta));
    let none = before.ports.is_empty() && after.ports.is_empty();
    if none || before.others.max(after.others) > MOST || before.rest.min(after.rest) < LEAST {
        return None;
    }
    let says = "Units of services that one side alone has are left out of the times of units.";
    let check = check(
        "services of one side",
        words(&before.ports, before.part),
        words(&after.ports, after.part),
        Some((Level::Differs, says)),
    );
    let of = |side: &[Recording<'_>], own: &Own| -> Vec<LeftOut> { side.iter().map(|r| of_one(r, own)).collect() };
    let (left_b, left_a) = (of(b, &before), of(a, &after));
    let transfers = [
        of_b.said(b, &left_b, &before.transfers, "before"),
        of_a.said(a, &left_a, &after.transfers, "after"),
    ];
    Some(Alone {
        of: [left_b, left_a],
        check,
        transfers: transfers.into_iter().flatten().collect(),
    })
}
