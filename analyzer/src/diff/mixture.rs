//! Whose units are they? Where the shares of services among a ledger's units differ much between the sides, its total, and lives of skbs, may be longer and no service's are: those with
//! long times have become more. Times of each service tell.
//!
//! In: rows of `rx` and `tx`, metrics that were judged. Out: totals that are worse, and those of no service are, are changed, with the shares; so are their stages.

use std::collections::{BTreeMap, BTreeSet};

use super::compare::{Metric, PERCENTS};
use super::ends::server_port;
use super::metrics::{rx_counts, tx_counts};
use super::options::{DiffOptions, Recording};
use super::verdict::Outcome;
use crate::facts::ConnectionId;
use crate::name::Name;
use crate::stat::nearest_rank;

/// Part of the units that are of other services (total variation).
const OTHERS: f64 = 0.3;
/// Units that a side must have.
const LEAST: usize = 30;
/// Services told.
const TOLD: usize = 2;

/// Devices and times of the units of each service's port; `None`: of none that is known.
type Side = BTreeMap<Option<u16>, Vec<(Name, i64)>>;

fn ports(all: &[Recording<'_>]) -> BTreeSet<u16> {
    let of = |r: &Recording<'_>| -> Vec<u16> {
        let ids = (0..r.facts.connections.len() as u32).map(ConnectionId);
        ids.filter_map(|c| server_port(r.facts, c)).collect()
    };
    all.iter().flat_map(of).collect()
}

fn side(all: &[Recording<'_>], ledger: &str, known: &BTreeSet<u16>) -> Side {
    let mut out = Side::new();
    for r in all {
        // What the other side alone knows of, by either end.
        let either = |c: ConnectionId| {
            let row = r.facts.connections.get(c.0 as usize)?;
            [row.sport, row.dport].into_iter().find(|p| known.contains(p))
        };
        let service = |c: Option<ConnectionId>| c.and_then(|c| server_port(r.facts, c).or_else(|| either(c)));
        let counts = |start, dev, c| r.has(start) && r.takes(dev, c);
        if ledger == "rx" {
            for x in r
                .facts
                .rx
                .iter()
                .filter(|x| rx_counts(x) && counts(x.start_ns, x.dev, x.connection))
            {
                out.entry(service(x.connection)).or_default().push((x.dev, x.total_ns));
            }
        } else {
            let of = r.facts.tx.iter().filter(|x| tx_counts(x) == Some(ledger));
            for x in of.filter(|x| counts(x.start_ns, x.dev, x.connection)) {
                out.entry(service(x.connection)).or_default().push((x.dev, x.total_ns));
            }
        }
    }
    out
}

/// Shares of services of a ledger on both sides.
struct Shares {
    before: Side,
    after: Side,
}

impl Shares {
    fn of(before: &[Recording<'_>], after: &[Recording<'_>], ledger: &str) -> Shares {
        let known: BTreeSet<u16> = ports(before).union(&ports(after)).copied().collect();
        Shares {
            before: side(before, ledger, &known),
            after: side(after, ledger, &known),
        }
    }
    /// Share before and after of each service, those that moved most first.
    fn shares(&self) -> Vec<(Option<u16>, f64, f64)> {
        let whole = |side: &Side| side.values().map(Vec::len).sum::<usize>();
        let (b, a) = (whole(&self.before), whole(&self.after));
        if b < LEAST || a < LEAST {
            return vec![];
        }
        let share = |side: &Side, p: &Option<u16>, whole: usize| side.get(p).map_or(0, Vec::len) as f64 / whole as f64;
        let all: BTreeSet<&Option<u16>> = self.before.keys().chain(self.after.keys()).collect();
        let each = all
            .into_iter()
            .map(|p| (*p, share(&self.before, p, b), share(&self.after, p, a)));
        let mut each: Vec<(Option<u16>, f64, f64)> = each.collect();
        each.sort_by(|x, y| (y.2 - y.1).abs().total_cmp(&(x.2 - x.1).abs()).then(x.0.cmp(&y.0)));
        each
    }
    /// How the units are of other services.
    fn why(&self) -> Option<String> {
        let shares = self.shares();
        let moved = shares.iter().map(|(_, b, a)| (a - b).abs()).sum::<f64>() / 2.0;
        let text = |(port, b, a): &(Option<u16>, f64, f64)| {
            let whose = port.map_or_else(|| "no known port".into(), |p| format!("port {p}"));
            format!("{whose} {:.0} -> {:.0} %", b * 100.0, a * 100.0)
        };
        let told: Vec<String> = shares.iter().take(TOLD).map(text).collect();
        (moved > OTHERS).then(|| {
            format!(
                "its units are of other services ({}), and of none they are longer",
                told.join(", ")
            )
        })
    }
    /// Whether a service's own units are longer, as far as one must be to be called.
    fn longer(&self, m: &Metric, o: &DiffOptions) -> bool {
        let of = |side: &Side, p: &Option<u16>| -> Vec<i64> {
            let all = side.get(p).into_iter().flatten();
            let on = |dev: &Name| m.which.dev.as_deref().is_none_or(|d| d == dev.text());
            all.filter(|(dev, _)| on(dev)).map(|(_, ns)| *ns).collect()
        };
        let percents: Vec<u64> = (m.shifts.iter().filter(|s| s.outcome == Outcome::Worse))
            .map(|s| s.percent)
            .collect();
        self.before.keys().any(|p| {
            let (mut b, mut a) = (of(&self.before, p), of(&self.after, p));
            let n = b.len().min(a.len());
            percents.iter().filter(|_| n >= LEAST).any(|percent| {
                // Of too few it is not known, and may be.
                if PERCENTS.iter().any(|(p, need)| p == percent && n < *need) {
                    return true;
                }
                let (relative, absolute) = match percent {
                    50 => (o.median_relative, o.median_ns),
                    _ => (o.tail_relative, o.tail_ns),
                };
                let at = |v: &mut Vec<i64>| nearest_rank(v, *percent as usize);
                at(&mut b)
                    .zip(at(&mut a))
                    .is_some_and(|(b, a)| a - b >= ((b as f64 * relative) as i64).max(absolute))
            })
        })
    }
}

/// Calls changed what is longer as its units are of other services.
pub(super) fn moderate(metrics: &mut [Metric], before: &[Recording<'_>], after: &[Recording<'_>], o: &DiffOptions) {
    let total = |m: &Metric| m.outcome == Outcome::Worse && m.which.stage == "total";
    let mut explained: Vec<(&'static str, String)> = vec![];
    for ledger in ["rx", "tx"] {
        let theirs =
            |m: &Metric| m.which.ledger == ledger || m.which.ledger == "lifetime" && m.which.stage.starts_with(ledger);
        if !metrics
            .iter()
            .any(|m| theirs(m) && (total(m) || m.outcome == Outcome::Worse && m.which.ledger == "lifetime"))
        {
            continue;
        }
        let shares = Shares::of(before, after, ledger);
        let Some(why) = shares.why() else { continue };
        let longer = metrics
            .iter()
            .any(|m| m.which.ledger == ledger && total(m) && shares.longer(m, o));
        if !longer {
            explained.push((ledger, why));
        }
    }
    for (ledger, why) in explained {
        let of = |m: &Metric| match m.which.ledger {
            "lifetime" => m.outcome == Outcome::Worse && m.which.stage.starts_with(ledger),
            // What no service's total has no service's stage has.
            l => l == ledger && m.outcome == Outcome::Worse,
        };
        for m in metrics.iter_mut().filter(|m| of(m)) {
            m.becomes_changed(Outcome::Worse);
            m.mix = Some(why.clone());
        }
    }
}
