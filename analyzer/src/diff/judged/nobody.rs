//! Packets dropped on their way to ends where nobody is served on either side. What was refused at a closed port before, and is dropped by a rule of a firewall after, is dropped in another place and for another reason: more
//! of the one and less of the other, and nobody who was served before is not now.
//!
//! ```text
//! dropped packet -> where it was to go (SYN: its connection; first datagram of a turn: its route) -> asked for on both sides, no more often after, and served on neither
//! ```
//! In: rates of drops that were judged, openings, connections, turns by UDP. Out: rates called changed and marked, where all but a little of the difference is of such packets. Must not touch anything where an event was lost,
//! where addresses are pseudonyms, or where who asks there after has any other work that may wait for it: what is refused is told at once, and what is dropped after seconds.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use rustc_hash::FxHashMap;

use super::rates::Rate;
use crate::diff::said::verdict::Outcome;
use crate::diff::sides::options::Recording;
use crate::diff::values::counted::drop_metric;
use crate::facts::{Facts, SkbId};
use crate::reconstruct::datagrams::tables::TurnRow;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::opens::tables::{End, OpenEnd};
use crate::reconstruct::whose::Carries;

/// Of the difference: so little may be of other packets.
const REST: f64 = 0.05;
/// As often: within this factor.
const ALIKE: f64 = 2.0;

/// Whether it is TCP's, and where.
pub(super) type Place = (bool, SocketAddr);

pub(super) fn of_tcp((address, port): End) -> Place {
    (true, SocketAddr::new(address.to_canonical(), port))
}

pub(super) fn of_udp(at: SocketAddr) -> Place {
    (false, SocketAddr::new(at.ip().to_canonical(), at.port()))
}

/// By UDP: answered, or what was sent came to a socket.
fn answered(t: &TurnRow) -> bool {
    t.ready_ns.is_some() || t.landed > 0
}

/// Ends of a recording that anybody reached.
pub(super) fn served(f: &Facts) -> impl Iterator<Item = Place> + '_ {
    let stood = f.opens.iter().filter(|o| o.end == OpenEnd::Established);
    let spoke = f.connections.iter().filter(|c| c.bytes_in > 0 || c.bytes_out > 0);
    let ends = spoke.flat_map(|c| [(c.saddr, c.sport), (c.daddr, c.dport)]);
    let turns = f.udp_turns.iter().filter(|t| answered(t));
    (stood.filter_map(|o| Some(of_tcp(o.to?))))
        .chain(ends.filter_map(|(a, port)| Some(of_tcp((a?, port)))))
        .chain(turns.filter_map(|t| Some(of_udp(t.to?))))
}

/// What came of one side's questions.
#[derive(Default)]
struct Side {
    /// Openings and turns by UDP, per second.
    asked: BTreeMap<Place, f64>,
    served: BTreeSet<Place>,
    /// Who asks there has other work, which may wait for it, or is not known.
    busy: BTreeSet<Place>,
}

impl Side {
    fn of(all: &[Recording<'_>]) -> Side {
        let mut out = Side::default();
        let long = all.iter().map(|r| r.duration_ns() as f64 / 1e9).sum::<f64>().max(1e-9);
        for r in all {
            out.add(r, long);
        }
        out
    }
    fn add(&mut self, r: &Recording<'_>, long: f64) {
        let f = r.facts;
        self.served.extend(served(f));
        let stood = f.opens.iter().filter(|o| o.end == OpenEnd::Established);
        let spoke = f.connections.iter().filter(|c| c.bytes_in > 0 || c.bytes_out > 0);
        let turns = f.udp_turns.iter().filter(|t| answered(t));
        // Who has an answer of anybody, or is to give one.
        let busy: BTreeSet<i32> = (stood.map(|o| o.pid).chain(turns.map(|t| t.pid)))
            .chain(f.turnarounds.iter().map(|t| t.pid))
            .chain(spoke.map(|c| c.pid))
            .map(|pid| f.process(pid))
            .collect();
        let opens = f.opens.iter().filter(|o| r.has(o.start_ns));
        let opens = opens.filter_map(|o| Some((of_tcp(o.to?), o.pid)));
        let turns = f.udp_turns.iter().filter(|t| r.has(t.start_ns));
        let turns = turns.filter_map(|t| Some((of_udp(t.to?), t.pid)));
        for (at, pid) in opens.chain(turns) {
            *self.asked.entry(at).or_default() += 1.0 / long;
            if pid <= 0 || busy.contains(&f.process(pid)) {
                self.busy.insert(at);
            }
        }
    }
}

/// `10.0.0.2:161 (UDP)`.
fn words((tcp, at): &Place) -> String {
    match tcp {
        true => at.to_string(),
        false => format!("{at} (UDP)"),
    }
}

/// Where a dropped packet was to go; `None`: that is not known, or it is no question.
fn to(f: &Facts, turns: &FxHashMap<SkbId, SocketAddr>, d: &DropRow) -> Option<Place> {
    let owner = d.owner?;
    match owner.carries {
        Carries::Syn => {
            let row = f.connections.get(owner.connection?.0 as usize)?;
            Some(of_tcp((row.daddr?, row.dport)))
        }
        Carries::Datagram => Some(of_udp(*turns.get(&d.skb_id?)?)),
        _ => None,
    }
}

/// Dropped packets by where they were to go.
type Dropped = BTreeMap<Option<Place>, f64>;

/// Those of each rate.
fn dropped(all: &[Recording<'_>]) -> BTreeMap<String, Dropped> {
    let mut out: BTreeMap<String, Dropped> = BTreeMap::new();
    for r in all {
        let turns = r.facts.udp_turns.iter().filter_map(|t| Some((t.skb_id?, t.to?)));
        let turns: FxHashMap<SkbId, SocketAddr> = turns.collect();
        let own = r.facts.drops.iter().filter(|d| r.has(d.time_ns));
        for (metric, d) in own.filter_map(|d| Some((drop_metric(r, d)?, d))) {
            let of = out.entry(metric).or_default();
            *of.entry(to(r.facts, &turns, d)).or_default() += 1.0;
        }
    }
    out
}

/// Where these are of nobody's, in words; `None`: they may be of somebody's.
fn nobodys(rate: &Rate, drops: &[BTreeMap<String, Dropped>; 2], known: &[Side; 2]) -> Option<String> {
    let [b, a] = known;
    let alone = |at: &Place| {
        let often = |side: &Side| side.asked.get(at).copied().unwrap_or(0.0);
        let served = b.served.contains(at) || a.served.contains(at);
        !served && !a.busy.contains(at) && often(b) > 0.0 && often(a) > 0.0 && often(a) <= ALIKE * often(b)
    };
    let none = Dropped::default();
    let [of_b, of_a] = drops.each_ref().map(|side| side.get(&rate.metric).unwrap_or(&none));
    let rest = |of: &Dropped, out_of: f64| {
        let others = of.iter().filter(|(at, _)| !at.as_ref().is_some_and(alone));
        others.map(|(_, n)| n).sum::<f64>() / out_of.max(1.0)
    };
    let left = rest(of_a, rate.after.out_of) - rest(of_b, rate.before.out_of);
    if left * rate.difference.signum() > REST * rate.difference.abs() {
        return None;
    }
    let all = of_b.keys().chain(of_a.keys()).flatten().filter(|at| alone(at));
    let all: BTreeSet<String> = all.map(words).collect();
    (!all.is_empty()).then(|| all.into_iter().collect::<Vec<_>>().join(", "))
}

/// Calls changed, and marks, what nobody was served by before, nor is after.
pub(in crate::diff) fn moderate(rates: &mut [Rate], sides: [&[Recording<'_>]; 2]) {
    let all = || sides.iter().flat_map(|side| side.iter());
    let judged = |r: &Rate| {
        let moved = matches!(r.outcome, Outcome::Worse | Outcome::Better);
        moved && r.metric.starts_with("drops.")
    };
    if !rates.iter().any(judged) || all().any(|r| r.by_port || !r.facts.gaps.is_empty()) {
        return;
    }
    let (known, drops) = (sides.map(Side::of), sides.map(dropped));
    for r in rates.iter_mut().filter(|r| judged(r)) {
        if let Some(places) = nobodys(r, &drops, &known) {
            (r.outcome, r.unfelt) = (Outcome::Changed, true);
            r.nobodys = Some(places);
        }
    }
}
