//! Whose units are they? Where the shares of services among a ledger's units differ much between the sides, what is longer may be no service's: those with long times have become more. What is
//! shorter likewise.
//! Times of each service tell, where both sides have most of their units in common; where these do not differ, or tell nothing, the same of each service's clients by their networks (/24, /64): from farther away everything
//! takes longer.
//!
//! In: rows of `rx` and `tx`, metrics that were judged. Out: metrics that are worse, and of no service are longer (better, and of none shorter), are changed, with the shares; where that cannot be told they
//! stay what they are, and it is said. Each metric is looked at by itself: a stage may be longer where the whole is not. Lives of skbs are looked at by the whole.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::compare::{Metric, PERCENTS};
use super::kinds::Kinds;
use super::strata::network;
use crate::diff::said::verdict::Outcome;
use crate::diff::servers::asks::Asks;
use crate::diff::sides::options::{DiffOptions, Recording};
use crate::diff::values::{
    ends::server_port,
    metrics::{rx_counts, tx_counts},
};
use crate::facts::ConnectionId;
use crate::name::Name;
use crate::reconstruct::receive::tables::{RxRow, Stage as RxStage};
use crate::reconstruct::transmit::stages::Stage as TxStage;
use crate::reconstruct::transmit::tables::TxRow;
use crate::stat::nearest_rank;

/// Part of the units that are of other services (total variation).
const OTHERS: f64 = 0.3;
/// The same where some servers are asked otherwise.
const OTHERS_KNOWN: f64 = 0.1;
/// Units that a side must have.
const LEAST: usize = 30;
/// Part of each side's units that must be of services which both sides have: of the others it is not known what is longer.
const IN_COMMON: f64 = 0.7;
/// Part of the whole's shift that a service's own must be: one of hundredths of it moves no percentile of all.
const OF_ALL: f64 = 0.2;
/// Services told.
const TOLD: usize = 2;

/// A unit.
#[derive(Clone, Copy)]
enum Unit<'f> {
    Rx(&'f RxRow),
    Tx(&'f TxRow),
}

/// What is measured of it.
#[derive(Clone, Copy)]
enum What {
    Total,
    Unattributed,
    Queue,
    Rx(RxStage),
    Tx(TxStage),
}

impl What {
    fn of(m: &Metric) -> Option<What> {
        let rx = || {
            RxStage::ALL
                .iter()
                .find(|s| s.name() == m.which.stage)
                .map(|s| What::Rx(*s))
        };
        let tx = || {
            TxStage::ALL
                .iter()
                .find(|s| s.name() == m.which.stage)
                .map(|s| What::Tx(*s))
        };
        match (m.which.ledger, m.which.stage) {
            ("lifetime", _) | (_, "total") => Some(What::Total),
            (_, "unattributed") => Some(What::Unattributed),
            ("rx", "rcvq") => Some(What::Queue),
            ("rx", _) => rx(),
            _ => tx(),
        }
    }
}

impl Unit<'_> {
    fn dev(self) -> Name {
        match self {
            Unit::Rx(x) => x.dev,
            Unit::Tx(x) => x.dev,
        }
    }
    fn connection(self) -> Option<ConnectionId> {
        match self {
            Unit::Rx(x) => x.connection,
            Unit::Tx(x) => x.connection,
        }
    }
    fn time(self, what: What) -> Option<i64> {
        match (self, what) {
            (Unit::Rx(x), What::Total) => Some(x.total_ns),
            (Unit::Tx(x), What::Total) => Some(x.total_ns),
            (Unit::Rx(x), What::Unattributed) => Some(x.unattributed_ns),
            (Unit::Tx(x), What::Unattributed) => Some(x.unattributed_ns),
            (Unit::Rx(x), What::Queue) => x.rcvq_ns,
            (Unit::Rx(x), What::Rx(stage)) => x.stage(stage),
            (Unit::Tx(x), What::Tx(stage)) => x.stage(stage),
            _ => None,
        }
    }
}

/// A service's port, and the network of its clients where these are told apart; `None`: of none that is known.
type Of = Option<(u16, Option<IpAddr>)>;

/// Units of each.
type Side<'f> = BTreeMap<Of, Vec<Unit<'f>>>;

fn text_of(of: Of) -> String {
    match of {
        None => "no known port".into(),
        Some((port, None)) => format!("port {port}"),
        Some((port, Some(network))) => format!("port {port} of {network}/{}", if network.is_ipv4() { 24 } else { 64 }),
    }
}

fn ports(all: &[Recording<'_>]) -> BTreeSet<u16> {
    let of = |r: &Recording<'_>| -> Vec<u16> {
        let ids = (0..r.facts.connections.len() as u32).map(ConnectionId);
        ids.filter_map(|c| server_port(r.facts, c)).collect()
    };
    all.iter().flat_map(of).collect()
}

fn side<'f>(all: &[Recording<'f>], ledger: &str, known: &BTreeSet<u16>, networks: bool) -> Side<'f> {
    let mut out = Side::new();
    for r in all {
        // What the other side alone knows of, by either end.
        let either = |c: ConnectionId| {
            let row = r.facts.connections.get(c.0 as usize)?;
            [row.sport, row.dport].into_iter().find(|p| known.contains(p))
        };
        let port = |c: Option<ConnectionId>| c.and_then(|c| server_port(r.facts, c).or_else(|| either(c)));
        // Of the end that has another port.
        let client = |c: Option<ConnectionId>, port: u16| {
            let row = r.facts.connections.get(c?.0 as usize)?;
            let far = if row.sport == port { row.daddr } else { row.saddr };
            far.filter(|_| networks).map(network)
        };
        let service = |c: Option<ConnectionId>| port(c).map(|port| (port, client(c, port)));
        let counts = |start, dev, c| r.has(start) && r.takes(dev, c);
        if ledger == "rx" {
            let of = r.facts.rx.iter().filter(|x| rx_counts(x));
            for x in of.filter(|x| counts(x.start_ns, x.dev, x.connection)) {
                out.entry(service(x.connection)).or_default().push(Unit::Rx(x));
            }
        } else {
            let of = r.facts.tx.iter().filter(|x| tx_counts(x) == Some(ledger));
            for x in of.filter(|x| counts(x.start_ns, x.dev, x.connection)) {
                out.entry(service(x.connection)).or_default().push(Unit::Tx(x));
            }
        }
    }
    out
}

/// Times of a metric's units of connections that are asked for, with their recording's number; `None`: it has no units of its own rows.
pub(super) fn times(
    all: &[Recording<'_>],
    m: &Metric,
    wanted: impl Fn(usize, ConnectionId) -> bool,
) -> Option<Vec<i64>> {
    let ledger = m.which.ledger;
    let what = What::of(m).filter(|_| matches!(ledger, "rx" | "tx"))?;
    let on = |x: &Unit<'_>| m.which.dev.as_deref().is_none_or(|d| d == x.dev().text());
    let mut out = vec![];
    for (nth, r) in all.iter().enumerate() {
        let known = BTreeSet::new();
        let units = side(std::slice::from_ref(r), ledger, &known, false)
            .into_values()
            .flatten();
        let own = units.filter(|x| on(x) && x.connection().is_some_and(|c| wanted(nth, c)));
        out.extend(own.filter_map(|x| x.time(what)));
    }
    Some(out)
}

/// Whether a service's own units moved, as far as they must to be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moved {
    Yes,
    No,
    NotKnown,
}

/// Shares of services of a ledger on both sides.
struct Shares<'f> {
    before: Side<'f>,
    after: Side<'f>,
}

impl<'f> Shares<'f> {
    fn of(before: &[Recording<'f>], after: &[Recording<'f>], ledger: &str, networks: bool) -> Shares<'f> {
        let known: BTreeSet<u16> = ports(before).union(&ports(after)).copied().collect();
        Shares {
            before: side(before, ledger, &known, networks),
            after: side(after, ledger, &known, networks),
        }
    }
    /// Share before and after of each service, those that moved most first.
    fn shares(&self) -> Vec<(Of, f64, f64)> {
        let whole = |side: &Side<'_>| side.values().map(Vec::len).sum::<usize>();
        let (b, a) = (whole(&self.before), whole(&self.after));
        if b < LEAST || a < LEAST {
            return vec![];
        }
        let share = |side: &Side<'_>, p: &Of, whole: usize| side.get(p).map_or(0, Vec::len) as f64 / whole as f64;
        let all: BTreeSet<&Of> = self.before.keys().chain(self.after.keys()).collect();
        let each = all
            .into_iter()
            .map(|p| (*p, share(&self.before, p, b), share(&self.after, p, a)));
        let mut each: Vec<(Of, f64, f64)> = each.collect();
        each.sort_by(|x, y| (y.2 - y.1).abs().total_cmp(&(x.2 - x.1).abs()).then(x.0.cmp(&y.0)));
        each
    }
    /// How the units are of other services.
    fn others(&self, least: f64) -> Option<String> {
        let shares = self.shares();
        let moved = shares.iter().map(|(_, b, a)| (a - b).abs()).sum::<f64>() / 2.0;
        let text = |(of, b, a): &(Of, f64, f64)| format!("{} {:.0} -> {:.0} %", text_of(*of), b * 100.0, a * 100.0);
        let told: Vec<String> = shares.iter().take(TOLD).map(text).collect();
        let what = match shares.iter().any(|(of, ..)| of.is_some_and(|of| of.1.is_some())) {
            true => "other clients",
            false => "other services",
        };
        (moved > least).then(|| format!("its units are of {what} ({})", told.join(", ")))
    }
    /// Whether any service's own units are longer in what is worse of this metric, or shorter in what is better; not of ports whose requests are others.
    fn moved(&self, m: &Metric, other_requests: &BTreeSet<u16>, o: &DiffOptions) -> Moved {
        let Some(what) = What::of(m) else {
            return Moved::NotKnown;
        };
        let of = |side: &Side<'_>| -> BTreeMap<Of, Vec<i64>> {
            let on = |x: &&Unit<'_>| m.which.dev.as_deref().is_none_or(|d| d == x.dev().text());
            let times = |units: &Vec<Unit<'_>>| units.iter().filter(on).filter_map(|x| x.time(what)).collect();
            side.iter().map(|(port, units)| (*port, times(units))).collect()
        };
        let (b, a) = (of(&self.before), of(&self.after));
        let n = |side: &BTreeMap<Of, Vec<i64>>, p: &Of| side.get(p).map_or(0, Vec::len);
        let both: Vec<&Of> = (b.keys())
            .filter(|p| p.is_some() && n(&b, p).min(n(&a, p)) >= LEAST)
            .collect();
        let common = |side: &BTreeMap<Of, Vec<i64>>| {
            let whole: usize = side.values().map(Vec::len).sum();
            both.iter().map(|p| n(side, p)).sum::<usize>() as f64 / whole.max(1) as f64
        };
        let mut not_known = common(&b).min(common(&a)) < IN_COMMON;
        let called = m.shifts.iter().filter(|s| s.outcome == m.outcome);
        let percents: Vec<(u64, i64)> = called.map(|s| (s.percent, s.shift.saturating_abs())).collect();
        // Other requests are answered in another time: shorter is no improvement then, longer may be harm all the same.
        let judged = |p: &&Of| m.outcome != Outcome::Better || p.is_none_or(|p| !other_requests.contains(&p.0));
        for p in both.into_iter().filter(judged) {
            let (Some(b), Some(a)) = (b.get(p), a.get(p)) else {
                continue;
            };
            let (mut b, mut a) = (b.clone(), a.clone());
            for (percent, whole) in &percents {
                // Of too few it is not known, and may be.
                if PERCENTS
                    .iter()
                    .any(|(p, need)| p == percent && b.len().min(a.len()) < *need)
                {
                    not_known = true;
                    continue;
                }
                let (relative, absolute) = o.least(*percent);
                let at = |v: &mut Vec<i64>| nearest_rank(v, *percent as usize);
                let moved = at(&mut b).zip(at(&mut a));
                let far = |(b, a): (i64, i64)| {
                    let by = if m.outcome == Outcome::Better {
                        b.saturating_sub(a)
                    } else {
                        a.saturating_sub(b)
                    };
                    let least = ((b as f64 * relative) as i64).max((*whole as f64 * OF_ALL) as i64);
                    by >= least.max(absolute)
                };
                if moved.is_some_and(far) {
                    return Moved::Yes;
                }
            }
        }
        if not_known { Moved::NotKnown } else { Moved::No }
    }
}

/// Ports of services that are asked many times as often per answer, or as seldom.
fn other_requests(asks: &[Asks]) -> BTreeSet<u16> {
    let asked = asks.iter().filter(|a| a.asks_otherwise()).map(|a| a.asked.as_str());
    asked.filter_map(|to| to.rsplit_once(':')?.1.parse().ok()).collect()
}

/// Calls changed what is longer, or shorter, as its units are of other services.
pub(in crate::diff) fn moderate(
    metrics: &mut [Metric],
    before: &[Recording<'_>],
    after: &[Recording<'_>],
    asks: &[Asks],
    kinds: &[Kinds],
    o: &DiffOptions,
) {
    let other_requests = other_requests(asks);
    for ledger in ["rx", "tx"] {
        let theirs =
            |m: &Metric| m.which.ledger == ledger || m.which.ledger == "lifetime" && m.which.stage.starts_with(ledger);
        let of = |m: &&mut Metric| [Outcome::Worse, Outcome::Better].contains(&m.outcome) && theirs(m);
        if !metrics.iter_mut().any(|m| of(&m)) {
            continue;
        }
        let shares = Shares::of(before, after, ledger, false);
        let otherwise = kinds.iter().any(|k| k.mixture) || asks.iter().any(Asks::asks_otherwise);
        let least = if otherwise { OTHERS_KNOWN } else { OTHERS };
        // By whose clients they are where the services are as before.
        let by_services = shares.others(least).map(|others| (shares, others));
        let networks = by_services.is_none();
        let by_clients = || {
            let shares = Shares::of(before, after, ledger, true);
            shares.others(least).map(|others| (shares, others))
        };
        let Some((shares, others)) = by_services.or_else(by_clients) else {
            continue;
        };
        for m in metrics.iter_mut().filter(of) {
            let way = if m.outcome == Outcome::Better {
                "shorter"
            } else {
                "longer"
            };
            let told = match shares.moved(m, &other_requests, o) {
                Moved::Yes => continue,
                Moved::No => {
                    m.becomes_changed(m.outcome);
                    let ports: Vec<String> = other_requests.iter().map(|p| format!("port {p}")).collect();
                    match way == "shorter" && !ports.is_empty() {
                        true => format!(
                            "{others}, and of none they are {way} but of {}, which is asked otherwise",
                            ports.join(", ")
                        ),
                        false => format!("{others}, and of none they are {way}"),
                    }
                }
                Moved::NotKnown if networks => continue,
                Moved::NotKnown => format!("{others}, and whether these are {way} is not known"),
            };
            m.mix = Some(match m.mix.take() {
                Some(differ) => format!("{differ}; {told}"),
                None => told,
            });
        }
    }
}
