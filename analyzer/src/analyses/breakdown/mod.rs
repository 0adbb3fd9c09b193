//! Whose latency is it, and where do packets go? Whole times by device, CPU, process and connection, for both paths; and which
//! device, queue and CPU handed packets to which, and whether that was on another NUMA node.
//!
//! Needs the views `rx`, `tx`, `hops`, `xmits`, `polls`, `snapshots`; each is read once or twice. Units are those of the headline percentiles (read,
//! or acknowledged TCP with payload; whole; certain or strong). Groups with the most summed time are kept, [`GROUPS`] of each
//! kind; what was left out is counted. Must not see events.

use rustc_hash::FxHashMap;

use crate::analyses::exemplars::StageNs;
use crate::analyses::units::Ledgers;
use crate::explain::{self, Id};
use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::skb::tables::HopRow;
use crate::stat::{Distribution, nearest_rank};

mod kinds;
mod map;
mod nodes;
#[cfg(test)]
mod tests;

pub use map::{At, Edge, Map, MapCpu, Place};
use nodes::Known;
pub use nodes::{Node, Nodes, ReadWay};

/// Groups kept of each kind.
pub const GROUPS: usize = 20;
/// Groups of each kind whose times are kept whole: those with most units. The others are one more.
pub const CURVES: usize = 6;
/// Rows kept of queues and of ways.
pub const WAYS: usize = 60;

/// The answer.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Breakdown {
    /// Read units.
    pub receive: Vec<Kind>,
    /// Acknowledged segments.
    pub transmit: Vec<Kind>,
    /// Which queue each CPU used, most packets first.
    pub queues: Vec<Queue>,
    /// Packets handed to drivers, those of queues that are left out too.
    pub handed_over: u64,
    /// Work of polls, that of queues that are left out too.
    pub polled: u64,
    /// From one step of an skb to its next, most packets first.
    pub ways: Vec<Way>,
    /// Steps of skbs from one place to the next, those of ways that are left out too.
    pub steps: u64,
    /// Those that went to another CPU.
    pub steps_crossed: u64,
    /// NUMA nodes.
    pub numa: Nodes,
    /// The steps of most skbs in the order of their way.
    pub map: Map,
}

/// Groups of one kind.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Kind {
    /// `device`, `CPU`, `process`, `connection`.
    pub by: &'static str,
    /// Most summed time first.
    pub groups: Vec<Group>,
    /// Groups left out.
    pub others: u64,
    /// Times of the groups with most units, and of all others together; empty where there is one group alone.
    pub curves: Vec<Curve>,
}

/// The times of a group, or of those that have no curve of their own.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Curve {
    /// As of a group; empty when not known, and of others together.
    pub name: String,
    /// So many groups together; 0: the one of that name.
    pub others: u64,
    /// Whole times.
    pub times: Distribution,
    /// Summed times of its stages in the order of the path, `unattributed` last; those without any are not there.
    pub stages: Vec<StageNs>,
}

/// One group.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Group {
    /// Name; of a connection its id (`conn:3`); empty when not known.
    pub name: String,
    /// Units.
    pub n: u64,
    /// Median of the whole time.
    pub p50_ns: Option<i64>,
    /// 99th percentile.
    pub p99_ns: Option<i64>,
    /// Largest.
    pub max_ns: Option<i64>,
    /// The unit with that, of equals the one with the smallest id.
    pub worst: Option<Id>,
    /// Share of the summed time of all units, 0 to 1.
    pub share: f64,
    /// The stage that took most of its time, and its share of that, when there is one.
    pub top: Option<(&'static str, f64)>,
}

/// A queue and a CPU that used it.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Queue {
    /// `transmit` (hand-overs to the driver) or `receive` (polls of a NAPI instance).
    pub direction: &'static str,
    /// Device; empty: none of its own (the CPU's backlog).
    pub dev: String,
    /// Number of the transmit queue, or of the NAPI instance in order of address, from 0.
    pub queue: Option<u32>,
    /// CPU.
    pub cpu: u16,
    /// NUMA node of the device, where it has one and it is known.
    pub dev_node: Option<u32>,
    /// NUMA node of the CPU, where it is known.
    pub cpu_node: Option<u32>,
    /// Packets.
    pub packets: u64,
    /// The poll with most work, or the pass that took longest; of equals the first.
    pub worst: Option<Id>,
}

/// From one step of an skb to its next.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Way {
    /// `kind dev`, as `xmit eth0`.
    pub from: String,
    /// CPU there.
    pub from_cpu: u16,
    /// Its NUMA node, where it is known.
    pub from_node: Option<u32>,
    /// The next step.
    pub to: String,
    /// CPU there.
    pub to_cpu: u16,
    /// Its NUMA node, where it is known.
    pub to_node: Option<u32>,
    /// skbs.
    pub packets: u64,
    /// Between the two steps.
    pub p50_ns: Option<i64>,
    /// 99th percentile.
    pub p99_ns: Option<i64>,
    /// The skb with most time between them, of equals the one with the smallest id.
    pub worst: Option<Id>,
}

/// Asks.
pub fn answer(facts: &Facts, ledgers: &Ledgers<'_>) -> Breakdown {
    let kinds = || rayon::join(|| kinds::kinds(&ledgers.rx), || kinds::kinds(&ledgers.tx));
    let known = Known::of(facts);
    let places = || rayon::join(|| queues(facts, &known), || ways(facts, &known));
    let ((receive, transmit), ((queues, handed_over, polled), ways)) = rayon::join(kinds, places);
    Breakdown {
        receive,
        transmit,
        queues,
        handed_over,
        polled,
        ..ways
    }
}

/// What went through a queue.
#[derive(Default)]
struct Used {
    packets: u64,
    /// How much, and which row.
    most: Option<(i64, usize)>,
}

impl Used {
    fn add(&mut self, packets: u64, much: i64, nth: usize) {
        self.packets += packets;
        if self.most.is_none_or(|(most, _)| much > most) {
            self.most = Some((much, nth));
        }
    }
    fn worst(&self, kind: explain::Kind) -> Option<Id> {
        Id::at(kind, self.most?.1)
    }
}

/// Those with most packets; and the packets of all, by direction: sent, received.
fn queues(facts: &Facts, known: &Known) -> (Vec<Queue>, u64, u64) {
    let mut sent: FxHashMap<(Name, Option<u16>, u16), Used> = FxHashMap::default();
    for (nth, pass) in facts.xmits.iter().enumerate().filter(|(_, p)| p.started_ns.is_some()) {
        let of = sent.entry((pass.dev, pass.queue, pass.cpu)).or_default();
        of.add(1, pass.total_ns, nth);
    }
    let mut polled: FxHashMap<(u64, Name, u16), Used> = FxHashMap::default();
    for (nth, poll) in facts.polls.iter().enumerate() {
        let work = poll.work.unwrap_or(0).into();
        let of = polled.entry((poll.napi, poll.dev, poll.cpu)).or_default();
        of.add(u64::try_from(work).unwrap_or(0), work, nth);
    }
    let packets = (
        sent.values().map(|of| of.packets).sum(),
        polled.values().map(|of| of.packets).sum(),
    );
    // Addresses differ from boot to boot; their order is enough of a name.
    let mut instances: Vec<(Name, u64)> = polled.keys().map(|(napi, dev, _)| (*dev, *napi)).collect();
    instances.sort_unstable();
    instances.dedup();
    let nth = |dev: Name, napi: u64| {
        let before = |of: (Name, u64)| instances.partition_point(|instance| *instance < of);
        (before((dev, napi)) - before((dev, 0))) as u32
    };
    let transmit = sent.into_iter().map(|((dev, queue, cpu), of)| Queue {
        direction: "transmit",
        dev: dev.text().into_owned(),
        queue: queue.map(u32::from),
        cpu,
        dev_node: known.device(&dev.text()),
        cpu_node: known.cpu(cpu),
        packets: of.packets,
        worst: of.worst(explain::Kind::Xmit),
    });
    let receive = polled.into_iter().map(|((napi, dev, cpu), of)| Queue {
        direction: "receive",
        dev: dev.text().into_owned(),
        queue: Some(nth(dev, napi)),
        cpu,
        dev_node: known.device(&dev.text()),
        cpu_node: known.cpu(cpu),
        packets: of.packets,
        worst: of.worst(explain::Kind::Poll),
    });
    let mut all: Vec<Queue> = transmit.chain(receive).filter(|q| q.packets > 0).collect();
    all.sort_by(|a, b| {
        let key = |q: &Queue| (std::cmp::Reverse(q.packets), q.direction, q.queue, q.cpu);
        key(a).cmp(&key(b)).then_with(|| a.dev.cmp(&b.dev))
    });
    all.truncate(WAYS);
    (all, packets.0, packets.1)
}

/// Kind, device and CPU of a step.
type Step = (&'static str, Name, u16);

/// Steps of one place after steps of another: ns between, and of which skb.
type Between = FxHashMap<(u32, u32), Vec<(i64, SkbId)>>;

/// Every step once, how many were there, and what lay between two of them.
fn between(hops: &[HopRow]) -> (Vec<Step>, Vec<u64>, Between) {
    let mut numbers: FxHashMap<Step, u32> = FxHashMap::default();
    let (mut steps, mut at): (Vec<Step>, Vec<u64>) = (vec![], vec![]);
    // The last step of every life, by its number.
    let lives = hops.iter().map(|h| h.skb_id.0 as usize + 1).max().unwrap_or(0);
    let mut last: Vec<Option<(u32, i64)>> = vec![None; lives];
    let mut between = Between::default();
    for hop in hops {
        let step: Step = (hop.kind, hop.dev, hop.cpu);
        let here = *numbers.entry(step).or_insert_with(|| {
            steps.push(step);
            at.push(0);
            (steps.len() - 1) as u32
        });
        if let Some(n) = at.get_mut(here as usize) {
            *n += 1;
        }
        let Some(slot) = last.get_mut(hop.skb_id.0 as usize) else {
            continue;
        };
        if let Some((from, at)) = slot.replace((here, hop.time_ns)) {
            between
                .entry((from, here))
                .or_default()
                .push((hop.time_ns - at, hop.skb_id));
        }
    }
    (steps, at, between)
}

/// What is known of steps: of all of them, and of the ways with most.
fn ways(facts: &Facts, known: &Known) -> Breakdown {
    let (steps, at, between) = between(&facts.hops);
    let map = map::map(facts, known, (&steps, &at, &between));
    let step = |nth: u32| steps.get(nth as usize).copied();
    let cpus = between.iter().filter_map(|((from, to), times)| {
        let (from, to) = (step(*from)?, step(*to)?);
        Some((from.2, to.2, times.len() as u64))
    });
    let cpus: Vec<(u16, u16, u64)> = cpus.collect();
    let numa = nodes::nodes(facts, known, &cpus);
    let crossed = cpus.iter().filter(|(from, to, _)| from != to);
    let shown = |step: &Step| format!("{} {}", step.0, step.1.text());
    let mut all: Vec<Way> = between
        .into_iter()
        .filter_map(|((from, to), lives)| {
            let (from, to) = (step(from)?, step(to)?);
            let worst = lives.iter().min_by_key(|(ns, skb)| (std::cmp::Reverse(*ns), *skb));
            let worst = worst.map(|(_, skb)| Id::new(explain::Kind::Skb, skb.0));
            let mut times: Vec<i64> = lives.iter().map(|(ns, _)| *ns).collect();
            Some(Way {
                worst,
                from: shown(&from),
                from_cpu: from.2,
                from_node: known.cpu(from.2),
                to: shown(&to),
                to_cpu: to.2,
                to_node: known.cpu(to.2),
                packets: times.len() as u64,
                p50_ns: nearest_rank(&mut times, 50),
                p99_ns: nearest_rank(&mut times, 99),
            })
        })
        .collect();
    all.sort_by(|a, b| {
        let order = b.packets.cmp(&a.packets).then_with(|| a.from.cmp(&b.from));
        order.then_with(|| (&a.to, a.from_cpu, a.to_cpu).cmp(&(&b.to, b.from_cpu, b.to_cpu)))
    });
    all.truncate(WAYS);
    Breakdown {
        ways: all,
        steps: cpus.iter().map(|(_, _, n)| n).sum(),
        steps_crossed: crossed.map(|(_, _, n)| n).sum(),
        numa,
        map,
        ..Breakdown::default()
    }
}
