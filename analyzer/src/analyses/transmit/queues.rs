//! The queues of devices: how long packets lay in each, and how fast it gave them away while it held some.

use rustc_hash::FxHashMap;

use super::classes::{Class, Starved, leaves, starved};
use crate::analyses::quality;
use crate::explain::{Id, Kind};
use crate::facts::Facts;
use crate::name::Name;
use crate::reconstruct::xmits::Pass;
use crate::stat::Distribution;

/// What passes sooner did not wait for the queue's rate, ns.
const PASSED_NS: i64 = 20_000;

/// One in so many that leaves unseen is too much for a rate.
const UNTOLD: usize = 100;

/// The queue of a device.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct DeviceQueue {
    /// Device.
    pub dev: String,
    /// Kind of its root qdisc; empty when the recording does not tell.
    pub qdisc: String,
    /// Packets that it gave to the driver: time from `net_dev_queue` to the driver, bypasses left out.
    pub wait: Distribution,
    /// The pass with the longest of these.
    pub worst: Option<Id>,
    /// Bytes given to the driver while it held packets for 20 us or more, with link-layer headers. A shaper lets bursts pass at once while it holds
    /// none: their bytes in no time would make a rate that it never gives. `None`, as `busy_ns`, where packets leave it unseen.
    pub bytes: Option<u64>,
    /// Time in which it held such packets, ns.
    pub busy_ns: Option<i64>,
    /// Its classes that packets lie in.
    pub classes: Vec<Class>,
    /// Whose packets waited in one of them for its rate, while others were sent.
    pub starved: Option<Starved>,
}

impl DeviceQueue {
    /// Mbit/s while it held packets.
    pub fn mbit_per_s(&self) -> Option<f64> {
        let busy_ns = self.busy_ns.filter(|ns| *ns > 0)?;
        Some(self.bytes? as f64 * 8e3 / busy_ns as f64)
    }
}

/// In order of the longest p99.
pub(super) fn queues(facts: &Facts) -> Vec<DeviceQueue> {
    // Devices of two network namespaces may have one name: an index is told only where a qdisc event is.
    let mut by: FxHashMap<(Name, Option<i32>, Name), Vec<&Pass>> = FxHashMap::default();
    // A segment's time is that of the packet it was cut from, which no driver took.
    for p in facts.xmits.iter().filter(|p| p.bypass != Some(true)) {
        by.entry((p.dev, p.ifindex, p.qdisc)).or_default().push(p);
    }
    let mut all: Vec<DeviceQueue> = by
        .into_iter()
        .filter_map(|((dev, _, kind), of)| queue(facts, dev, kind, &of))
        .collect();
    all.sort_by(|a, b| b.wait.p99_ns.cmp(&a.wait.p99_ns).then_with(|| a.dev.cmp(&b.dev)));
    all
}

fn queue(facts: &Facts, dev: Name, kind: Name, passes: &[&Pass]) -> Option<DeviceQueue> {
    let held = |p: &&Pass| Some((p.queued_ns?, p.started_ns?)).filter(|(from, to)| to > from);
    let mut spans: Vec<(i64, i64)> = passes.iter().filter_map(held).collect();
    spans.sort_unstable();
    let mut busy: Vec<(i64, i64)> = vec![];
    let waited = |from: i64, to: i64| to.saturating_sub(from) >= PASSED_NS;
    for (from, to) in spans.iter().filter(|(from, to)| waited(*from, *to)) {
        match busy.last_mut() {
            Some(last) if *from <= last.1 => last.1 = last.1.max(*to),
            _ => busy.push((*from, *to)),
        }
    }
    let busy_ns = busy
        .iter()
        .fold(0i64, |ns, (a, b)| ns.saturating_add(b.saturating_sub(*a)));
    let meanwhile = |at: i64| {
        let before = busy.partition_point(|(from, _)| *from < at).checked_sub(1);
        before.and_then(|n| busy.get(n)).is_some_and(|(_, to)| at <= *to)
    };
    // The uncertain ones only where there are no others.
    let solid = passes.iter().any(|p| p.confidence.is_solid() && held(p).is_some());
    let judged = || passes.iter().filter(|p| !solid || p.confidence.is_solid());
    let waits = judged().filter_map(held).map(|(from, to)| to.saturating_sub(from));
    let waits: Vec<i64> = waits.collect();
    let longest = judged().filter_map(|p| held(p).map(|(from, to)| (to.saturating_sub(from), *p)));
    // Where packets leave unseen, what is seen to leave is no rate, and the longest wait may be two packets' at one address.
    let unseen = passes.iter().filter(|p| quality::unseen(facts, p)).count();
    let told = !quality::asked(facts) || unseen.saturating_mul(UNTOLD) < passes.len();
    let longest = longest.min_by_key(|(ns, p)| (std::cmp::Reverse(*ns), p.first_ns()));
    let bytes = passes
        .iter()
        .filter(|p| held(p).is_some_and(|(_, to)| meanwhile(to)))
        .filter_map(|p| p.bytes);
    if waits.is_empty() {
        return None;
    }
    let classes = leaves(facts, &dev.text(), &kind.text());
    Some(DeviceQueue {
        starved: starved(facts, passes, &classes),
        classes,
        dev: dev.text().into_owned(),
        qdisc: kind.text().into_owned(),
        bytes: told.then(|| bytes.map(u64::from).sum()),
        wait: Distribution::of(waits, 0),
        worst: longest.and_then(|(_, p)| Id::of_row(Kind::Xmit, &facts.xmits, p)),
        busy_ns: told.then_some(busy_ns),
    })
}
