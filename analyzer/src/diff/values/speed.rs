//! How fast what TCP sends goes through: payload acknowledged per time in which some was under way, by service (the end with the lower
//! port, and whether it sends or is sent to). What users of a bulk transfer feel, and no stage tells.
//!
//! Requests and answers are none of it, nor is what nothing but the CPU held.
//!
//! In: `tx` rows, and what held each socket. Out: a rate `tcp.speed[...]` for each service with [`LEAST_BYTES`] or more, and a sentence. All connections of a service
//! together: where there are more of them, each may be slower and the whole is not.

use std::collections::BTreeMap;

use super::again::length;
use super::counted::{Counted, Exposure, FINEST, Key, Kind};
use super::service::{self, Service};
use crate::analyses::application::sockets;
use crate::analyses::verdict::{capital, limiter, rate};
use crate::diff::judged::rates::Rate;
use crate::diff::said::verdict::Outcome;
use crate::diff::sides::options::Recording;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::transmit::tables::{TxKind, TxRow};

/// Fewest bytes of payload: less is no transfer whose speed matters.
const LEAST_BYTES: u64 = 1_000_000;
/// Requests or answers of fewer bytes are no transfer: their speed is that of their round trips, which `app` has.
const LEAST_TURN: u64 = 50_000;
/// Part of the time in which some was under way that this host or the peer's window must have held it: what the CPU's speed limits varies with all else
/// that runs there.
const LEAST_HELD: f64 = 0.5;
/// How its metrics begin.
pub(in crate::diff) const SPEED: &str = "tcp.speed[";

/// The metric of a service.
pub(in crate::diff) fn metric(of: &Service) -> String {
    format!("{SPEED}{}]", service::name(of))
}

/// What held the data of each service, on one side: ns by wait, and in which some was under way.
#[derive(Debug, Clone, Default)]
struct Held {
    busy_ns: f64,
    by: BTreeMap<&'static str, f64>,
}

impl Held {
    /// The wait that was most of it, and its part.
    fn most(&self) -> Option<(&'static str, f64)> {
        let (stage, ns) = self.by.iter().max_by(|a, b| a.1.total_cmp(b.1))?;
        Some((stage, ns / self.busy_ns.max(1.0)))
    }
}

/// What the speeds of both sides have to do with.
#[derive(Debug, Default)]
pub(in crate::diff) struct Speeds {
    services: BTreeMap<String, Service>,
    held: [BTreeMap<String, Held>; 2],
}

impl Speeds {
    /// Of whole recordings.
    pub(in crate::diff) fn of(before: &[Recording<'_>], after: &[Recording<'_>]) -> Speeds {
        let mut out = Speeds::default();
        for (side, held) in [before, after].into_iter().zip(&mut out.held) {
            for r in side {
                for (c, spent) in &r.facts.spent {
                    let Some(service) = service::service(r.facts, *c) else {
                        continue;
                    };
                    let name = metric(&service);
                    let of = held.entry(name.clone()).or_default();
                    of.busy_ns += spent.busy_ns as f64;
                    for (stage, share) in spent.shares() {
                        *of.by.entry(stage).or_default() += share * spent.busy_ns as f64;
                    }
                    out.services.insert(name, service);
                }
            }
        }
        out
    }
    /// `What is sent to 10.0.0.1:80 goes through at 57 Mbit/s before and at 24 Mbit/s after; held 89 % ...`.
    pub(in crate::diff) fn said(&self, r: &Rate) -> Option<String> {
        let whose = capital(&service::whose(self.services.get(&r.metric)?));
        let slower = if r.difference < 0.0 { "slower" } else { "faster" };
        let of = |v: f64| rate(v * 8.0 / 1e6);
        let most = |side: &BTreeMap<String, Held>| {
            let (stage, part) = side.get(&r.metric)?.most()?;
            Some(format!("{:.0} % of its time by {}", part * 100.0, limiter(stage)))
        };
        let [before, after] = self.held.each_ref().map(most);
        let held = match (before, after) {
            (Some(b), Some(a)) => format!("; held {b} before, {a} after"),
            (None, Some(a)) => format!("; held {a} after"),
            _ => String::new(),
        };
        let at_once = r.at_once.filter(|_| r.outcome == Outcome::Changed);
        let at_once = at_once.map_or_else(String::new, |(b, a)| {
            format!(
                ", on {b:.1} -> {a:.1} connections at once (mean): that may be why, and is neither better nor worse"
            )
        });
        Some(format!(
            "{whose} goes through {slower}: {} -> {} while there is some{at_once}{held}",
            of(r.before.value),
            of(r.after.value)
        ))
    }
}

fn rows<'r>(r: &'r Recording<'_>) -> impl Iterator<Item = &'r TxRow> {
    let here = |x: &&TxRow| x.kind == TxKind::Tcp && r.on(x.dev) && x.t_ack_ns.is_some_and(|t| r.has(t));
    r.facts.tx.iter().filter(here)
}

/// Requests and answers of the connections that speak in turns: on each, how many.
fn turns(facts: &Facts) -> BTreeMap<u32, u64> {
    let all = sockets(facts);
    let of = all
        .iter()
        .filter(|s| s.in_turns)
        .map(|s| (s.connection.0, (s.turns() as u64).max(1)));
    of.collect()
}

/// Counts bytes, and the time in which there were some.
pub(in crate::diff) fn speeds(r: &Recording<'_>, out: &mut Counted, block: impl Fn(i64) -> Option<usize>) {
    // A service is told by its address.
    if r.by_port {
        return;
    }
    let mut by_connection: BTreeMap<u32, Vec<&TxRow>> = BTreeMap::new();
    for row in rows(r) {
        if let Some(c) = row.connection {
            by_connection.entry(c.0).or_default().push(row);
        }
    }
    let turns = turns(r.facts);
    let mut of: BTreeMap<Service, (Vec<&TxRow>, f64, f64)> = BTreeMap::new();
    for (c, rows) in by_connection {
        let bytes = rows
            .iter()
            .fold(0u64, |sum, r| sum.saturating_add(r.bytes.unwrap_or(0).into()));
        let small = turns.get(&c).is_some_and(|n| bytes / n < LEAST_TURN);
        let c = ConnectionId(c);
        if let Some(service) = service::service(r.facts, c).filter(|_| !small) {
            let (all, busy, held) = of.entry(service).or_default();
            all.extend(rows);
            if let Some(spent) = r.facts.spent.get(&c) {
                *busy += spent.busy_ns as f64;
                *held += spent.held_ns() as f64;
            }
        }
    }
    for (service, (rows, busy, held)) in of {
        if held < LEAST_HELD * busy {
            continue;
        }
        let bytes = rows
            .iter()
            .fold(0u64, |sum, r| sum.saturating_add(r.bytes.unwrap_or(0).into()));
        if bytes < LEAST_BYTES {
            continue;
        }
        let name = metric(&service);
        let (busy, meaning) = (
            Exposure::Busy(name.clone()),
            "payload acknowledged per second in which some was sent and not acknowledged",
        );
        let key = Key::new(name, meaning, Kind::Speed, false).needs(&["tcp:tcp_probe"]);
        out.at_once.insert(key.metric.clone(), at_once(r, &rows));
        for row in &rows {
            if let (Some(b), Some(bytes)) = (row.t_ack_ns.and_then(&block), row.bytes) {
                out.count(key.clone(), busy.clone(), b, f64::from(bytes));
            }
        }
        let mut spans: Vec<(i64, i64)> = rows.iter().filter_map(|x| span(r, x)).collect();
        spans.sort_unstable();
        let mut until = i64::MIN;
        for (from, to) in spans {
            let from = from.max(until);
            expose(r, out, &busy, (from, to));
            until = until.max(to);
        }
    }
}

/// When a segment was under way.
fn span(r: &Recording<'_>, x: &TxRow) -> Option<(i64, i64)> {
    Some((x.start_ns.max(r.from_ns), x.t_ack_ns?.min(r.to_ns)))
}

/// Time in which data was under way: of each connection, all together, and of any.
fn at_once(r: &Recording<'_>, rows: &[&TxRow]) -> (f64, f64) {
    let mut each: BTreeMap<Option<u32>, Vec<(i64, i64)>> = BTreeMap::new();
    for x in rows {
        each.entry(x.connection.map(|c| c.0)).or_default().extend(span(r, x));
    }
    let any = length(each.values().flatten().copied().collect());
    let each = each.into_values().map(length).fold(0i64, i64::saturating_add);
    (each as f64, any as f64)
}

/// Mean connections at once on each side.
pub(in crate::diff) fn connections(metric: &str, before: &[Counted], after: &[Counted]) -> Option<(f64, f64)> {
    let mean = |side: &[Counted]| {
        let of = side.iter().filter_map(|c| c.at_once.get(metric));
        let (each, any) = of.fold((0.0, 0.0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        (any > 0.0).then_some(each / any)
    };
    mean(before).zip(mean(after))
}

/// Adds a stretch of time to the blocks that it is in.
fn expose(r: &Recording<'_>, out: &mut Counted, what: &Exposure, (from, to): (i64, i64)) {
    let width = (r.duration_ns() / FINEST as i64).max(1);
    let mut from = from;
    while from < to {
        let block = usize::try_from(from.saturating_sub(r.from_ns) / width)
            .unwrap_or(0)
            .min(FINEST - 1);
        let end = match block {
            last if last + 1 == FINEST => to,
            b => r.from_ns.saturating_add(width.saturating_mul(b as i64 + 1)).min(to),
        };
        out.expose(what.clone(), block, end.saturating_sub(from) as f64 / 1e9);
        from = end.max(from.saturating_add(1));
    }
}
