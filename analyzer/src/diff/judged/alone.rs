//! Transfers that one side alone has (a backup that runs after, and did not run before): what they lose and send again is theirs, and where answers are compared and none takes longer nobody else feels it.
//!
//! In: rates that are worse, payload and drops of both sides. Out: of data sent again and of drops such rates that are no worse without these transfers, called changed and marked as not felt. Must not touch a rate of a service
//! that both sides have, nor be asked where an answer is worse.

use std::collections::{BTreeMap, BTreeSet};

use super::rates::Rate;
use crate::diff::said::verdict::Outcome;
use crate::diff::sides::options::{DiffOptions, Recording};
use crate::diff::values::again::{RETRANSMITS, RTO, segments};
use crate::diff::values::counted::drop_metric;
use crate::diff::values::ends::server_port;
use crate::facts::ConnectionId;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::tcp::tables::RetransmitClass;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};

/// Payload of a transfer, bytes, and what the other side may have of the same port.
const TRANSFER: u64 = 1_000_000;
const HARDLY: u64 = 50_000;

/// TCP payload by the server's port; `None`: not known whose.
fn sent(side: &[Recording<'_>]) -> BTreeMap<Option<u16>, u64> {
    let mut out = BTreeMap::new();
    for r in side {
        for row in data(r) {
            let port = row.connection.and_then(|c| server_port(r.facts, c));
            let of: &mut u64 = out.entry(port).or_default();
            *of = of.saturating_add(row.bytes.unwrap_or(0).into());
        }
    }
    out
}

fn data<'r>(r: &'r Recording<'_>) -> impl Iterator<Item = &'r TxRow> {
    let own = r.facts.tx.iter().filter(|x| x.kind == TxKind::Tcp && r.on(x.dev));
    own.filter(|x| r.has(x.t_ack_ns.unwrap_or(x.t_sched_ns)))
}

/// Ports with a transfer on one side alone. None where the other side has data of nobody known: it may be the same.
fn one_sided(b: &BTreeMap<Option<u16>, u64>, a: &BTreeMap<Option<u16>, u64>) -> BTreeSet<u16> {
    let of = |side: &BTreeMap<Option<u16>, u64>, port| side.get(&port).copied().unwrap_or(0);
    let alone = |here: &BTreeMap<Option<u16>, u64>, there: &BTreeMap<Option<u16>, u64>| -> BTreeSet<u16> {
        let ports = here.iter().filter(|(_, bytes)| **bytes >= TRANSFER);
        let ports = ports.filter_map(|(port, _)| *port);
        ports
            .filter(|p| of(there, Some(*p)) < HARDLY && of(there, None) < TRANSFER)
            .collect()
    };
    alone(b, a).union(&alone(a, b)).copied().collect()
}

/// What is left of a rate without these transfers: events, and what they are counted of.
fn left(side: &[Recording<'_>], metric: &str, but: &BTreeSet<u16>) -> Option<(f64, Option<f64>)> {
    let mut out = (0.0, 0.0);
    let drops = metric.starts_with("drops.");
    for r in side {
        let theirs = |c: Option<ConnectionId>| {
            let port = c.and_then(|c| server_port(r.facts, c));
            port.is_some_and(|p| but.contains(&p))
        };
        if drops {
            let here = |d: &&DropRow| r.has(d.time_ns) && drop_metric(r, d).as_deref() == Some(metric);
            let of = r.facts.drops.iter().filter(here);
            out.0 += of.filter(|d| !theirs(d.owner.and_then(|o| o.connection))).count() as f64;
            continue;
        }
        let again = r.facts.retransmits.iter().filter(|t| r.has(t.time_ns));
        let again = again.filter(|t| !theirs(t.connection));
        let counts = |class: RetransmitClass| metric == RETRANSMITS || metric == RTO && class == RetransmitClass::Rto;
        for t in again {
            out.0 += f64::from(u8::from(counts(t.class)));
            out.1 += f64::from(t.segments.unwrap_or(1).max(1));
        }
        let own = data(r).filter(|x| !theirs(x.connection));
        out.1 += own.map(|x| f64::from(segments(x))).sum::<f64>();
    }
    match drops {
        true => Some((out.0, None)),
        false => (out.1 > 0.0).then_some((out.0, Some(out.1))),
    }
}

/// Calls changed, and marks, what is worse by such transfers alone.
pub(in crate::diff) fn moderate(rates: &mut [Rate], [before, after]: [&[Recording<'_>]; 2], o: &DiffOptions) {
    let of = |r: &Rate| {
        let named = r.metric == RETRANSMITS || r.metric == RTO || r.metric.starts_with("drops.");
        r.outcome == Outcome::Worse && named
    };
    if !rates.iter().any(of) {
        return;
    }
    let alone = one_sided(&sent(before), &sent(after));
    if alone.is_empty() {
        return;
    }
    for r in rates.iter_mut().filter(|r| of(r)) {
        let (Some(b), Some(a)) = (left(before, &r.metric, &alone), left(after, &r.metric, &alone)) else {
            continue;
        };
        let per = |(events, of): (f64, Option<f64>), all: f64| events / of.unwrap_or(all).max(1.0);
        if per(a, r.after.out_of) - per(b, r.before.out_of) < o.events {
            (r.outcome, r.unfelt) = (Outcome::Changed, true);
        }
    }
}
