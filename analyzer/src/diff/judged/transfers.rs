//! Transfers that lose more than they did, and are as fast, or carry much more: what nobody awaits, and is as soon at its end, harms nobody by what it sends again.
//!
//! In: rates that are worse, speeds of transfers, payload and drops of both sides. Out: of data sent again and of drops such rates that are no worse without these transfers, called changed. Must not be asked where an answer is
//! worse, nor say so of a service that answers requests, or whose speed is not compared, but where it carries half as much again in the same time: who sends more loses more.

use std::collections::{BTreeMap, BTreeSet};

use super::rates::{Kind, Rate};
use crate::analyses::application::sockets;
use crate::diff::said::verdict::Outcome;
use crate::diff::sides::options::{DiffOptions, Recording, seconds};
use crate::diff::values::again::{RETRANSMITS, RTO, segments};
use crate::diff::values::counted::drop_metric;
use crate::diff::values::metrics::{rx_counts, tx_counts};
use crate::diff::values::{
    service::{name, service},
    speed::SPEED,
};
use crate::facts::ConnectionId;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::receive::tables::Stage as RxStage;
use crate::reconstruct::tcp::tables::RetransmitClass;
use crate::reconstruct::transmit::stages::Stage as TxStage;
use crate::reconstruct::transmit::tables::{TxKind, TxRow};

/// Shares of units that losses make.
const OUT_OF_ORDER: &str = "rx.met_out_of_order";
const RECOVERY: &str = "tx.met_recovery";
/// So many times as much in the same time is more.
const MORE: f64 = 1.5;
/// Requests from which on a service answers, and bytes that go with each where it is one of transfers all the same.
const LEAST: usize = 10;
const LARGE: f64 = 262_144.0;

fn data<'r>(r: &'r Recording<'_>) -> impl Iterator<Item = &'r TxRow> {
    let own = r.facts.tx.iter().filter(|x| x.kind == TxKind::Tcp && r.on(x.dev));
    own.filter(|x| r.has(x.t_ack_ns.unwrap_or(x.t_sched_ns)) && !r.is_alone(x.connection))
}

/// Payload that each service carries, bytes a second.
fn carried(side: &[Recording<'_>]) -> BTreeMap<String, f64> {
    let mut out: BTreeMap<String, f64> = BTreeMap::new();
    let seconds = seconds(side);
    for r in side {
        let mut by: BTreeMap<ConnectionId, f64> = BTreeMap::new();
        for (c, x) in data(r).filter_map(|x| Some((x.connection?, x))) {
            *by.entry(c).or_default() += f64::from(x.bytes.unwrap_or(0));
        }
        for (service, bytes) in by.into_iter().filter_map(|(c, n)| Some((service(r.facts, c)?, n))) {
            *out.entry(name(&service)).or_default() += bytes / seconds;
        }
    }
    out
}

/// `to 10.0.0.1:873`: services whose transfers are as fast as before, or faster.
pub(in crate::diff) fn as_fast(rates: &[Rate], sides: [&[Recording<'_>]; 2], o: &DiffOptions) -> BTreeSet<String> {
    let service_of = |r: &Rate| Some(r.metric.strip_prefix(SPEED)?.strip_suffix(']')?.to_owned());
    let compared: BTreeMap<String, &Rate> = rates.iter().filter_map(|r| Some((service_of(r)?, r))).collect();
    let no_slower = |(_, r): &(&String, &&Rate)| {
        let slower = r.before.value - r.after.value > o.speed_relative * r.before.value;
        matches!(r.outcome, Outcome::Same | Outcome::Better) && !slower
    };
    let mut out: BTreeSet<String> = compared.iter().filter(no_slower).map(|(s, _)| s.clone()).collect();
    let [before, after] = sides.map(carried);
    let more = |service: &&String| {
        let was = before.get(*service).copied().unwrap_or(0.0);
        was > 0.0 && after.get(*service).is_some_and(|is| *is >= MORE * was) && !compared.contains_key(*service)
    };
    out.extend(before.keys().filter(more).cloned());
    // Who answers requests: a few words beside a transfer are none.
    let answers = sides.map(answers);
    out.retain(|service| {
        let n = answers.each_ref().map(|of| of.get(service).copied().unwrap_or(0));
        let large = |nth: usize, of: &BTreeMap<String, f64>, all: f64| {
            let n = n.get(nth).copied().unwrap_or(0).max(1) as f64;
            of.get(service).is_some_and(|rate| rate * all >= LARGE * n)
        };
        let [b, a] = sides.map(seconds);
        n.iter().sum::<usize>() < LEAST || large(0, &before, b) && large(1, &after, a)
    });
    out
}

/// Requests of each service.
fn answers(side: &[Recording<'_>]) -> BTreeMap<String, usize> {
    let mut out: BTreeMap<String, usize> = BTreeMap::new();
    for r in side {
        for s in &sockets(r.facts) {
            if let Some(service) = service(r.facts, s.connection) {
                *out.entry(name(&service)).or_default() += s.all_turns();
            }
        }
    }
    out
}

/// `10.0.0.1:873`: ends of those services whose speed is compared.
pub(super) fn servers(rates: &[Rate], as_fast: &BTreeSet<String>) -> BTreeSet<String> {
    let compared = |s: &&String| rates.iter().any(|r| r.metric == format!("{SPEED}{s}]"));
    let all = as_fast.iter().filter(compared);
    all.filter_map(|s| Some(s.split_once(' ')?.1.to_owned())).collect()
}

/// Units of a stage without these transfers: those that met it, and all.
fn units<U>(of: impl Iterator<Item = U>, met: impl Fn(U) -> bool) -> (f64, f64) {
    of.fold((0.0, 0.0), |(n, all), unit| {
        (n + f64::from(u8::from(met(unit))), all + 1.0)
    })
}

/// What is left of a rate without these transfers: events, and what they are counted of; `None`: of that of all.
pub(in crate::diff) fn left(side: &[Recording<'_>], metric: &str, but: &BTreeSet<String>) -> (f64, Option<f64>) {
    // At either end.
    let ends: BTreeSet<&str> = but.iter().filter_map(|s| Some(s.split_once(' ')?.1)).collect();
    let (mut n, mut all) = (0.0, 0.0);
    let drops = metric.starts_with("drops.");
    for r in side {
        let ids = (0..r.facts.connections.len() as u32).map(ConnectionId);
        let of = |c: &ConnectionId| {
            let service = service(r.facts, *c).map(|s| name(&s));
            service.is_some_and(|s| s.split_once(' ').is_some_and(|(_, end)| ends.contains(end)))
        };
        let all_theirs: BTreeSet<ConnectionId> = ids.filter(of).collect();
        let theirs = |c: Option<ConnectionId>| c.is_some_and(|c| all_theirs.contains(&c));
        let counts = |start: i64, dev, c| r.has(start) && r.takes(dev, c) && !theirs(c);
        let (met, of) = match metric {
            _ if drops => {
                let here = |d: &&DropRow| r.has(d.time_ns) && drop_metric(r, d).as_deref() == Some(metric);
                let of = r.facts.drops.iter().filter(here);
                units(of.filter(|d| !theirs(d.owner.and_then(|o| o.connection))), |_| true)
            }
            OUT_OF_ORDER => {
                let of = r
                    .facts
                    .rx
                    .iter()
                    .filter(|x| rx_counts(x) && counts(x.start_ns, x.dev, x.connection));
                units(of, |x| x.stage(RxStage::OutOfOrder).is_some_and(|ns| ns > 0))
            }
            RECOVERY => {
                let of = r.facts.tx.iter().filter(|x| tx_counts(x) == Some("tx"));
                let of = of.filter(|x| counts(x.start_ns, x.dev, x.connection));
                units(of, |x| x.stage(TxStage::Recovery).is_some_and(|ns| ns > 0))
            }
            _ => {
                // Of a connection of these devices, or of none known, as the rate counts them.
                let here: BTreeSet<_> = data(r).filter_map(|x| x.connection).collect();
                let on = |c: Option<ConnectionId>| r.devices.is_empty() || c.is_none_or(|c| here.contains(&c));
                let again = r
                    .facts
                    .retransmits
                    .iter()
                    .filter(|t| r.has(t.time_ns) && on(t.connection));
                let again = again.filter(|t| !r.is_alone(t.connection) && !theirs(t.connection));
                let sent: f64 = data(r)
                    .filter(|x| !theirs(x.connection))
                    .map(|x| f64::from(segments(x)))
                    .sum();
                again.fold((0.0, sent), |(n, all), t| {
                    let counts = metric == RETRANSMITS || t.class == RetransmitClass::Rto;
                    (
                        n + f64::from(u8::from(counts)),
                        all + f64::from(t.segments.unwrap_or(1).max(1)),
                    )
                })
            }
        };
        (n, all) = (n + met, all + of);
    }
    (n, (!drops).then_some(all))
}

/// Calls changed what is worse by such transfers alone (`as_fast`).
pub(in crate::diff) fn moderate(
    rates: &mut [Rate],
    as_fast: &BTreeSet<String>,
    sides: [&[Recording<'_>]; 2],
    o: &DiffOptions,
) {
    let of = |r: &Rate| {
        let named = r.metric.starts_with(RETRANSMITS) || r.metric.starts_with("drops.");
        let named = named || [RTO, OUT_OF_ORDER, RECOVERY].contains(&r.metric.as_str());
        r.outcome == Outcome::Worse && named
    };
    if as_fast.is_empty() || !rates.iter().any(of) {
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
                    let (events, of) = left(side, &r.metric, as_fast);
                    events / of.unwrap_or(all).max(1.0)
                };
                let least = if matches!(r.kind, Kind::Units) {
                    o.units
                } else {
                    o.events
                };
                rest(after, r.after.out_of) - rest(before, r.before.out_of) < least
            }
        };
        if theirs {
            r.outcome = Outcome::Changed;
        }
    }
}
