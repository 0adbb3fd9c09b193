//! Attempts that fail beside work that goes well, and the packets of them that are dropped: a monitor's checks of what is not there, one of few tries. Where answers are compared and none takes longer, more of them are a difference and no harm.
//!
//! In: rates of failed openings and of drops that are worse, attempts that the report lays aside ([`crate::analyses::opens::aside::beside_work`]), datagrams of threads that wait for no answer. Out: such rates, of which all but a little of the difference is
//! theirs, called changed and marked. Must not be asked where an answer is worse, where fewer requests are answered after, or where events were lost; nor say so of an end that anybody reached on either side, or of packets that were dropped for a
//! reason that may be somebody's (a full queue).

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use super::nobody::{Place, of_tcp, of_udp, served};
use super::rates::Rate;
use crate::analyses::drops::{NOBODY, OneWay};
use crate::analyses::opens::aside::beside_work;
use crate::diff::said::verdict::Outcome;
use crate::diff::sides::options::Recording;
use crate::diff::values::attempts::opening;
use crate::diff::values::counted::drop_metric;
use crate::facts::{ConnectionId, SkbId};
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};
use crate::reconstruct::whose::Carries;

/// Attempts to connect: of a server, or with no name that is its own those of all others.
const FAILED: &str = "app.failed_opens";
/// No socket took it.
const NO_SOCKET: &str = "NO_SOCKET";
/// Of the difference: so little may be of others.
const REST: f64 = 0.05;

/// What is aside in a recording.
struct Apart<'r> {
    r: &'r Recording<'r>,
    attempts: FxHashSet<ConnectionId>,
    one_way: OneWay,
    to: FxHashMap<SkbId, Place>,
}

impl<'r> Apart<'r> {
    fn of(r: &'r Recording<'r>) -> Apart<'r> {
        let turns = r.facts.udp_turns.iter();
        let to = turns.filter_map(|t| Some((t.skb_id?, of_udp(t.to?))));
        Apart {
            r,
            attempts: beside_work(r.facts),
            one_way: OneWay::of(r.facts),
            to: to.collect(),
        }
    }
    fn attempt(&self, c: Option<ConnectionId>, reached: &BTreeSet<Place>) -> bool {
        let row = c.filter(|c| self.attempts.contains(c));
        let row = row.and_then(|c| self.r.facts.connections.get(c.0 as usize));
        row.is_some_and(|row| row.daddr.is_some_and(|a| !reached.contains(&of_tcp((a, row.dport)))))
    }
    fn dropped(&self, d: &DropRow, reached: &BTreeSet<Place>) -> bool {
        match d.owner.map(|o| (o.carries, o.connection)) {
            Some((Carries::Syn, c)) => self.attempt(c, reached),
            Some((Carries::Datagram, _)) => {
                let to = d.skb_id.and_then(|s| self.to.get(&s));
                self.one_way.sent(d) && to.is_some_and(|to| !reached.contains(to))
            }
            _ => false,
        }
    }
    /// Attempts of others that failed, of a rate; these servers have rates of their own.
    fn failed(&self, metric: &str, named: &BTreeSet<String>, reached: &BTreeSet<Place>) -> usize {
        let own = server(metric).filter(|s| named.contains(*s));
        let here = |o: &&OpenRow| {
            let to = opening(o).unwrap_or_default();
            o.end != OpenEnd::Established && own.map_or(!named.contains(&to), |own| own == to)
        };
        let failed = self.r.facts.opens.iter().filter(here);
        failed
            .filter(|o| self.r.has(o.start_ns) && !self.attempt(o.connection, reached))
            .count()
    }
    /// Drops of others, by rate.
    fn drops(&self, reached: &BTreeSet<Place>) -> BTreeMap<String, usize> {
        let mut out = BTreeMap::new();
        let here = self.r.facts.drops.iter().filter(|d| self.r.has(d.time_ns));
        for d in here.filter(|d| !self.dropped(d, reached)) {
            if let Some(metric) = drop_metric(self.r, d) {
                *out.entry(metric).or_default() += 1;
            }
        }
        out
    }
}

/// `10.0.0.1:80` of `app.failed_opens[10.0.0.1:80]`.
fn server(metric: &str) -> Option<&str> {
    metric.strip_prefix(FAILED)?.strip_prefix('[')?.strip_suffix(']')
}

/// Calls changed, and marks, what is theirs.
pub(in crate::diff) fn moderate(rates: &mut [Rate], sides: [&[Recording<'_>]; 2]) {
    // What a full queue lost is somebody's.
    let reason = |m: &str| {
        let of = m.strip_prefix("drops.");
        of.is_some_and(|r| r == NO_SOCKET || NOBODY.contains(&r))
    };
    let judged = |r: &Rate| r.outcome == Outcome::Worse && (r.metric.starts_with(FAILED) || reason(&r.metric));
    let all = || sides.iter().flat_map(|side| side.iter());
    if !rates.iter().any(judged) || all().any(|r| r.by_port || !r.facts.gaps.is_empty()) {
        return;
    }
    let named = rates.iter().filter_map(|r| server(&r.metric));
    let named = named.filter(|s| s.parse::<SocketAddr>().is_ok());
    let named: BTreeSet<String> = named.map(str::to_owned).collect();
    let reached: BTreeSet<Place> = all().flat_map(|r| served(r.facts)).collect();
    let apart = sides.map(|side| side.iter().map(Apart::of).collect::<Vec<_>>());
    let drops = apart
        .each_ref()
        .map(|side| side.iter().map(|a| a.drops(&reached)).collect::<Vec<_>>());
    for r in rates.iter_mut().filter(|r| judged(r)) {
        let n = |nth: usize| -> usize {
            match r.metric.starts_with(FAILED) {
                true => apart
                    .get(nth)
                    .into_iter()
                    .flatten()
                    .map(|a| a.failed(&r.metric, &named, &reached))
                    .sum(),
                false => drops
                    .get(nth)
                    .into_iter()
                    .flatten()
                    .filter_map(|of| of.get(&r.metric))
                    .sum(),
            }
        };
        // What is not known to have failed is in no rate.
        let before = (n(0) as f64).min(r.before.of) / r.before.out_of.max(1.0);
        let left = n(1) as f64 / r.after.out_of.max(1.0) - before;
        if left <= REST * r.difference.abs() {
            (r.outcome, r.unfelt) = (Outcome::Changed, true);
        }
    }
}
