//! Stages beneath the answers that take longer, or less long, and that nobody feels: where answers are compared, enough of them, and none takes longer (less long), a stage that moved by little beside the answers that users
//! ask for, or of units that are of no answer (a backup), is a difference and no harm (no gain).
//!
//! Segments that are acknowledged with answers are looked at by themselves ([`with_answers`]).
//!
//! In: judged metrics, who asks whom, units of both sides. Out: what is worse (better) of `rx`, `tx`, `lifetime`, `poll`, `softirq` and `device`, called changed and marked. Must not touch anything where an answer is worse,
//! where some are much slower and not judged, or where answers are too few to have shown it; nor `tx_udp`, as answers by UDP are not compared. Where a server's clients are outside the recording, what they wait for is not
//! measured: it is no less than the turnaround, so that has to be compared, and counts with the answers. What `--fail-on` names is as before.

use std::collections::{BTreeMap, BTreeSet};

use super::compare::{Metric, PERCENTS};
use super::mixture;
use super::rates::Rate;
use super::{tails, transfers, with_answers};
use crate::analyses::application::{Role, sockets};
use crate::diff::said::verdict::Outcome;
use crate::diff::servers::{
    answers::{LEDGER, server},
    asks::Asks,
    clients::server_of,
    few::Few,
    large::Large,
};
use crate::diff::sides::options::{DiffOptions, Recording, seconds};
use crate::facts::ConnectionId;
use crate::stat::nearest_rank;

/// Answers of a server on each side that would have shown it.
const ENOUGH: u64 = 100;
/// And a change of the median of this part of it.
const SHOWN: f64 = 0.5;
/// Of the median answer of those that users ask: what is less is not felt.
pub(super) const FELT: f64 = 0.05;
/// Of the part above a percentile: units that are less are not why it moved.
const NO_PERCENTILE: f64 = 0.5;
/// Turnarounds from outside that tell of no users: so few, or one in so many of all.
const FEW: usize = 30;
const SMALL: usize = 20;
/// Part of the answers of before: less are far fewer.
const FEWER: f64 = 0.9;
/// Units from which on something is known of them.
const LEAST: usize = 30;
/// Classes of skbs whose lives are those of a ledger's units.
const LIVES: [(&str, &[&str]); 2] = [("rx", &["rx"]), ("tx", &["tx_original", "tx_clone"])];
/// Ledgers of what lies beneath.
const BENEATH: [&str; 6] = ["rx", "tx", "lifetime", "poll", "softirq", "device"];

/// Servers that no other one's program asks; where all are asked, all.
pub(in crate::diff) fn fronts<'m>(metrics: &'m [Metric], asks: &[Asks]) -> Vec<&'m Metric> {
    let all = || metrics.iter().filter(|m| m.which.is_wait());
    let known: BTreeSet<&str> = all()
        .filter_map(|m| m.which.service.as_deref())
        .map(server_of)
        .collect();
    let asked: BTreeSet<&str> = (asks.iter())
        .filter(|a| known.contains(a.server.as_str()) && a.before.requests.max(a.after.requests) > 0)
        .map(|a| a.asked.as_str())
        .collect();
    let behind = |m: &&Metric| m.which.service.as_deref().is_some_and(|s| asked.contains(server_of(s)));
    let out: Vec<&Metric> = all().filter(|m| !behind(m)).collect();
    match out.is_empty() {
        true => all().collect(),
        false => out,
    }
}

/// Requests of each server of a side that come from outside of the recording, and all of them.
fn from_outside(side: &[Recording<'_>]) -> BTreeMap<String, (usize, usize)> {
    let mut by = BTreeMap::<String, (usize, usize)>::new();
    for r in side {
        let alone = |c: ConnectionId| {
            let row = r.facts.connections.get(c.0 as usize);
            row.is_some_and(|row| row.peer.is_none())
        };
        for s in sockets(r.facts).iter().filter(|s| s.in_turns && s.role == Role::Server) {
            let turns = s.judged_turnarounds().count();
            if let Some(name) = server(r, s.connection, s.role) {
                let of = by.entry(name).or_default();
                of.0 += if alone(s.connection) { turns } else { 0 };
                of.1 += turns;
            }
        }
    }
    by
}

/// Servers of a side that are asked from outside of the recording: [`FEW`] times or more, and of what all servers are asked no small part.
fn asked_from_outside(side: &[Recording<'_>]) -> BTreeSet<String> {
    let by = from_outside(side);
    let all: usize = by.values().map(|(_, all)| all).sum();
    let many = |n: usize| n >= FEW && n.saturating_mul(SMALL) >= all;
    by.into_iter()
        .filter(|(_, (n, _))| many(*n))
        .map(|(name, _)| name)
        .collect()
}

/// Servers of a side of whose own requests no small part comes from outside of the recording.
pub(super) fn has_users_outside(side: &[Recording<'_>]) -> BTreeSet<String> {
    let many = |(n, all): (usize, usize)| n > 0 && n.saturating_mul(SMALL) >= all;
    from_outside(side)
        .into_iter()
        .filter(|(_, of)| many(*of))
        .map(|(name, _)| name)
        .collect()
}

/// What is known of answers beside their metrics.
pub(in crate::diff) struct Known<'k> {
    pub asks: &'k [Asks],
    /// Servers whose answers users do not wait for longer, or less long.
    pub upstream: BTreeSet<String>,
    /// Servers whose requests are of another mixture, each of them answered as quickly as before, the way to who asks and back with it.
    pub mixed: BTreeSet<String>,
    pub large: &'k [Large],
    pub few: &'k [Few],
    /// Devices whose queues packets of answers passed, as far as both their ends are recorded.
    pub devices: &'k BTreeMap<String, BTreeSet<String>>,
}

/// Whether so many answers that a change of their median would have been seen.
pub(super) fn seen(m: &Metric, outcome: Outcome) -> bool {
    let middle = m.shifts.iter().find(|s| s.percent == 50);
    let seen = middle.is_some_and(|s| {
        let least = s.before.max(s.after) as f64 * SHOWN;
        s.outcome == opposite(outcome) || s.minimum_detectable.is_some_and(|ns| ns as f64 <= least)
    });
    m.before.n.min(m.after.n) >= ENOUGH && seen
}

/// The median answer, ns, of whom users ask, and turnaround of those asked from `outside`: the shortest of these.
/// `None`: something is worse (better) there, or nothing would have shown it.
fn answered(metrics: &[Metric], known: &Known<'_>, outside: &BTreeSet<String>, outcome: Outcome) -> Option<i64> {
    let moved = |m: &Metric| m.which.ledger == LEDGER && m.outcome == outcome;
    let worse = outcome == Outcome::Worse;
    let large = known.large.iter().any(|l| l.worse == worse);
    // Few that surely take longer are answers as well.
    let few = known.few.iter().any(|f| f.surely_moved(worse));
    if large || few || metrics.iter().any(moved) || worse && !tails::said(metrics).is_empty() {
        return None;
    }
    let shows = |m: &Metric| {
        let mixed = (m.which.service.as_deref()).is_some_and(|s| known.mixed.contains(server_of(s)));
        seen(m, outcome) || mixed && m.before.n.min(m.after.n) >= ENOUGH
    };
    let fronts = fronts(metrics, known.asks);
    let median = |m: &Metric| Some(m.before.p50_ns?.min(m.after.p50_ns?));
    let answer = fronts.iter().filter(|m| shows(m)).filter_map(|m| median(m)).min()?;
    let turnaround = |server: &String| {
        let own = |m: &&Metric| {
            m.which.ledger == LEDGER && m.which.stage == "turnaround" && m.which.service.as_ref() == Some(server)
        };
        metrics.iter().find(own).filter(|m| shows(m)).and_then(median)
    };
    let theirs: Option<Vec<i64>> = outside.iter().map(turnaround).collect();
    theirs?.into_iter().chain([answer]).min()
}

pub(super) fn opposite(outcome: Outcome) -> Outcome {
    match outcome {
        Outcome::Worse => Outcome::Better,
        _ => Outcome::Worse,
    }
}

/// Where the answers of all servers that users ask take less long: the least by which the median does, ns. What is little beside that takes nothing from it.
fn gain(metrics: &[Metric], asks: &[Asks]) -> i64 {
    let less = |m: &&Metric| {
        let middle = m
            .shifts
            .iter()
            .find(|s| s.percent == 50 && s.outcome == Outcome::Better);
        middle.map_or(0, |s| s.shift.saturating_neg())
    };
    fronts(metrics, asks).iter().map(less).min().unwrap_or(0).max(0)
}

/// No server that users ask gives far fewer answers a second than before.
fn as_many(metrics: &[Metric], asks: &[Asks], [before, after]: [f64; 2]) -> bool {
    let each = |n: u64, seconds: f64| n as f64 / seconds.max(1e-9);
    let fewer = |m: &&Metric| each(m.after.n, after) < FEWER * each(m.before.n, before);
    !fronts(metrics, asks).iter().any(fewer)
}

/// Calls changed, and marks, what nobody feels.
pub(in crate::diff) fn moderate(
    metrics: &mut [Metric],
    rates: &mut [Rate],
    known: &Known<'_>,
    sides: [&[Recording<'_>]; 2],
    o: &DiffOptions,
) {
    let outside = sides.iter().flat_map(|side| asked_from_outside(side)).collect();
    let others = known.upstream.union(&known.mixed).cloned();
    // What is a transfer's is no answer's, and its speed is compared.
    let as_fast = transfers::as_fast(rates, sides, o);
    let others = others.chain(transfers::servers(rates, &as_fast)).collect();
    let sides = sides.map(|side| (side, in_turns(side, &others)));
    let mut unfelt: BTreeSet<&'static str> = BTreeSet::new();
    for outcome in [Outcome::Better, Outcome::Worse] {
        let beneath = |m: &Metric| BENEATH.contains(&m.which.ledger) && m.outcome == outcome;
        let Some(answer) = answered(metrics, known, &outside, outcome) else {
            continue;
        };
        let gain = if outcome == Outcome::Worse {
            gain(metrics, known.asks)
        } else {
            0
        };
        let felt = (answer.max(gain) as f64 * FELT) as i64;
        for m in metrics.iter_mut().filter(|m| beneath(m)) {
            let far = m.shifts.iter().filter(|s| s.outcome == outcome);
            let farthest = far.map(|s| s.shift.saturating_abs()).max().unwrap_or(0);
            // Who gains by a device that no answer is known to pass is nobody that is compared; who loses may be one that is not.
            let passed = |dev: &String| known.devices.values().any(|of| of.contains(dev));
            let aside =
                outcome == Outcome::Better && m.which.ledger == "device" && !m.which.dev.as_ref().is_some_and(passed);
            // What a host does for packets is felt in answers, or by nobody.
            let inside = m.which.is_forwarding();
            let with_answers = || {
                outcome == Outcome::Worse && with_answers::later_answers(m, sides.each_ref().map(|(side, _)| *side), o)
            };
            if farthest < felt || aside || inside || of_no_answer(m, &sides, (outcome, felt), o) || with_answers() {
                m.becomes_changed(outcome);
                m.unfelt = true;
                if outcome == Outcome::Worse {
                    unfelt.insert(m.which.ledger);
                }
            }
        }
    }
    if answered(metrics, known, &outside, Outcome::Worse).is_none() {
        return;
    }
    transfers::moderate(rates, &as_fast, sides.each_ref().map(|(side, _)| *side), o);
    if as_many(metrics, known.asks, sides.each_ref().map(|(side, _)| seconds(side))) {
        super::beside_work::moderate(rates, sides.each_ref().map(|(side, _)| *side));
    }
    // Lives of skbs are those units' as well.
    for (ledger, classes) in LIVES {
        let worse = |m: &Metric| m.which.ledger == ledger && m.outcome == Outcome::Worse;
        if !unfelt.contains(ledger) || metrics.iter().any(worse) {
            continue;
        }
        let theirs = |m: &&mut Metric| {
            let own = m.which.ledger == "lifetime" && classes.contains(&m.which.stage);
            own && m.outcome == Outcome::Worse
        };
        for m in metrics.iter_mut().filter(theirs) {
            m.becomes_changed(Outcome::Worse);
            m.unfelt = true;
        }
    }
    // What the kernel does at a time says less; what is no harm by itself stays a change.
    let inner = |r: &&mut Rate| r.outcome == Outcome::Worse && r.metric.starts_with("poll.");
    for r in rates.iter_mut().filter(inner) {
        (r.outcome, r.unfelt) = (Outcome::Changed, true);
    }
}

/// Sockets that speak in turns, but with these servers, by recording.
fn in_turns(side: &[Recording<'_>], but: &BTreeSet<String>) -> Vec<BTreeSet<ConnectionId>> {
    let of = |r: &Recording<'_>| {
        let all = sockets(r.facts);
        let with = |c, role| server(r, c, role).is_some_and(|name| but.contains(&name));
        let turns = (all.iter()).filter(|s| s.in_turns && (but.is_empty() || !with(s.connection, s.role)));
        turns.map(|s| s.connection).collect()
    };
    side.iter().map(of).collect()
}

/// Whether its units of answers and requests are as quick as before: what is longer is of others.
fn of_no_answer(
    m: &Metric,
    sides: &[(&[Recording<'_>], Vec<BTreeSet<ConnectionId>>); 2],
    (outcome, felt): (Outcome, i64),
    o: &DiffOptions,
) -> bool {
    let own = |(side, turns): &(&[Recording<'_>], Vec<BTreeSet<ConnectionId>>)| {
        mixture::times(side, m, |nth, c| turns.get(nth).is_some_and(|t| t.contains(&c)))
    };
    let [Some(mut b), Some(mut a)] = sides.each_ref().map(own) else {
        return false;
    };
    let n = b.len().min(a.len());
    // So few of all that no percentile is theirs.
    let part = (b.len() as f64 / m.before.n.max(1) as f64).max(a.len() as f64 / m.after.n.max(1) as f64);
    m.shifts.iter().filter(|s| s.outcome == outcome).all(|s| {
        let few = part < NO_PERCENTILE * (100.0 - s.percent as f64) / 100.0;
        if few && n < LEAST {
            return true;
        }
        let enough = few || PERCENTS.iter().any(|(p, need)| *p == s.percent && n >= *need);
        let at = |v: &mut Vec<i64>| nearest_rank(v, s.percent as usize);
        let (relative, absolute) = o.least(s.percent);
        let moved = at(&mut b).zip(at(&mut a));
        enough
            && moved.is_some_and(|(b, a)| {
                let by = match outcome {
                    Outcome::Worse => a.saturating_sub(b),
                    _ => b.saturating_sub(a),
                };
                by < felt || by < ((b as f64 * relative) as i64).max(absolute)
            })
    })
}
