//! What is counted in each block of time, and out of how much: the list of all rates, from the tables' rows.

use std::collections::BTreeMap;

use super::again::{self, Again};
use super::metrics::{Which, rx_counts, tx_counts};
use super::service::Service;
use super::{asking, attempts, speed};
use crate::analyses::drops;
use crate::diff::judged::compare::BLOCKS;
use crate::diff::servers::answers;
use crate::diff::sides::options::Recording;
use crate::name::Name;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::receive::tables::Stage as RxStage;
use crate::reconstruct::skb::tables::{SkbClass, SkbRow};
use crate::reconstruct::softirq::tables::NET_RX;
use crate::reconstruct::transmit::stages::Stage as TxStage;
use crate::stat::{Cluster, block_of};
use crate::table::Cell;

/// Stages of which it matters how many units meet them, receive side; whether more is worse.
pub(in crate::diff) const MET_RX: [(RxStage, bool); 3] = [
    (RxStage::Backlog, true),
    (RxStage::OutOfOrder, true),
    (RxStage::Gro, false),
];
/// The same of TCP segments sent.
pub(in crate::diff) const MET_TX: [TxStage; 5] = [
    TxStage::Sndbuf,
    TxStage::Recovery,
    TxStage::Neighbour,
    TxStage::Bql,
    TxStage::Ring,
];
/// What may limit a TCP sender.
pub(in crate::diff) const LIMITS: [TxStage; 7] = [
    TxStage::Sndbuf,
    TxStage::Rwnd,
    TxStage::Cwnd,
    TxStage::Nagle,
    TxStage::Pacing,
    TxStage::Tsq,
    TxStage::Refused,
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
    /// Bytes or packets per unit.
    Size,
    /// How many of one thing for one of another, which load does not explain.
    Count,
    /// Bytes per second. Less is worse.
    Speed,
}

/// One rate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::diff) struct Key {
    pub metric: String,
    pub meaning: &'static str,
    pub kind: Kind,
    pub more_is_worse: bool,
    pub needs: &'static [&'static str],
}

impl Key {
    pub(in crate::diff) fn new(metric: String, meaning: &'static str, kind: Kind, more_is_worse: bool) -> Key {
        Key {
            metric,
            meaning,
            kind,
            more_is_worse,
            needs: &[],
        }
    }
    pub(in crate::diff) fn needs(mut self, events: &'static [&'static str]) -> Key {
        self.needs = events;
        self
    }
}

/// One recording: numerators by block of each rate, and which exposure each has.
#[derive(Default)]
pub(in crate::diff) struct Counted {
    of: BTreeMap<Key, Vec<f64>>,
    pub out_of: BTreeMap<Key, Exposure>,
    exposures: BTreeMap<Exposure, Vec<f64>>,
    /// Of each speed: time in which data of a connection was under way, of all of them together, and time in which any was, ns.
    pub at_once: BTreeMap<String, (f64, f64)>,
    /// What was sent again, by service and of all: said beside the rates, and not judged, as the segments of one call are one chance.
    pub again: BTreeMap<Option<Service>, Again>,
}

/// Out of how much.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::diff) enum Exposure {
    Skbs,
    /// Data that TCP sent, for the first time and again, in segments of at most 1448 bytes: ACKs are no chance of a loss
    /// that is repaired, and one skb is any number of segments. Of one service, or of all.
    Data(Option<String>),
    Segments,
    RxUnits,
    SegmentTime,
    CpuTime,
    Polls,
    Frames(Name),
    /// Answers of a server; of all, where it is empty.
    Answers(String),
    /// Attempts of clients to open a connection to a server; of all, where it is empty.
    Attempts(String),
    /// Messages that a server answered, or did not; of all, where it is empty.
    Asked(String),
    /// Seconds in which data of a service (the rate's metric) was under way.
    Busy(String),
}

impl Exposure {
    /// `[10.0.0.1:80]`; empty: of all.
    pub(in crate::diff) fn whose(&self) -> String {
        match self {
            Exposure::Attempts(server) | Exposure::Asked(server) if !server.is_empty() => format!("[{server}]"),
            _ => String::new(),
        }
    }
}

/// Blocks of the finest cut.
pub(in crate::diff) const FINEST: usize = BLOCKS[0];

fn add(slots: &mut Vec<f64>, block: usize, v: f64) {
    slots.resize(FINEST, 0.0);
    if let Some(slot) = slots.get_mut(block) {
        *slot += v;
    }
}

impl Counted {
    pub(in crate::diff) fn count(&mut self, key: Key, per: Exposure, block: usize, v: f64) {
        self.out_of.insert(key.clone(), per);
        add(self.of.entry(key).or_default(), block, v);
    }
    pub(in crate::diff) fn expose(&mut self, what: Exposure, block: usize, v: f64) {
        add(self.exposures.entry(what).or_default(), block, v);
    }
    /// All of it.
    pub fn exposed(&self, what: &Exposure) -> f64 {
        self.exposures.get(what).map_or(0.0, |v| v.iter().sum())
    }
    /// Servers whose answers are counted.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.exposures.keys().filter_map(|e| match e {
            Exposure::Answers(server) if !server.is_empty() => Some(server.as_str()),
            _ => None,
        })
    }
    /// Units that are counted.
    pub fn exposures(&self) -> impl Iterator<Item = &Exposure> {
        self.exposures.keys()
    }
    /// Counts these units, and what was counted of them, among others; among none, where there are none.
    pub fn give(&mut self, from: (&Key, &Exposure), to: Option<(&Key, &Exposure)>) {
        let (n, of) = (self.exposures.remove(from.1), self.of.remove(from.0));
        self.out_of.remove(from.0);
        let Some((key, per)) = to else { return };
        for (b, v) in n.into_iter().flatten().enumerate() {
            self.expose(per.clone(), b, v);
        }
        for (b, v) in of.into_iter().flatten().enumerate() {
            self.count(key.clone(), per.clone(), b, v);
        }
    }
    /// All that was counted of it.
    pub fn sum(&self, of: &Key) -> f64 {
        self.of.get(of).map_or(0.0, |v| v.iter().sum())
    }
    pub fn clusters(&self, key: &Key, per: &Exposure, blocks: usize) -> Vec<Cluster> {
        let none = vec![0.0; FINEST];
        let (y, n) = (
            self.of.get(key).unwrap_or(&none),
            self.exposures.get(per).unwrap_or(&none),
        );
        let width = FINEST / blocks.max(1);
        let sum = |v: &[f64]| -> Vec<f64> { v.chunks(width.max(1)).map(|c| c.iter().sum()).collect() };
        sum(y).into_iter().zip(sum(n)).map(|(y, n)| Cluster { y, n }).collect()
    }
}

/// The reason of frames of protocols that the kernel has no handler for.
const FOREIGN: &str = ".UNHANDLED_PROTO";

/// The rate that a drop counts for; `None`: for none.
pub(in crate::diff) fn drop_metric(r: &Recording<'_>, d: &DropRow) -> Option<String> {
    let here = d.expected != Some(true) && (d.dev.is_empty() || r.on(d.dev));
    let here = here && !r.is_alone(d.owner.and_then(|o| o.connection));
    let names = &r.facts.names;
    let reason = match (names.drop_reason(d.reason), names.location(d.location)) {
        (Cell::Str(s), _) | (_, Cell::Str(s)) => s,
        _ => "unknown".into(),
    };
    let prefix = if d.background { "drops.background" } else { "drops" };
    here.then(|| format!("{prefix}.{reason}"))
}

/// Counts in one recording.
pub(in crate::diff) fn counted(r: &Recording<'_>) -> Counted {
    let mut out = Counted::default();
    let f = r.facts;
    let block = |t: i64| {
        r.has(t)
            .then(|| block_of(t, r.from_ns, r.to_ns.saturating_sub(1), FINEST))
    };
    let left = |s: &SkbRow| r.left_out.is_some_and(|l| l.their_skbs.contains(&s.skb_id));
    for s in (f.skbs.iter()).filter(|s| s.class != SkbClass::Tap && r.on(s.dev) && !left(s)) {
        if let Some(b) = block(s.birth_ns) {
            out.expose(Exposure::Skbs, b, 1.0);
        }
    }
    let drop = |metric: String, d: &DropRow| {
        let meaning = drops::kind(d.expected, d.background).meaning;
        // More of the kernel's own traffic without a route is no regression, nor are frames that no program of this host can ask for.
        let foreign = metric.ends_with(FOREIGN);
        Key::new(metric, meaning, Kind::Events, !d.background && !foreign).needs(&["skb:kfree_skb"])
    };
    for d in &f.drops {
        if let Some((b, metric)) = block(d.time_ns).zip(drop_metric(r, d)) {
            out.count(drop(metric, d), Exposure::Skbs, b, 1.0);
        }
    }
    receive(r, &mut out, block);
    transmit(r, &mut out, block);
    again::again(r, &mut out, block);
    sizes(r, &mut out, block);
    answers::opened(r, &mut out, block);
    attempts::failed(r, &mut out, block);
    asking::unanswered(r, &mut out, block);
    speed::speeds(r, &mut out, block);
    let key = || {
        Key::new("softirq.share".into(), "time of all CPUs in NET_RX", Kind::Time, false).needs(&["irq:softirq_entry"])
    };
    let cpus = f64::from(f.capture.cpus.max(1));
    for b in 0..FINEST {
        out.expose(Exposure::CpuTime, b, r.duration_ns() as f64 * cpus / FINEST as f64);
    }
    for s in f.softirqs.iter().filter(|s| s.vec == NET_RX && r.devices.is_empty()) {
        if let (Some(b), Some(end)) = (block(s.start_ns), s.end_ns) {
            out.count(key(), Exposure::CpuTime, b, (end - s.start_ns) as f64);
        }
    }
    out
}

fn receive(r: &Recording<'_>, out: &mut Counted, block: impl Fn(i64) -> Option<usize>) {
    for row in r
        .facts
        .rx
        .iter()
        .filter(|x| rx_counts(x) && r.takes(x.dev, x.connection))
    {
        let Some(b) = block(row.start_ns) else { continue };
        out.expose(Exposure::RxUnits, b, 1.0);
        for (s, worse) in MET_RX {
            let met = row.stage(s).is_some_and(|ns| ns > 0);
            let key = Key::new(
                format!("rx.met_{}", s.name()),
                "received units that met this stage",
                Kind::Units,
                worse,
            )
            .needs(Which::new("rx", s.name()).needs());
            out.count(key, Exposure::RxUnits, b, f64::from(u8::from(met)));
        }
    }
}

fn transmit(r: &Recording<'_>, out: &mut Counted, block: impl Fn(i64) -> Option<usize>) {
    for row in r
        .facts
        .tx
        .iter()
        .filter(|x| tx_counts(x) == Some("tx") && r.takes(x.dev, x.connection))
    {
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
            )
            .needs(Which::new("tx", s.name()).needs());
            out.count(key, Exposure::Segments, b, f64::from(u8::from(met)));
        }
        for s in LIMITS {
            let meaning = "part of the time of sent segments, send call to ACK";
            let key = Key::new(format!("tx.limited_by_{}", s.name()), meaning, Kind::Time, false)
                .needs(Which::new("tx", s.name()).needs());
            out.count(key, Exposure::SegmentTime, b, row.stage(s).unwrap_or(0) as f64);
        }
    }
}

fn sizes(r: &Recording<'_>, out: &mut Counted, block: impl Fn(i64) -> Option<usize>) {
    let size = |name: String, meaning| Key::new(name, meaning, Kind::Size, false);
    for row in r
        .facts
        .rx
        .iter()
        .filter(|x| rx_counts(x) && r.takes(x.dev, x.connection))
    {
        if let (Some(b), Some(bytes)) = (block(row.start_ns), row.bytes) {
            let key = size("rx.unit_bytes".into(), "payload bytes of a received unit, after GRO");
            out.count(key, Exposure::RxUnits, b, f64::from(bytes));
        }
    }
    for p in r.facts.polls.iter().filter(|p| r.on(p.dev)) {
        if let (Some(b), Some(work)) = (block(p.end_ns), p.work) {
            out.expose(Exposure::Polls, b, 1.0);
            let key = size("poll.packets".into(), "packets received by one NAPI poll").needs(&["napi:napi_poll"]);
            out.count(key, Exposure::Polls, b, f64::from(work));
        }
    }
    for p in r.facts.xmits.iter().filter(|p| p.started_ns.is_some() && r.on(p.dev)) {
        if let (Some(b), Some(bytes)) = (block(p.first_ns()), p.bytes) {
            out.expose(Exposure::Frames(p.dev), b, 1.0);
            let name = format!("device.frame_bytes[{}]", p.dev.text());
            let key = size(name, "bytes of a frame given to the driver");
            out.count(key, Exposure::Frames(p.dev), b, f64::from(bytes));
        }
    }
}
