//! All that came by a device to be passed on is dropped since a time, and before it went on: a rule, a policy, a filter that was set meanwhile.
//!
//! ```text
//! came by tap0, to be passed on:  | queued on br's ports . . . . . . | all dropped  x x x x x x x
//!                                                              since ^
//! ```
//! Needs `skbs`, `hops`, `drops`. Of lives that were born at reception; what is for the host itself is not among them: neither queued nor, here, dropped. No addresses
//! are needed, so it tells of bridged packets, which no route is looked up for. Must not count ARP, which such rules let through.

use std::net::{IpAddr, Ipv4Addr};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::drops::tables::DropRow;
use crate::reconstruct::skb::tables::{SkbClass, SkbRow};

/// Packets on each side.
const MANY: usize = 20;
/// One in so many may be otherwise: other protocols go on.
const FEW: usize = 20;
/// They are dropped at least at this part of the rate at which they went on.
const RATE: f64 = 0.1;
/// Until they are dropped they go on: nothing is quiet for longer, ns, or for so many of its intervals.
const QUIET_NS: i64 = 1_000_000_000;
const INTERVALS: i64 = 10;
/// Of a group at least so many in five.
const MOST: u64 = 4;
/// ARP without a link-layer header, and as short frames are filled up.
const ARP: [u32; 2] = [28, 46];
const ETH_P_ARP: u16 = 0x0806;

/// Since when, and how many.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Cut {
    /// The first of them, ns since the start of the recording.
    pub since_ns: i64,
    /// Devices that they came by.
    pub devices: Vec<String>,
    /// Dropped of these since.
    pub dropped: u64,
    /// Passed on before.
    pub before: u64,
    /// Passed on since.
    pub later: u64,
}

impl Cut {
    /// Both began at one time.
    pub fn near(&self, other: &Cut) -> bool {
        self.since_ns.abs_diff(other.since_ns) <= QUIET_NS.unsigned_abs()
    }
    /// Of both.
    pub fn and(mut self, other: &Cut) -> Cut {
        for dev in &other.devices {
            if !self.devices.contains(dev) {
                self.devices.push(dev.clone());
            }
        }
        self.since_ns = self.since_ns.min(other.since_ns);
        self.dropped = self.dropped.saturating_add(other.dropped);
        self.before = self.before.saturating_add(other.before);
        self.later = self.later.saturating_add(other.later);
        self
    }
}

fn came(facts: &Facts, skb: SkbId) -> Option<&SkbRow> {
    let life = facts.skbs.get(skb.0 as usize);
    life.filter(|l| l.class == SkbClass::Rx && !l.bytes.is_some_and(|n| ARP.contains(&n)))
}

/// When packets were passed on, by the device that they came by, in order.
#[derive(Debug, Default)]
pub(super) struct Passed(FxHashMap<Name, Vec<i64>>);

impl Passed {
    pub(super) fn of(facts: &Facts) -> Passed {
        let mut by: FxHashMap<Name, Vec<i64>> = FxHashMap::default();
        let mut seen: FxHashSet<SkbId> = FxHashSet::default();
        for h in facts.hops.iter().filter(|h| h.kind == "queue") {
            if let Some(l) = came(facts, h.skb_id).filter(|_| seen.insert(h.skb_id)) {
                by.entry(l.dev).or_default().push(h.time_ns);
            }
        }
        Passed(by)
    }
}

/// Of one device.
fn of_device(passed: &[i64], dropped: &[i64], (start, end): (i64, i64)) -> Option<(i64, [usize; 3])> {
    let since = |from: i64| {
        let before = passed.partition_point(|t| *t < from);
        let later = passed.len() - before;
        let n = dropped.len() - dropped.partition_point(|t| *t < from);
        let early = dropped.len() - n;
        // It went on until then.
        let quiet = passed
            .get(before.wrapping_sub(1))
            .map_or(i64::MAX, |last| from.saturating_sub(*last));
        let each = from.saturating_sub(start) / (before.max(1) as i64);
        let until = quiet <= QUIET_NS.max(each.saturating_mul(INTERVALS));
        let few = later * FEW <= n && early * FEW <= before;
        let rate = |n: usize, ns: i64| n as f64 / ns.max(1) as f64;
        let steady = rate(n, end.saturating_sub(from)) >= RATE * rate(before, from.saturating_sub(start));
        (before >= MANY && n >= MANY && few && steady && until).then_some((from, [n, before, later]))
    };
    let last = passed.last()?;
    let after_last = dropped.get(dropped.partition_point(|t| t <= last));
    since(*dropped.first()?).or_else(|| since(*after_last?))
}

/// Of packets that rules dropped.
pub(super) fn cut(facts: &Facts, passed: &Passed, rows: &[&DropRow]) -> Option<Cut> {
    let within = (facts.capture.start_ns?, facts.capture.end_ns?);
    let mut by: FxHashMap<Name, Vec<i64>> = FxHashMap::default();
    // For an address of this host, or of many, it was not to be passed on.
    let own =
        |a: IpAddr| a.is_multicast() || a == IpAddr::V4(Ipv4Addr::BROADCAST) || facts.spaces.of_address(a).is_some();
    let onward = |r: &&&DropRow| r.protocol != ETH_P_ARP && !r.way.is_some_and(|w| own(w.to));
    for r in rows.iter().filter(onward) {
        if let Some(l) = r.skb_id.and_then(|skb| came(facts, skb)) {
            by.entry(l.dev).or_default().push(r.time_ns);
        }
    }
    // What was lost may have gone on.
    if !facts.gaps.is_empty() {
        return None;
    }
    // Of several devices of one name nothing is told.
    let named = by.into_iter().map(|(dev, times)| (dev.text().into_owned(), dev, times));
    let mut of: Vec<(String, Name, Vec<i64>)> = named.filter(|d| !facts.routes.links.several(&d.0)).collect();
    of.sort_by_key(|(_, _, times)| times.first().copied());
    let each = of.into_iter().filter_map(|(name, dev, times)| {
        let (since, [dropped, before, later]) = of_device(passed.0.get(&dev)?, &times, within)?;
        Some(Cut {
            since_ns: since.saturating_sub(within.0),
            devices: vec![name],
            dropped: dropped as u64,
            before: before as u64,
            later: later as u64,
        })
    });
    let all = each.reduce(|all, one| if all.near(&one) { all.and(&one) } else { all })?;
    (all.dropped.saturating_mul(5) >= (rows.len() as u64).saturating_mul(MOST)).then_some(all)
}
