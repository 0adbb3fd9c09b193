//! Transfers that lose more than they did, and are as fast: what nobody awaits, and is as soon at its end, harms nobody by what it sends again.
//!
//! In: rates that are worse, speeds of transfers, payload and drops of both sides. Out: of data sent again and of drops such rates that are no worse without these transfers, called changed. Must not be asked where an answer is
//! worse, nor say so of a service that answers requests, or whose speed is not compared.

use std::collections::{BTreeMap, BTreeSet};

use super::rates::Rate;
use crate::analyses::application::sockets;
use crate::diff::said::verdict::Outcome;
use crate::diff::sides::options::{DiffOptions, Recording};
use crate::diff::values::again::{RETRANSMITS, RTO, segments};
use crate::diff::values::counted::drop_metric;
use crate::diff::values::{
    service::{name, service},
    speed::SPEED,
};
use crate::facts::ConnectionId;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::tcp::tables::RetransmitClass;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};

/// Requests from which on a service answers.
const LEAST: usize = 30;

fn data<'r>(r: &'r Recording<'_>) -> impl Iterator<Item = &'r TxRow> {
    let own = r.facts.tx.iter().filter(|x| x.kind == TxKind::Tcp && r.on(x.dev));
    own.filter(|x| r.has(x.t_ack_ns.unwrap_or(x.t_sched_ns)) && !r.is_alone(x.connection))
}

/// `to 10.0.0.1:873`: services whose transfers are as fast as before, or faster.
fn as_fast(rates: &[Rate], sides: [&[Recording<'_>]; 2], o: &DiffOptions) -> BTreeSet<String> {
    let shown = |r: &&Rate| {
        let slower = r.before.value - r.after.value > o.speed_relative * r.before.value;
        matches!(r.outcome, Outcome::Same | Outcome::Better) && !slower
    };
    let of = rates
        .iter()
        .filter(shown)
        .filter_map(|r| r.metric.strip_prefix(SPEED)?.strip_suffix(']'));
    let mut out: BTreeSet<String> = of.map(str::to_owned).collect();
    // Who answers requests: a few words beside a transfer are none.
    let mut answers: BTreeMap<String, usize> = BTreeMap::new();
    for r in sides.into_iter().flatten() {
        for s in &sockets(r.facts) {
            if let Some(service) = service(r.facts, s.connection) {
                *answers.entry(name(&service)).or_default() += s.all_turns();
            }
        }
    }
    out.retain(|service| answers.get(service).is_none_or(|n| *n < LEAST));
    out
}

/// What is left of a rate without these transfers: events, and what they are counted of.
fn left(side: &[Recording<'_>], metric: &str, but: &BTreeSet<String>) -> (f64, Option<f64>) {
    let mut out = (0.0, 0.0);
    let drops = metric.starts_with("drops.");
    for r in side {
        let theirs = |c: Option<ConnectionId>| {
            let of = c.and_then(|c| service(r.facts, c));
            of.is_some_and(|s| but.contains(&name(&s)))
        };
        if drops {
            let here = |d: &&DropRow| r.has(d.time_ns) && drop_metric(r, d).as_deref() == Some(metric);
            let of = r.facts.drops.iter().filter(here);
            out.0 += of.filter(|d| !theirs(d.owner.and_then(|o| o.connection))).count() as f64;
            continue;
        }
        // Of a connection of these devices, or of none known, as the rate counts them.
        let here: BTreeSet<_> = data(r).filter_map(|x| x.connection).collect();
        let on = |c: Option<ConnectionId>| r.devices.is_empty() || c.is_none_or(|c| here.contains(&c));
        let again = r
            .facts
            .retransmits
            .iter()
            .filter(|t| r.has(t.time_ns) && on(t.connection));
        let again = again.filter(|t| !r.is_alone(t.connection) && !theirs(t.connection));
        let counts = |class: RetransmitClass| metric == RETRANSMITS || metric == RTO && class == RetransmitClass::Rto;
        for t in again {
            out.0 += f64::from(u8::from(counts(t.class)));
            out.1 += f64::from(t.segments.unwrap_or(1).max(1));
        }
        let own = data(r).filter(|x| !theirs(x.connection));
        out.1 += own.map(|x| f64::from(segments(x))).sum::<f64>();
    }
    (out.0, (!drops).then_some(out.1))
}

/// Calls changed what is worse by such transfers alone.
pub(in crate::diff) fn moderate(rates: &mut [Rate], sides: [&[Recording<'_>]; 2], o: &DiffOptions) {
    let of = |r: &Rate| {
        let named = r.metric.starts_with(RETRANSMITS) || r.metric == RTO || r.metric.starts_with("drops.");
        r.outcome == Outcome::Worse && named
    };
    if !rates.iter().any(of) {
        return;
    }
    let as_fast = as_fast(rates, sides, o);
    if as_fast.is_empty() {
        return;
    }
    let [before, after] = sides;
    for r in rates.iter_mut().filter(|r| of(r)) {
        let own = r
            .metric
            .strip_prefix(RETRANSMITS)
            .and_then(|s| s.strip_prefix('[')?.strip_suffix(']'));
        let theirs = match own {
            Some(service) => as_fast.contains(service),
            None => {
                let rest = |side, all: f64| {
                    let (events, of) = left(side, &r.metric, &as_fast);
                    events / of.unwrap_or(all).max(1.0)
                };
                rest(after, r.after.out_of) - rest(before, r.before.out_of) < o.events
            }
        };
        if theirs {
            r.outcome = Outcome::Changed;
        }
    }
}
