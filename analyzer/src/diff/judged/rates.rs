//! Events per unit and shares of time: drops by reason, retransmissions, what limited TCP, units that met a stage at all,
//! softirq time. Blocks of time are the clusters; a variance smaller than Poisson's or the binomial one is not believed.

use std::collections::BTreeMap;

use super::compare::{BLOCKS, POWER};
use crate::diff::Withheld;
use crate::diff::said::verdict::Outcome;
use crate::diff::servers::answers;
use crate::diff::sides::{
    options::{DiffOptions, Recording},
    recorded, slices,
};
pub use crate::diff::values::counted::Kind;
use crate::diff::values::{
    again::Resent,
    breakdown::Breakdown,
    counted::{Counted, Exposure, Key, counted},
    gather::gather,
    speed,
};
use crate::stat::{Cluster, Compared, Floor, Ratio, compare, permuted, t_quantile_two_sided};

/// One side.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Measured {
    /// Events, units, or ns.
    pub of: f64,
    /// Out of so many units, or ns.
    pub out_of: f64,
    /// The quotient; of groups the mean of the recordings'.
    pub value: f64,
    /// 95 % interval of it.
    pub interval: (f64, f64),
}

/// One rate on both sides.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Rate {
    /// `drops.TCP_OFO_QUEUE_PRUNE`, `tcp.retransmits`.
    pub metric: String,
    /// What it is.
    pub meaning: String,
    /// What is divided by what.
    pub kind: Kind,
    /// Before.
    pub before: Measured,
    /// After.
    pub after: Measured,
    /// After minus before.
    pub difference: f64,
    /// Chance of such a difference if both sides were alike.
    pub p: f64,
    /// The same, adjusted for all tests of the comparison.
    pub p_adjusted: f64,
    /// Smallest difference that is called a change.
    pub threshold: f64,
    /// A difference of at least this would have been called in 8 of 10 comparisons; `None`: not known, as the difference itself is
    /// larger and yet not significant, or none that is possible.
    pub minimum_detectable: Option<f64>,
    /// Whether it is significant, whatever its size.
    pub significant: bool,
    /// What is said of it.
    pub outcome: Outcome,
    /// It changed beneath answers that did not.
    #[serde(skip)]
    pub(in crate::diff) unfelt: bool,
    /// Of drops: where these packets were to go, if nobody is served there on either side.
    #[serde(skip)]
    pub(in crate::diff) nobodys: Option<String>,
    /// Why it is changed, in its line.
    #[serde(skip)]
    pub(in crate::diff) note: Option<&'static str>,
    #[serde(skip)]
    more_is_worse: bool,
    #[serde(skip)]
    error: f64,
    #[serde(skip)]
    df: f64,
    /// Of units that meet a stage: the ledger's mean before, and what the stage adds to it, ns.
    #[serde(skip)]
    adds: Option<(f64, f64)>,
    /// Of a speed: mean connections at once, before and after.
    #[serde(skip)]
    pub(in crate::diff) at_once: Option<(f64, f64)>,
}

impl Rate {
    /// What a mean size or a count is made of: `300 of 30105 bytes -> 6346 of 1486 bytes, in all 9.03 MB -> 9.43 MB`.
    pub(in crate::diff) fn amounts(&self) -> Option<String> {
        let (b, a) = (&self.before, &self.after);
        let mb = |v: f64| match v >= 1e5 {
            true => format!("{:.2} MB", v / 1e6),
            false => format!("{v:.0} bytes"),
        };
        match self.kind {
            Kind::Size if self.metric.starts_with("device.frame_bytes") => Some(format!(
                "{} of {:.0} bytes -> {} of {:.0} bytes, in all {} -> {}",
                b.out_of,
                b.value,
                a.out_of,
                a.value,
                mb(b.of),
                mb(a.of)
            )),
            Kind::Count => Some(format!("{} of {} -> {} of {}", b.of, b.out_of, a.of, a.out_of)),
            _ => None,
        }
    }
    /// Takes what the stage of `rx.met_...` adds to the mean unit.
    pub(in crate::diff) fn adds(&mut self, of: &[Breakdown]) {
        self.adds = of.iter().find_map(|ledger| {
            let stage = self.metric.strip_prefix(ledger.ledger)?.strip_prefix(".met_")?;
            let part = ledger.parts.iter().find(|p| p.stage == stage)?;
            Some((ledger.before_ns, part.added_ns()))
        });
    }
    /// The word in tables: of what is not called a change, also why.
    pub fn word(&self) -> &'static str {
        self.outcome
            .word_of(self.significant, self.minimum_detectable.is_none())
    }
    /// Whether there is at least twice as much or as little of it ([`crate::diff::sides::options::COUNTS`]), certainly.
    pub(in crate::diff) fn is_manifold(&self, o: &DiffOptions) -> bool {
        let (b, a) = (self.before.value, self.after.value);
        self.outcome != Outcome::Same && b.max(a) >= o.counts * b.min(a)
    }
    /// Whether more of it is worse; else it is neither.
    pub fn is_worse_when_more(&self) -> bool {
        self.more_is_worse
    }
    pub(in crate::diff) fn judge(&mut self, o: &DiffOptions, tests: usize) {
        self.threshold = match self.kind {
            Kind::Events => o.events,
            Kind::Units => o.units,
            Kind::Time => o.share,
            Kind::Size => o.size_relative * self.before.value,
            Kind::Speed => o.speed_relative * self.before.value,
            Kind::Count => {
                let (factor, before) = (o.counts.max(1.0), self.before.value);
                let least = match self.difference > 0.0 {
                    true => before * (factor - 1.0),
                    false => before * (1.0 - 1.0 / factor),
                };
                least.max(o.events)
            }
        };
        let z = -t_quantile_one_sided(POWER);
        let t = t_quantile_two_sided(o.level / tests.max(1) as f64, self.df);
        self.significant = self.p_adjusted <= o.level;
        let seen_from = ((t - z) * self.error).max(self.threshold);
        // A part of a whole never changes by more than the whole.
        let possible = !matches!(self.kind, Kind::Units | Kind::Time | Kind::Events) || seen_from <= 1.0;
        let known = self.significant || self.difference.abs() <= seen_from;
        self.minimum_detectable = (known && possible).then_some(seen_from);
        // That more units meet a stage matters by what it makes of the mean.
        let matters = self
            .adds
            .is_none_or(|(mean, added)| added.abs() >= (o.median_relative * mean).max(o.median_ns as f64));
        let changed = self.significant && self.difference.abs() >= self.threshold && matters;
        // More connections at once carry more, and fewer less, unless what each carries changed as well.
        let (value_b, value_a) = (self.before.value, self.after.value);
        let other = self.at_once.is_some_and(|(b, a)| {
            let (each_b, each_a) = (value_b / b.max(1e-9), value_a / a.max(1e-9));
            let each = each_a - each_b;
            let too = each.abs() > o.speed_relative * each_b && (each > 0.0) == (self.difference > 0.0);
            (a - b).abs() > o.speed_relative * b && (a > b) == (self.difference > 0.0) && !too
        });
        let judged = self.more_is_worse || self.kind == Kind::Speed && !other;
        let worse = (self.difference > 0.0) == self.more_is_worse;
        self.outcome = match (changed, judged, worse) {
            (false, _, _) => Outcome::Same,
            (true, false, _) => Outcome::Changed,
            (true, true, true) => Outcome::Worse,
            (true, true, false) => Outcome::Better,
        };
    }
}

/// Normal quantile of a probability above one half.
fn t_quantile_one_sided(p: f64) -> f64 {
    t_quantile_two_sided(2.0 * (1.0 - p), 1e6)
}

/// Degrees of freedom of the finest cut: what a permutation of blocks sees is as sharp.
const FINEST_DF: f64 = (BLOCKS[0] - 1) as f64;

/// Compares what came of openings and messages: of traffic that is of another kind, too, as a server that is gone makes it.
pub(in crate::diff) fn of_requests(
    before: &[Recording<'_>],
    after: &[Recording<'_>],
    options: &DiffOptions,
    withheld: &mut Vec<Withheld>,
) -> Vec<Rate> {
    let asked = |per: &Exposure| matches!(per, Exposure::Attempts(_) | Exposure::Asked(_));
    rates_of(before, after, options, asked, withheld).0
}

/// Compares every rate that one side has.
pub(in crate::diff) fn rates(
    before: &[Recording<'_>],
    after: &[Recording<'_>],
    options: &DiffOptions,
    withheld: &mut Vec<Withheld>,
) -> (Vec<Rate>, Resent) {
    rates_of(before, after, options, |_| true, withheld)
}

fn rates_of(
    before: &[Recording<'_>],
    after: &[Recording<'_>],
    options: &DiffOptions,
    which: fn(&Exposure) -> bool,
    withheld: &mut Vec<Withheld>,
) -> (Vec<Rate>, Resent) {
    let of = |side: &[Recording<'_>]| -> Vec<Counted> { side.iter().map(counted).collect() };
    let (mut b, mut a) = (of(before), of(after));
    let lacks_others = slices::lacks_others(before, after);
    let unmatched = slices::unmatched(before, after);
    gather(&mut b, &mut a, unmatched.is_some(), withheld);
    let mut keys: BTreeMap<Key, Exposure> = b.iter().chain(&a).flat_map(|c| c.out_of.clone()).collect();
    keys.retain(|_, per| which(per));
    let resent = Resent::of(&b, &a, unmatched.is_some() || lacks_others.is_some());
    let mut out = vec![];
    for (key, per) in keys {
        if let Exposure::Data(Some(service)) = &per
            && !resent.compares(service)
        {
            continue;
        }
        if let Exposure::Answers(server) = &per
            && !answers::counts(server, &b, &a)
        {
            continue;
        }
        // Of which service a frame is, is not known of all.
        let others = (before.iter().chain(after).any(|r| r.left_out.is_some()))
            .then(|| "one side has frames of services that the other has not".to_owned());
        let because = match per {
            Exposure::Frames(_) if key.kind == Kind::Size && others.is_some() => others.as_ref(),
            Exposure::Frames(_) => unmatched.as_ref().or(lacks_others.as_ref()),
            // Of a slice, calls that sent again may be of others, too.
            Exposure::Skbs | Exposure::Data(_) => lacks_others.as_ref(),
            _ => None,
        };
        if let Some(because) = because {
            withheld.push(Withheld {
                metric: key.metric,
                because: because.clone(),
            });
            continue;
        }
        // A share of the totals' time, and units that met a stage, say nothing where the totals cannot be compared.
        if let Some(ledger) = of_total(&key, &per)
            && let Some(total) = super::compare::withheld_total(ledger, withheld)
        {
            withheld.push(Withheld {
                metric: key.metric,
                because: format!("{total} is not compared"),
            });
            continue;
        }
        if key.metric.starts_with("drops.")
            && let Some(because) = recorded::other_skbs(before, after)
        {
            withheld.push(Withheld {
                metric: key.metric,
                because,
            });
            continue;
        }
        if let Some(because) = recorded::not_recorded(before, after, key.needs) {
            withheld.push(Withheld {
                metric: key.metric,
                because,
            });
            continue;
        }
        match rate(&key, &per, &b, &a, options) {
            Some(mut rate) => {
                if let Some(segments) = resent.segments(&rate.metric) {
                    rate.meaning = format!("{} ({segments})", rate.meaning);
                }
                rate.at_once = speed::connections(&rate.metric, &b, &a);
                out.push(rate);
            }
            None => withheld.push(Withheld {
                because: vanishes(&per, &b, &a).to_owned(),
                metric: key.metric,
            }),
        }
    }
    // What no unit of either side met is no news, and not a test.
    out.retain(|r| r.before.of > 0.0 || r.after.of > 0.0);
    (out, resent)
}

/// The ledger whose total a rate is a part of.
fn of_total(key: &Key, per: &Exposure) -> Option<&'static str> {
    let met = key.metric.contains(".met_");
    match per {
        Exposure::SegmentTime => Some("tx"),
        Exposure::Segments if met => Some("tx"),
        Exposure::RxUnits if met => Some("rx"),
        _ => None,
    }
}

/// Why there is no rate.
fn vanishes(per: &Exposure, before: &[Counted], after: &[Counted]) -> &'static str {
    let any = |side: &[Counted]| side.iter().filter(|c| c.exposed(per) > 0.0).count();
    match (any(before), any(after)) {
        (0, _) => "before there is nothing that it is counted of",
        (_, 0) => "after there is nothing that it is counted of",
        (b, a) if before.len().min(after.len()) > 1 && b.min(a) == 1 => "only one recording of a side has values of it",
        _ => "its values lie in too few moments to know how they vary",
    }
}

fn rate(key: &Key, per: &Exposure, before: &[Counted], after: &[Counted], o: &DiffOptions) -> Option<Rate> {
    let groups = before.len() > 1 && after.len() > 1;
    let cuts: &[usize] = if groups { &[1] } else { &BLOCKS };
    let floor = match key.kind {
        Kind::Events | Kind::Count => Floor::Events,
        Kind::Units => Floor::Share,
        Kind::Time | Kind::Size | Kind::Speed => Floor::None,
    };
    let at = |cut: usize| {
        let clusters =
            |side: &[Counted]| -> Vec<Cluster> { side.iter().flat_map(|c| c.clusters(key, per, cut)).collect() };
        let (before, after) = (clusters(before), clusters(after));
        let of = if groups { Ratio::of_means } else { Ratio::of };
        let (b, a) = (of(&before)?, of(&after)?);
        let mut compared = compare(&b, &a, floor);
        // A t with the few degrees of freedom of the coarsest cut sees no burst more than this does, and much less else.
        if floor == Floor::Events
            && !groups
            && Some(&cut) == BLOCKS.last()
            && before.iter().chain(&after).all(|c| c.n > 0.0)
            && before.len() == cut
            && after.len() == cut
            && let Some(p) = permuted(&before, &after)
        {
            (compared.p, compared.df) = (p, compared.df.max(FINEST_DF));
        }
        Some((b, a, compared))
    };
    let all: Vec<(Ratio, Ratio, Compared)> = cuts.iter().filter_map(|c| at(*c)).collect();
    let (b, a, least) = all.into_iter().max_by(|x, y| x.2.p.total_cmp(&y.2.p))?;
    Some(Rate {
        unfelt: false,
        nobodys: None,
        note: None,
        metric: key.metric.clone(),
        meaning: key.meaning.to_owned(),
        kind: key.kind,
        before: measured(&b, floor),
        after: measured(&a, floor),
        difference: least.difference,
        p: least.p,
        p_adjusted: 1.0,
        threshold: o.events,
        minimum_detectable: None,
        significant: false,
        outcome: Outcome::Same,
        more_is_worse: key.more_is_worse,
        error: least.error,
        df: least.df,
        adds: None,
        at_once: None,
    })
}

fn measured(r: &Ratio, floor: Floor) -> Measured {
    let independent = match floor {
        Floor::Share => r.value * (1.0 - r.value).max(0.0) / r.units,
        Floor::Events => r.value / r.units,
        Floor::None => 0.0,
    };
    let half = t_quantile_two_sided(0.05, r.clusters as f64 - 1.0) * r.variance.max(independent).sqrt();
    // None seen in n: up to 3 / n may be (the rule of three).
    let most = if r.y == 0.0 && floor != Floor::None {
        3.0 / r.units
    } else {
        r.value + half
    };
    Measured {
        of: r.y,
        out_of: r.n,
        value: r.value,
        interval: ((r.value - half).max(0.0), most),
    }
}
