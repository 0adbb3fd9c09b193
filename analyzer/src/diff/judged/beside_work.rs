//! Attempts that fail beside work that goes well, and the packets of them that are dropped: a monitor's checks of what is not there, one of few tries. Where answers are compared and none takes longer, more of them are a difference and no harm.
//!
//! In: rates of failed openings and of drops that are worse, attempts that the report lays aside ([`crate::analyses::opens::aside::beside_work`]), datagrams that asked for nothing. Out: such rates, of which all but a little of the difference is
//! theirs, called changed and marked. Must not be asked where an answer is worse, where fewer requests are answered after, or where events were lost.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use rustc_hash::{FxHashMap, FxHashSet};

use super::rates::Rate;
use crate::analyses::opens::aside::beside_work;
use crate::diff::said::verdict::Outcome;
use crate::diff::sides::options::Recording;
use crate::diff::values::attempts::opening;
use crate::diff::values::counted::drop_metric;
use crate::facts::{ConnectionId, SkbId};
use crate::reconstruct::datagrams::tables::Awaited;
use crate::reconstruct::opens::tables::OpenEnd;
use crate::reconstruct::whose::Carries;

/// Attempts to connect: of a server, or with no name that is its own those of all others.
const FAILED: &str = "app.failed_opens";
/// Of the difference: so little may be of others.
const REST: f64 = 0.05;

/// What is aside in a recording.
struct Apart {
    attempts: FxHashSet<ConnectionId>,
    /// Of a datagram: whether its thread waited for an answer.
    datagrams: FxHashMap<SkbId, bool>,
}

impl Apart {
    fn of(r: &Recording<'_>) -> Apart {
        let turns = r.facts.udp_turns.iter();
        Apart {
            attempts: beside_work(r.facts),
            datagrams: (turns.filter_map(|t| Some((t.skb_id?, t.awaited != Awaited::No)))).collect(),
        }
    }
    fn has(&self, c: Option<ConnectionId>) -> bool {
        c.is_some_and(|c| self.attempts.contains(&c))
    }
    /// Events of a rate that are of others; these servers have rates of their own.
    fn others(&self, r: &Recording<'_>, metric: &str, named: &BTreeSet<String>) -> usize {
        if metric.starts_with(FAILED) {
            let own = server(metric).filter(|s| named.contains(*s));
            let failed = r.facts.opens.iter().filter(|o| o.end != OpenEnd::Established);
            let theirs = failed.filter(|o| {
                let to = opening(o).unwrap_or_default();
                own.map_or(!named.contains(&to), |own| own == to)
            });
            return theirs.filter(|o| r.has(o.start_ns) && !self.has(o.connection)).count();
        }
        let own = r.facts.drops.iter().filter(|d| r.has(d.time_ns));
        let own = own.filter(|d| drop_metric(r, d).as_deref() == Some(metric));
        let theirs = own.filter(|d| match d.owner.map(|o| (o.carries, o.connection)) {
            Some((Carries::Syn, c)) => !self.has(c),
            Some((Carries::Datagram, _)) => {
                let waits = d.skb_id.and_then(|s| self.datagrams.get(&s));
                waits.copied().unwrap_or(true)
            }
            _ => true,
        });
        theirs.count()
    }
}

/// `10.0.0.1:80` of `app.failed_opens[10.0.0.1:80]`.
fn server(metric: &str) -> Option<&str> {
    metric.strip_prefix(FAILED)?.strip_prefix('[')?.strip_suffix(']')
}

/// Calls changed, and marks, what is theirs.
pub(in crate::diff) fn moderate(rates: &mut [Rate], sides: [&[Recording<'_>]; 2]) {
    let judged =
        |r: &Rate| r.outcome == Outcome::Worse && (r.metric.starts_with(FAILED) || r.metric.starts_with("drops."));
    let lossy = || {
        sides
            .iter()
            .flat_map(|side| side.iter())
            .any(|r| r.by_port || !r.facts.gaps.is_empty())
    };
    if !rates.iter().any(judged) || lossy() {
        return;
    }
    let named = rates
        .iter()
        .filter_map(|r| server(&r.metric))
        .filter(|s| s.parse::<SocketAddr>().is_ok());
    let named: BTreeSet<String> = named.map(str::to_owned).collect();
    let apart = sides.map(|side| side.iter().map(Apart::of).collect::<Vec<_>>());
    for r in rates.iter_mut().filter(|r| judged(r)) {
        let rest = |nth: usize, out_of: f64| {
            let of = sides.get(nth).zip(apart.get(nth)).into_iter();
            let of = of.flat_map(|(side, apart)| side.iter().zip(apart));
            let n: usize = of.map(|(one, apart)| apart.others(one, &r.metric, &named)).sum();
            n as f64 / out_of.max(1.0)
        };
        let left = rest(1, r.after.out_of) - rest(0, r.before.out_of);
        if left <= REST * r.difference.abs() {
            (r.outcome, r.unfelt) = (Outcome::Changed, true);
        }
    }
}
