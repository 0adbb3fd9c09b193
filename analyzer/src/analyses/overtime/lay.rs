//! How many packets lay in the queue of each device, over time: those that its qdisc took and gave to the driver later.
//!
//! Needs the view `xmits`. A packet lies there from `net_dev_queue` to the last `net_dev_start_xmit`; one that bypassed the qdisc never does. Of one
//! that was not seen given to the driver (dropped there, or there when the recording ended) it is not known how long it lay: it is not counted.

use std::collections::BTreeMap;

use super::Time;
use crate::facts::Facts;
use crate::name::Name;

/// Queues kept.
pub const QUEUES: usize = 4;

/// What lay in the queue of a device.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Lay {
    /// Device.
    pub dev: String,
    /// Its index, where a qdisc event told it: devices of two network namespaces may have one name.
    pub ifindex: Option<i32>,
    /// Kind of its root qdisc; empty when the recording does not tell.
    pub qdisc: String,
    /// Most packets at a time, per bin.
    pub packets: Vec<u64>,
}

/// Device, its index, its qdisc.
type Queue = (Name, Option<i32>, Name);
/// From, to, packets.
type Lying = Vec<(i64, i64, u32)>;

pub(super) fn lay(facts: &Facts, time: &Time) -> Vec<Lay> {
    let mut of: BTreeMap<Queue, Lying> = BTreeMap::new();
    for p in facts.xmits.iter().filter(|p| p.bypass != Some(true)) {
        let Some((from, to)) = p.queued_ns.zip(p.started_ns).filter(|(from, to)| to > from) else {
            continue;
        };
        of.entry((p.dev, p.ifindex, p.qdisc)).or_default().push((from, to, 1));
    }
    let queue = |((dev, ifindex, qdisc), lay): (Queue, Lying)| Lay {
        dev: dev.text().into_owned(),
        ifindex,
        qdisc: qdisc.text().into_owned(),
        packets: time.most(lay.into_iter()),
    };
    let mut all: Vec<Lay> = of.into_iter().map(queue).collect();
    let most = |lay: &Lay| lay.packets.iter().max().copied().unwrap_or(0);
    all.sort_by(|a, b| {
        let order = most(b).cmp(&most(a)).then_with(|| a.dev.cmp(&b.dev));
        order.then_with(|| (a.ifindex, &a.qdisc).cmp(&(b.ifindex, &b.qdisc)))
    });
    all.truncate(QUEUES);
    all
}
