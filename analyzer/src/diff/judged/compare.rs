//! Quantiles of one metric on both sides: how far they moved, how sure that is, and what would have been seen.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use super::above::above;
use super::weights::weight;
use super::{beside, recurs, slowest};
use crate::diff::Withheld;
use crate::diff::said::verdict::Outcome;
use crate::diff::servers::{
    Servers, answers, asks, divided, exchanges, few, large, parts, paths, pauses, shared_out, sizes, stopped, streams,
};
use crate::diff::sides::{
    options::{DiffOptions, Recording},
    parity, recorded, slices,
};
use crate::diff::values::{
    metrics::{Table, Values, Which, count, is_of_one_device, table},
    moves, rtt,
};
use crate::stat::{At, Blocked, Distribution, SplitMix64, cliffs_delta, t_quantile_two_sided};

/// Percentiles compared, and how many values a side must have for each.
pub(in crate::diff) const PERCENTS: [(u64, usize); 3] = [(50, 30), (90, 100), (99, 500)];
/// Blocks of time that a recording is cut into. All of these are tried, and the least certain answer counts: correlation over
/// longer times shows only in longer blocks (blocking: Flyvbjerg and Petersen, J. Chem. Phys. 91, 1989).
pub const BLOCKS: [usize; 3] = [40, 20, 10];
/// Blocks with values that a side must have at the coarsest cut.
const LEAST_BLOCKS: usize = 5;
/// Part of the units that one side may have left out more than the other.
const EXCLUDED_MORE: f64 = 0.3;
/// Chance of seeing a change of the size called detectable; and the one-sided normal quantile of it.
pub const POWER: f64 = 0.8;
const POWER_Z: f64 = 0.841_621;

/// One percentile on both sides.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Shift {
    /// 50, 90, 99.
    pub percent: u64,
    /// Before, ns.
    pub before: i64,
    /// After.
    pub after: i64,
    /// After minus before.
    pub shift: i64,
    /// Interval of the shift, 95 %, by resampled blocks.
    pub interval: (i64, i64),
    /// Chance of such a difference of the shares above the common percentile (of p90 and p99: or of the slowest of each block), if both sides were alike.
    pub p: f64,
    /// The same, adjusted for all tests of the comparison.
    pub p_adjusted: f64,
    /// Smallest shift that is called a change.
    pub threshold: i64,
    /// A change of at least this would have been called in 8 of 10 comparisons; `None`: not known, as the shift itself is larger
    /// and yet not significant.
    pub minimum_detectable: Option<i64>,
    /// Whether it is significant and its interval leaves 0 out, whatever its size.
    pub significant: bool,
    /// What is said of it.
    pub outcome: Outcome,
    /// What it has of the level, beside 1 of others.
    #[serde(skip)]
    pub(in crate::diff) weight: f64,
    #[serde(skip)]
    error: f64,
    #[serde(skip)]
    df: f64,
}

impl Shift {
    /// The word in tables: of what is not called a change, also why.
    pub fn word(&self) -> &'static str {
        self.outcome
            .word_of(self.significant, self.minimum_detectable.is_none())
    }
}

/// One metric on both sides.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Metric {
    /// `rx.poll_wait`, `device.qdisc[eth0]`.
    pub metric: String,
    /// The same in parts.
    pub which: Which,
    /// What it is.
    pub meaning: String,
    /// Values before.
    pub before: Distribution,
    /// Values after.
    pub after: Distribution,
    /// Cliff's delta, -1 to 1.
    pub cliffs_delta: f64,
    /// Blocks of time with values, before and after, or recordings when these are the unit.
    pub clusters: (usize, usize),
    /// Percentiles.
    pub shifts: Vec<Shift>,
    /// The worst of these.
    pub outcome: Outcome,
    /// How its units differ at least twofold from those of the other side, then fewer or shorter ones are no improvement; or that they are of other services, then
    /// longer ones are no harm by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mix: Option<String>,
    /// Longer, and by less than anyone who waits for an answer feels.
    #[serde(skip)]
    pub unfelt: bool,
    /// Percentiles of too few values to be tested among the others.
    #[serde(skip)]
    pub(in crate::diff) untested: Vec<Shift>,
    /// Parts of the time in which some values are longer than any of the other side, before and after; and whether that is why it is called so.
    #[serde(skip)]
    pub(in crate::diff) beyond: [usize; 2],
    #[serde(skip)]
    pub(in crate::diff) recurs: bool,
}

impl Metric {
    /// Takes back what is no improvement, as its units are others.
    pub(in crate::diff) fn withdraw(&mut self, mix: String) {
        for s in self.shifts.iter_mut().filter(|s| s.outcome == Outcome::Better) {
            s.outcome = Outcome::NotComparable;
        }
        if self.outcome == Outcome::Better {
            self.outcome = Outcome::NotComparable;
        }
        self.mix = Some(mix);
    }
    /// Calls each shift what it is; `tests`: the weights of all tests together.
    pub(in crate::diff) fn judge(&mut self, o: &DiffOptions, tests: usize) {
        let way = rtt::is(&self.which);
        for s in &mut self.shifts {
            let (relative, absolute) = match s.percent {
                _ if way => (rtt::least(s.shift), o.median_ns),
                percent => o.least(percent),
            };
            s.threshold = ((s.before.unsigned_abs() as f64 * relative).ceil() as i64).max(absolute);
            let t = t_quantile_two_sided(o.level * s.weight / tests.max(1) as f64, s.df);
            s.significant = s.p_adjusted <= o.level && (s.interval.0 > 0 || s.interval.1 < 0);
            let seen_from = (((t + POWER_Z) * s.error).ceil() as i64).max(s.threshold);
            s.minimum_detectable = (s.significant || s.shift.saturating_abs() <= seen_from).then_some(seen_from);
            s.outcome = match (s.significant && s.shift.saturating_abs() >= s.threshold, s.shift > 0) {
                (false, _) => Outcome::Same,
                (true, true) => Outcome::Worse,
                (true, false) => Outcome::Better,
            };
        }
        self.outcome = self.shifts.iter().map(|s| s.outcome).min().unwrap_or(Outcome::Same);
    }
    /// The word in tables, of all percentiles.
    pub fn word(&self) -> &'static str {
        let significant = self.shifts.iter().any(|s| s.significant);
        let uncertain = self.shifts.iter().any(|s| s.minimum_detectable.is_none());
        self.outcome.word_of(significant, uncertain)
    }
    /// Calls changed what was called worse, or better.
    pub(in crate::diff) fn becomes_changed(&mut self, from: Outcome) {
        self.outcome = Outcome::Changed;
        for s in self.shifts.iter_mut().filter(|s| s.outcome == from) {
            s.outcome = Outcome::Changed;
        }
    }
    /// The shift that is worth telling: of those with the metric's outcome the largest relative to its threshold.
    pub fn telling(&self) -> Option<&Shift> {
        let of = self.shifts.iter().filter(|s| s.outcome == self.outcome);
        of.max_by(|a, b| {
            let size = |s: &Shift| s.shift.unsigned_abs() as f64 / s.threshold.max(1) as f64;
            size(a).total_cmp(&size(b)).then(b.percent.cmp(&a.percent))
        })
    }
}

/// Which metrics are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::diff) enum Of {
    /// All.
    All,
    /// Where most of the traffic is of another kind.
    AnswersByServer,
}

/// Compares every metric that both sides have.
pub(in crate::diff) fn metrics(
    before: &[Recording<'_>],
    after: &[Recording<'_>],
    options: &DiffOptions,
    which: Of,
    withheld: &mut Vec<Withheld>,
) -> (Vec<Metric>, Servers) {
    let tables = |side: &[Recording<'_>]| -> Vec<Table> { side.par_iter().map(table).collect() };
    let (b, a) = (tables(before), tables(after));
    let mut names: BTreeSet<&Which> = b.iter().chain(&a).flat_map(BTreeMap::keys).collect();
    names.retain(|which| !is_of_one_device(which, &b, &a));
    // What TCP smooths over many segments says nothing more than the segments' own times.
    let timed = |side: &[Table]| count(side, &Which::new("tx", "network")) >= PERCENTS[0].1;
    if timed(&b) && timed(&a) {
        names.remove(&Which::new("tcp", "srtt"));
    }
    let starts = parity::other_starts(before, after);
    let lacks_others = slices::lacks_others(before, after);
    let unmatched = slices::unmatched(before, after);
    answers::chosen(&mut names, &b, &a, withheld);
    if which == Of::AnswersByServer {
        names.retain(|w| w.ledger == answers::LEDGER && w.service.is_some());
    }
    crate::diff::values::forwarding::chosen(&mut names, &b, &a);
    rtt::chosen(&mut names, &b, &a, unmatched.is_some(), withheld);
    let exchanged = exchanges::of(before, after, unmatched.is_some());
    exchanges::chosen(&mut names, &exchanged);
    let one = |which: &&Which| -> Result<Metric, Withheld> {
        let because = |because: String| Withheld {
            metric: which.name(),
            because,
        };
        if let Some(why) = recorded::not_recorded(before, after, which.needs()) {
            return Err(because(why));
        }
        // Of all packets of the host, or of the device.
        if matches!(which.ledger, "lifetime" | "device")
            && let Some(why) = &lacks_others
        {
            return Err(because(why.clone()));
        }
        if let Some(why) = unmatched.as_ref().filter(|_| which.dev.is_some()) {
            return Err(because(why.clone()));
        }
        if which.stage == "total"
            && let Some((_, why)) = starts.iter().find(|(ledger, _)| *ledger == which.ledger)
        {
            return Err(because(why.clone()));
        }
        let of = |side: &[Table]| -> Vec<Values> {
            side.iter().map(|t| t.get(which).cloned().unwrap_or_default()).collect()
        };
        metric(which, &of(&b), &of(&a), options).map_err(because)
    };
    let of: Vec<Result<Metric, Withheld>> = names.into_iter().collect::<Vec<_>>().par_iter().map(one).collect();
    let mut out = vec![];
    for m in of {
        match m {
            Ok(m) => out.push(m),
            Err(w) => withheld.push(w),
        }
    }
    // Stages are parts of a total: where the totals cannot be compared, neither can they.
    out.retain(|m| {
        let Some(total) = withheld_total(m.which.ledger, withheld) else {
            return true;
        };
        withheld.push(Withheld {
            metric: m.metric.clone(),
            because: format!("{total} is not compared"),
        });
        false
    });
    let mut servers = Servers::of(&b, &a);
    servers.programs = beside::programs([before, after]);
    servers.parts = parts::of(before, after);
    stopped::fill(&mut servers, before, after, withheld);
    servers.few = few::of(&b, &a, &out);
    (servers.asks, servers.at_once) = asks::of(before, after, options);
    servers.divided = divided::of(&mut servers.asks);
    divided::mark(&servers.divided, &mut servers.stopped);
    if unmatched.is_none() {
        servers.divided.extend(shared_out::of(before, after));
    }
    servers.paused = pauses::of(before, after, unmatched.is_some());
    servers.streams = streams::of(before, after, unmatched.is_some());
    let moves = [before, after].map(|side| moves::of(side, unmatched.is_some()));
    servers.large = large::with_hosts([before, after], &moves);
    servers.sizes = sizes::of(&moves);
    servers.moves = moves;
    servers.exchanges = exchanged;
    servers.ways = paths::of(before, after, unmatched.is_some());
    (out, servers)
}

/// The total of a ledger, when it is withheld.
pub(in crate::diff) fn withheld_total(ledger: &str, withheld: &[Withheld]) -> Option<String> {
    let total = format!("{ledger}.total");
    withheld.iter().any(|w| w.metric == total).then_some(total)
}

fn metric(which: &Which, before: &[Values], after: &[Values], options: &DiffOptions) -> Result<Metric, String> {
    let count = |side: &[Values]| side.iter().map(|v| v.at.len()).sum::<usize>();
    let (nb, na) = (count(before), count(after));
    let least = PERCENTS[0].1;
    if nb < least || na < least {
        return Err(format!("{nb} values before and {na} after: fewer than {least}"));
    }
    let left_out = |side: &[Values], n: usize| {
        let excluded: u64 = side.iter().map(|v| v.excluded).sum();
        (excluded, excluded as f64 / (excluded as f64 + n as f64))
    };
    let (xb, xa) = (left_out(before, nb), left_out(after, na));
    if (xb.1 - xa.1).abs() > EXCLUDED_MORE {
        return Err(format!(
            "{} of {} units before and {} of {} after are not whole or not certain: what is left is not alike",
            xb.0,
            xb.0 + nb as u64,
            xa.0,
            xa.0 + na as u64
        ));
    }
    let values = |side: &[Values]| -> Vec<Vec<At>> { side.iter().map(|v| v.at.clone()).collect() };
    let (vb, va) = (values(before), values(after));
    // The recording is the unit where both sides have several.
    let groups = vb.len() > 1 && va.len() > 1;
    let [_, middle, coarsest] = BLOCKS;
    let (blocked_b, sorted_b) = Blocked::new(&vb, middle);
    let (blocked_a, sorted_a) = Blocked::new(&va, middle);
    let fewest = |side: &[Vec<At>]| Blocked::new(side, coarsest).0.blocks();
    if !groups && (fewest(&vb) < LEAST_BLOCKS || fewest(&va) < LEAST_BLOCKS) {
        return Err("its values lie in too few moments to know how they vary".into());
    }
    let percents = PERCENTS.map(|(p, _)| p);
    let mut random = SplitMix64::seeded(sorted_b.iter().step_by(97).chain(sorted_a.iter().step_by(89)).copied());
    let draws: Vec<[i64; 3]> = (0..options.draws.max(20))
        .map(|_| {
            let b = blocked_b.draw(&mut random, percents);
            let a = blocked_a.draw(&mut random, percents);
            std::array::from_fn(|i| a.get(i).copied().unwrap_or(0) - b.get(i).copied().unwrap_or(0))
        })
        .collect();
    let delta = cliffs_delta(&sorted_b, &sorted_a).unwrap_or(0.0);
    let mut pooled: Vec<i64> = sorted_b.iter().chain(&sorted_a).copied().collect();
    pooled.sort_unstable();
    let (mut shifts, mut untested) = (vec![], vec![]);
    // Of answers also what is of too few to be tested.
    let kept = |need: usize| nb.min(na) >= need || which.ledger == answers::LEDGER;
    for (i, (percent, need)) in (PERCENTS.into_iter().enumerate()).filter(|(_, p)| kept(p.1)) {
        let quantile = |sorted: &[i64]| sorted.get(rank(sorted.len(), percent)).copied().unwrap_or(0);
        let (b, a) = (quantile(&sorted_b), quantile(&sorted_a));
        let mut moved: Vec<i64> = draws.iter().filter_map(|d| d.get(i).copied()).collect();
        moved.sort_unstable();
        let edge = |share: f64| moved.get((moved.len() as f64 * share) as usize).copied().unwrap_or(0);
        let Some(tail) = above(&vb, &va, quantile(&pooled), groups) else {
            continue;
        };
        let to = if nb.min(na) < need { &mut untested } else { &mut shifts };
        to.push(Shift {
            percent,
            before: b,
            after: a,
            shift: a - b,
            // Draws are of values in steps, each as its largest.
            interval: (edge(0.025).min(a - b), edge(0.975).max(a - b)),
            p: match percent {
                50 => tail.p,
                _ => slowest::together(tail.p, &vb, &va, percent),
            },
            p_adjusted: 1.0,
            threshold: 0,
            minimum_detectable: None,
            significant: false,
            outcome: Outcome::Same,
            weight: weight(which),
            error: spread(&moved),
            df: tail.df,
        });
    }
    // How it varies between the recordings of a side, one of them does not tell.
    if shifts.is_empty() {
        return Err("only one recording of a side has values of it".into());
    }
    let clusters = match groups {
        true => (vb.len(), va.len()),
        false => (blocked_b.blocks(), blocked_a.blocks()),
    };
    Ok(Metric {
        metric: which.name(),
        which: which.clone(),
        meaning: which.meaning(),
        before: Distribution::of(sorted_b, xb.0),
        after: Distribution::of(sorted_a, xa.0),
        cliffs_delta: delta,
        clusters,
        shifts,
        outcome: Outcome::Same,
        mix: None,
        unfelt: false,
        untested,
        beyond: recurs::parts(&vb, &va),
        recurs: false,
    })
}

/// Index of the nearest-rank percentile.
fn rank(n: usize, percent: u64) -> usize {
    (n as u64 * percent).div_ceil(100).max(1) as usize - 1
}

/// Standard deviation.
fn spread(values: &[i64]) -> f64 {
    let n = values.len().max(2) as f64;
    let mean = values.iter().map(|v| *v as f64).sum::<f64>() / n;
    (values.iter().map(|v| (*v as f64 - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt()
}
