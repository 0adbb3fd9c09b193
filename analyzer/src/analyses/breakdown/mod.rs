//! Whose latency is it, and where do packets go? Whole times by device, CPU, process and connection, for both paths; and which
//! device, queue and CPU handed packets to which.
//!
//! Needs the views `rx`, `tx`, `hops`, `xmits`, `polls`; each is read once. Units are those of the headline percentiles (read,
//! or acknowledged TCP with payload; whole; certain or strong). Groups with the most summed time are kept, [`GROUPS`] of each
//! kind; what was left out is counted. Must not see events.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::analyses::waits::{self, Waits};
use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::receive::tables::RxEnd;
use crate::reconstruct::transmit::tables::{TxEnd, TxKind};
use crate::stat::Distribution;

#[cfg(test)]
mod tests;

/// Groups kept of each kind.
pub const GROUPS: usize = 20;
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
    /// From one step of an skb to its next, most packets first.
    pub ways: Vec<Way>,
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
    /// Packets.
    pub packets: u64,
}

/// From one step of an skb to its next.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Way {
    /// `kind dev`, as `xmit eth0`.
    pub from: String,
    /// CPU there.
    pub from_cpu: u16,
    /// The next step.
    pub to: String,
    /// CPU there.
    pub to_cpu: u16,
    /// skbs.
    pub packets: u64,
    /// Between the two steps.
    pub p50_ns: Option<i64>,
    /// 99th percentile.
    pub p99_ns: Option<i64>,
}

/// Asks.
pub fn answer(facts: &Facts) -> Breakdown {
    let read = |r: &&_| {
        let r: &crate::reconstruct::receive::tables::RxRow = r;
        r.end == RxEnd::Read && r.censored.is_none() && r.confidence.is_solid()
    };
    let rx: Vec<_> = facts.rx.iter().filter(read).collect();
    let tx: Vec<_> = facts
        .tx
        .iter()
        .filter(|r| r.kind == TxKind::Tcp && r.end == TxEnd::Acked && r.confidence.is_solid())
        .collect();
    let named = |name: Name| name.text().into_owned();
    let connection = |id: Option<crate::ConnectionId>| id.map_or_else(String::new, |c| format!("conn:{}", c.0));
    Breakdown {
        receive: vec![
            kind("device", &rx, |r| r.dev, named),
            kind("CPU", &rx, |r| r.cpu, |cpu| cpu.to_string()),
            kind("process", &rx, |r| r.task, named),
            kind("connection", &rx, |r| r.connection, connection),
        ],
        transmit: vec![
            kind("device", &tx, |r| r.dev, named),
            kind("CPU", &tx, |r| r.cpu, |cpu| cpu.to_string()),
            kind("process", &tx, |r| r.task, named),
            kind("connection", &tx, |r| r.connection, connection),
        ],
        queues: queues(facts),
        ways: ways(facts),
    }
}

fn kind<R: Waits, K: Ord + Copy>(
    by: &'static str,
    rows: &[&R],
    key: impl Fn(&R) -> K,
    name: impl Fn(K) -> String,
) -> Kind {
    let mut of: BTreeMap<K, Vec<&R>> = BTreeMap::new();
    for row in rows {
        of.entry(key(row)).or_default().push(row);
    }
    let sum = |rows: &[&R]| rows.iter().fold(0i64, |sum, r| sum.saturating_add(r.total_ns()));
    let whole = sum(rows);
    let mut order: Vec<(i64, K, Vec<&R>)> = of.into_iter().map(|(k, rows)| (sum(&rows), k, rows)).collect();
    order.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let others = order.len().saturating_sub(GROUPS) as u64;
    let group = |(sum, key, rows): (i64, K, Vec<&R>)| {
        let times = Distribution::of(rows.iter().map(|r| r.total_ns()).collect(), 0);
        Group {
            name: name(key),
            n: times.n,
            p50_ns: times.p50_ns,
            p99_ns: times.p99_ns,
            max_ns: times.max_ns,
            share: if whole > 0 { sum as f64 / whole as f64 } else { 0.0 },
            top: waits::top(rows.iter().copied()).map(|top| (top.stage, top.share)),
        }
    };
    Kind {
        by,
        groups: order.into_iter().take(GROUPS).map(group).collect(),
        others,
    }
}

fn queues(facts: &Facts) -> Vec<Queue> {
    let mut sent: FxHashMap<(Name, Option<u16>, u16), u64> = FxHashMap::default();
    for pass in facts.xmits.iter().filter(|p| p.started_ns.is_some()) {
        *sent.entry((pass.dev, pass.queue, pass.cpu)).or_insert(0) += 1;
    }
    let mut polled: FxHashMap<(u64, Name, u16), u64> = FxHashMap::default();
    for poll in &facts.polls {
        let work = u64::try_from(poll.work.unwrap_or(0)).unwrap_or(0);
        *polled.entry((poll.napi, poll.dev, poll.cpu)).or_insert(0) += work;
    }
    // Addresses differ from boot to boot; their order is enough of a name.
    let mut instances: Vec<(Name, u64)> = polled.keys().map(|(napi, dev, _)| (*dev, *napi)).collect();
    instances.sort_unstable();
    instances.dedup();
    let nth = |dev: Name, napi: u64| {
        let before = instances.iter().filter(|(d, n)| *d == dev && *n < napi);
        before.count() as u32
    };
    let transmit = sent.into_iter().map(|((dev, queue, cpu), packets)| Queue {
        direction: "transmit",
        dev: dev.text().into_owned(),
        queue: queue.map(u32::from),
        cpu,
        packets,
    });
    let receive = polled.into_iter().map(|((napi, dev, cpu), packets)| Queue {
        direction: "receive",
        dev: dev.text().into_owned(),
        queue: Some(nth(dev, napi)),
        cpu,
        packets,
    });
    let mut all: Vec<Queue> = transmit.chain(receive).filter(|q| q.packets > 0).collect();
    all.sort_by(|a, b| {
        let key = |q: &Queue| (std::cmp::Reverse(q.packets), q.direction, q.queue, q.cpu);
        key(a).cmp(&key(b)).then_with(|| a.dev.cmp(&b.dev))
    });
    all.truncate(WAYS);
    all
}

/// Kind, device and CPU of a step.
type Step = (&'static str, Name, u16);

fn ways(facts: &Facts) -> Vec<Way> {
    let mut last: FxHashMap<SkbId, (Step, i64)> = FxHashMap::default();
    let mut between: FxHashMap<(Step, Step), Vec<i64>> = FxHashMap::default();
    for hop in &facts.hops {
        let here: Step = (hop.kind, hop.dev, hop.cpu);
        if let Some((from, at)) = last.insert(hop.skb_id, (here, hop.time_ns)) {
            between.entry((from, here)).or_default().push(hop.time_ns - at);
        }
    }
    let shown = |step: &Step| format!("{} {}", step.0, step.1.text());
    let mut all: Vec<Way> = between
        .into_iter()
        .map(|((from, to), times)| {
            let times = Distribution::of(times, 0);
            Way {
                from: shown(&from),
                from_cpu: from.2,
                to: shown(&to),
                to_cpu: to.2,
                packets: times.n,
                p50_ns: times.p50_ns,
                p99_ns: times.p99_ns,
            }
        })
        .collect();
    all.sort_by(|a, b| {
        let order = b.packets.cmp(&a.packets).then_with(|| a.from.cmp(&b.from));
        order.then_with(|| (&a.to, a.from_cpu, a.to_cpu).cmp(&(&b.to, b.from_cpu, b.to_cpu)))
    });
    all.truncate(WAYS);
    all
}
