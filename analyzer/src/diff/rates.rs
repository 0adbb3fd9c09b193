//! Events per unit and shares of time: drops by reason, retransmissions, what limited TCP, units that met a stage at all,
//! softirq time. Blocks of time are the clusters; a variance smaller than Poisson's or the binomial one is not believed.

use std::collections::BTreeMap;

use super::compare::{BLOCKS, POWER};
use super::metrics::{rx_counts, tx_counts};
use super::options::{DiffOptions, Recording};
use super::verdict::Outcome;
use super::{Withheld, parity};
use crate::reconstruct::receive::tables::Stage as RxStage;
use crate::reconstruct::skb::tables::SkbClass;
use crate::reconstruct::softirq::tables::NET_RX;
use crate::reconstruct::tcp::tables::RetransmitClass;
use crate::reconstruct::transmit::stages::Stage as TxStage;
use crate::stat::{Cluster, Compared, Floor, Ratio, block_of, compare, t_quantile_two_sided};
use crate::table::Cell;

/// Stages of which it matters how many units meet them, receive side; whether more is worse.
const MET_RX: [(RxStage, bool); 3] = [
    (RxStage::Backlog, true),
    (RxStage::OutOfOrder, true),
    (RxStage::Gro, false),
];
/// The same of TCP segments sent.
const MET_TX: [TxStage; 5] = [
    TxStage::Sndbuf,
    TxStage::Recovery,
    TxStage::Neighbour,
    TxStage::Bql,
    TxStage::Ring,
];
/// What may limit a TCP sender.
const LIMITS: [TxStage; 6] = [
    TxStage::Sndbuf,
    TxStage::Rwnd,
    TxStage::Cwnd,
    TxStage::Nagle,
    TxStage::Pacing,
    TxStage::Tsq,
];

/// What is divided by what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Events per unit.
    Events,
    /// Part of the units.
    Units,
    /// Part of the time.
    Time,
}

/// One side.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Measured {
    /// Events, units, or ns.
    pub of: f64,
    /// Out of so many units, or ns.
    pub out_of: f64,
    /// The quotient.
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
    /// A difference of at least this would have been called in 8 of 10 comparisons.
    pub minimum_detectable: f64,
    /// What is said of it.
    pub outcome: Outcome,
    #[serde(skip)]
    more_is_worse: bool,
    #[serde(skip)]
    error: f64,
    #[serde(skip)]
    df: f64,
}

impl Rate {
    pub(super) fn judge(&mut self, o: &DiffOptions, tests: usize) {
        self.threshold = match self.kind {
            Kind::Events => o.events,
            Kind::Units | Kind::Time => o.share,
        };
        let z = -t_quantile_one_sided(POWER);
        let t = t_quantile_two_sided(o.level / tests.max(1) as f64, self.df);
        self.minimum_detectable = ((t - z) * self.error).max(self.threshold);
        let changed = self.p_adjusted <= o.level && self.difference.abs() >= self.threshold;
        self.outcome = match (changed, self.more_is_worse, self.difference > 0.0) {
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

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    metric: String,
    meaning: &'static str,
    kind: Kind,
    more_is_worse: bool,
    needs: &'static [&'static str],
}

impl Key {
    fn new(metric: String, meaning: &'static str, kind: Kind, more_is_worse: bool) -> Key {
        Key {
            metric,
            meaning,
            kind,
            more_is_worse,
            needs: &[],
        }
    }
    fn needs(mut self, events: &'static [&'static str]) -> Key {
        self.needs = events;
        self
    }
}

/// One recording: numerators by block of each rate, and which exposure each has.
#[derive(Default)]
struct Counted {
    of: BTreeMap<Key, Vec<f64>>,
    out_of: BTreeMap<Key, Exposure>,
    exposures: BTreeMap<Exposure, Vec<f64>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Exposure {
    Skbs,
    Segments,
    RxUnits,
    SegmentTime,
    CpuTime,
}

const FINEST: usize = BLOCKS[0];

fn add(slots: &mut Vec<f64>, block: usize, v: f64) {
    slots.resize(FINEST, 0.0);
    if let Some(slot) = slots.get_mut(block) {
        *slot += v;
    }
}

impl Counted {
    fn count(&mut self, key: Key, per: Exposure, block: usize, v: f64) {
        self.out_of.insert(key.clone(), per);
        add(self.of.entry(key).or_default(), block, v);
    }
    fn expose(&mut self, what: Exposure, block: usize, v: f64) {
        add(self.exposures.entry(what).or_default(), block, v);
    }
    fn clusters(&self, key: &Key, per: Exposure, blocks: usize) -> Vec<Cluster> {
        let none = vec![0.0; FINEST];
        let (y, n) = (
            self.of.get(key).unwrap_or(&none),
            self.exposures.get(&per).unwrap_or(&none),
        );
        let width = FINEST / blocks.max(1);
        let sum = |v: &[f64]| -> Vec<f64> { v.chunks(width.max(1)).map(|c| c.iter().sum()).collect() };
        sum(y).into_iter().zip(sum(n)).map(|(y, n)| Cluster { y, n }).collect()
    }
}

fn counted(r: &Recording<'_>) -> Counted {
    let mut out = Counted::default();
    let f = r.facts;
    let block = |t: i64| {
        r.has(t)
            .then(|| block_of(t, r.from_ns, r.to_ns.saturating_sub(1), FINEST))
    };
    for s in f.skbs.iter().filter(|s| s.class != SkbClass::Tap) {
        if let Some(b) = block(s.birth_ns) {
            out.expose(Exposure::Skbs, b, 1.0);
        }
    }
    let drop = |what: String| {
        Key::new(
            what,
            "packets dropped that healthy kernels do not drop, per skb",
            Kind::Events,
            true,
        )
        .needs(&["skb:kfree_skb"])
    };
    for d in f.drops.iter().filter(|d| d.expected != Some(true)) {
        let Some(b) = block(d.time_ns) else { continue };
        let reason = match (f.names.drop_reason(d.reason), f.names.location(d.location)) {
            (Cell::Str(s), _) | (_, Cell::Str(s)) => s.into_owned(),
            _ => "unknown".into(),
        };
        out.count(drop(format!("drops.{reason}")), Exposure::Skbs, b, 1.0);
    }
    receive(r, &mut out, block);
    transmit(r, &mut out, block);
    let key = || {
        Key::new("softirq.share".into(), "time of all CPUs in NET_RX", Kind::Time, false).needs(&["irq:softirq_entry"])
    };
    let cpus = f64::from(f.capture.cpus.max(1));
    for b in 0..FINEST {
        out.expose(Exposure::CpuTime, b, r.duration_ns() as f64 * cpus / FINEST as f64);
    }
    for s in f.softirqs.iter().filter(|s| s.vec == NET_RX) {
        if let (Some(b), Some(end)) = (block(s.start_ns), s.end_ns) {
            out.count(key(), Exposure::CpuTime, b, (end - s.start_ns) as f64);
        }
    }
    out
}

fn receive(r: &Recording<'_>, out: &mut Counted, block: impl Fn(i64) -> Option<usize>) {
    for row in r.facts.rx.iter().filter(|x| rx_counts(x)) {
        let Some(b) = block(row.start_ns) else { continue };
        out.expose(Exposure::RxUnits, b, 1.0);
        for (s, worse) in MET_RX {
            let met = row.stage(s).is_some_and(|ns| ns > 0);
            let key = Key::new(
                format!("rx.met_{}", s.name()),
                "received units that met this stage",
                Kind::Units,
                worse,
            );
            out.count(key, Exposure::RxUnits, b, f64::from(u8::from(met)));
        }
    }
}

fn transmit(r: &Recording<'_>, out: &mut Counted, block: impl Fn(i64) -> Option<usize>) {
    for row in r.facts.tx.iter().filter(|x| tx_counts(x) == Some("tx")) {
        let Some(b) = block(row.start_ns) else { continue };
        out.expose(Exposure::Segments, b, 1.0);
        out.expose(Exposure::SegmentTime, b, row.total_ns as f64);
        for s in MET_TX {
            let met = row.stage(s).is_some_and(|ns| ns > 0);
            let key = Key::new(
                format!("tx.met_{}", s.name()),
                "segments that met this stage",
                Kind::Units,
                true,
            );
            out.count(key, Exposure::Segments, b, f64::from(u8::from(met)));
        }
        for s in LIMITS {
            let meaning = "part of the time of sent segments, send call to ACK";
            let key = Key::new(format!("tx.limited_by_{}", s.name()), meaning, Kind::Time, false);
            out.count(key, Exposure::SegmentTime, b, row.stage(s).unwrap_or(0) as f64);
        }
    }
    let key = |name: &str, meaning| {
        Key::new(format!("tcp.{name}"), meaning, Kind::Events, true).needs(&["tcp:tcp_retransmit_skb"])
    };
    for t in &r.facts.retransmits {
        let Some(b) = block(t.time_ns) else { continue };
        out.count(
            key("retransmits", "segments sent again, per segment"),
            Exposure::Segments,
            b,
            1.0,
        );
        if t.class == RetransmitClass::Rto {
            out.count(
                key("rto", "retransmission timeouts, per segment"),
                Exposure::Segments,
                b,
                1.0,
            );
        }
    }
}

/// Compares every rate that one side has.
pub(super) fn rates(
    before: &[Recording<'_>],
    after: &[Recording<'_>],
    options: &DiffOptions,
    withheld: &mut Vec<Withheld>,
) -> Vec<Rate> {
    let of = |side: &[Recording<'_>]| -> Vec<Counted> { side.iter().map(counted).collect() };
    let (b, a) = (of(before), of(after));
    let keys: BTreeMap<Key, Exposure> = b.iter().chain(&a).flat_map(|c| c.out_of.clone()).collect();
    let mut out = vec![];
    for (key, per) in keys {
        if let Some(because) = parity::not_recorded(before, after, key.needs) {
            withheld.push(Withheld {
                metric: key.metric,
                because,
            });
            continue;
        }
        if let Some(rate) = rate(&key, per, &b, &a, options) {
            out.push(rate);
        }
    }
    // What no unit of either side met is no news, and not a test.
    out.retain(|r| r.before.of > 0.0 || r.after.of > 0.0);
    out
}

fn rate(key: &Key, per: Exposure, before: &[Counted], after: &[Counted], o: &DiffOptions) -> Option<Rate> {
    let groups = before.len() > 1 && after.len() > 1;
    let cuts: &[usize] = if groups { &[1] } else { &BLOCKS };
    let floor = match key.kind {
        Kind::Events => Floor::Events,
        Kind::Units => Floor::Share,
        Kind::Time => Floor::None,
    };
    let at = |cut: usize| {
        let clusters =
            |side: &[Counted]| -> Vec<Cluster> { side.iter().flat_map(|c| c.clusters(key, per, cut)).collect() };
        let (b, a) = (Ratio::of(&clusters(before))?, Ratio::of(&clusters(after))?);
        Some((b, a, compare(&b, &a, floor)))
    };
    let all: Vec<(Ratio, Ratio, Compared)> = cuts.iter().filter_map(|c| at(*c)).collect();
    let (b, a, least) = all.into_iter().max_by(|x, y| x.2.p.total_cmp(&y.2.p))?;
    Some(Rate {
        metric: key.metric.clone(),
        meaning: key.meaning.to_owned(),
        kind: key.kind,
        before: measured(&b, floor),
        after: measured(&a, floor),
        difference: least.difference,
        p: least.p,
        p_adjusted: 1.0,
        threshold: o.events,
        minimum_detectable: 0.0,
        outcome: Outcome::Same,
        more_is_worse: key.more_is_worse,
        error: least.error,
        df: least.df,
    })
}

fn measured(r: &Ratio, floor: Floor) -> Measured {
    let independent = match floor {
        Floor::Share => r.value * (1.0 - r.value).max(0.0) / r.n,
        Floor::Events => r.value / r.n,
        Floor::None => 0.0,
    };
    let half = t_quantile_two_sided(0.05, r.clusters as f64 - 1.0) * r.variance.max(independent).sqrt();
    // None seen in n: up to 3 / n may be (the rule of three).
    let most = if r.y == 0.0 && floor != Floor::None {
        3.0 / r.n
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
