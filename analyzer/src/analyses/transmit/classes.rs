//! The classes of a queue: what each may send and sent, and whose packets were starved in one.
//!
//! Needs `classes`, `xmits`, `tx`. No event tells a packet's class. That one connection's packets lay in a class is inferred, and said
//! only where five things hold: four in five of its late packets left before others that came first, or behind others that came
//! later; all it sent is nearly all that one class sent; all else is what the others sent, and more than it sent meanwhile; and its
//! late packets left at the rate of that class.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::classes::tables::{ClassRow, number};
use crate::facts::{ConnectionId, Facts, SkbId};
use crate::reconstruct::transmit::tables::TxKind;
use crate::reconstruct::whose::{Carries, Whose};
use crate::reconstruct::xmits::tables::Pass;
use crate::stat::Distribution;

/// A wait from which a packet is late, ns; and fewest of them.
const LATE_NS: i64 = 10_000_000;
const LEAST: usize = 5;
/// A connection's bytes are nearly all of a class's from this share on.
const NEARLY: f64 = 0.8;
/// Two sums, and two rates, are the same within these parts.
const SAME_SUM: f64 = 0.05;
const SAME_RATE: f64 = 0.15;
/// Part of its late packets that others overtook, or that overtook others.
const MOSTLY: f64 = 0.8;
/// Connections tried, those that waited longest first.
const TRIED: usize = 8;
/// Packets looked at for that.
const NEAR: usize = 4_096;

/// A class that packets lie in, and what it sent.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Class {
    /// `1:20`.
    pub class: String,
    /// Guaranteed.
    pub rate_bit_s: Option<u64>,
    /// At most, with what others leave.
    pub ceil_bit_s: Option<u64>,
    /// Bytes sent in the recording.
    pub bytes: u64,
    /// Packets sent.
    pub packets: u64,
    /// Packets dropped.
    pub drops: u64,
}

/// A connection whose packets waited in a class for its rate, while others were sent.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Starved {
    /// `saddr:sport > daddr:dport`.
    pub label: String,
    /// Number of the class, as in [`Class::class`].
    pub class: String,
    /// Waits of its late packets.
    pub wait: Distribution,
    /// Since the start of the recording: from the first of them in the queue to the last out of it, ns.
    pub within_ns: (i64, i64),
    /// At which they left, bit/s.
    pub bit_s: f64,
    /// What else left the queue meanwhile, bit/s; and its class, where there is only one more.
    pub others_bit_s: f64,
    /// See there.
    pub others: Option<String>,
}

/// The classes of a device that packets lie in; none where two namespaces have such a device with classes.
pub(super) fn leaves(facts: &Facts, dev: &str, kind: &str) -> Vec<Class> {
    let of: Vec<&ClassRow> = facts
        .classes
        .iter()
        .filter(|c| c.leaf && c.dev == dev && c.kind == kind)
        .collect();
    let places: FxHashSet<(u64, u64)> = of.iter().map(|c| (c.netns, c.ifindex)).collect();
    if places.len() != 1 {
        return vec![];
    }
    let class = |c: &&ClassRow| {
        Some(Class {
            class: number(c.class),
            rate_bit_s: c.shape.rate.map(|r| r.saturating_mul(8)),
            ceil_bit_s: c.shape.ceil.map(|r| r.saturating_mul(8)),
            bytes: c.rise(|n| n.bytes)?,
            packets: c.rise(|n| n.packets)?,
            drops: c.rise(|n| n.drops)?,
        })
    };
    // One that came or went meanwhile: then no sum is known.
    of.iter().map(class).collect::<Option<Vec<Class>>>().unwrap_or_default()
}

/// A packet that lay in the queue.
#[derive(Debug, Clone, Copy)]
struct Lay {
    from: i64,
    to: i64,
    bytes: u64,
    whose: Option<ConnectionId>,
}

fn near(a: f64, b: f64, part: f64) -> bool {
    (a - b).abs() <= part * a.max(b)
}

fn median(mut v: Vec<i64>) -> Option<i64> {
    v.sort_unstable();
    v.get(v.len() / 2).copied()
}

/// The connection whose late packets waited longest in all, where it can be told that it was starved.
pub(super) fn starved(facts: &Facts, passes: &[&Pass], classes: &[Class]) -> Option<Starved> {
    if classes.len() < 2 {
        return None;
    }
    let whose = Whose::of(facts.into());
    let control = facts.tx.iter().filter(|r| r.kind == TxKind::TcpControl);
    let control: FxHashMap<SkbId, ConnectionId> = control.filter_map(|r| Some((r.skb_id, r.connection?))).collect();
    let owner = |skb: SkbId| {
        let data = whose.packet(skb).filter(|o| o.carries == Carries::Data);
        data.and_then(|o| o.connection).or_else(|| control.get(&skb).copied())
    };
    let mut all: Vec<Lay> = passes
        .iter()
        .filter_map(|p| {
            Some(Lay {
                from: p.queued_ns?,
                to: p.started_ns?,
                bytes: p.bytes?.into(),
                whose: p.parent.or(p.skb_id).and_then(owner),
            })
        })
        .collect();
    all.sort_by_key(|l| l.to);
    let mut late: FxHashMap<ConnectionId, Vec<Lay>> = FxHashMap::default();
    for l in all.iter().filter(|l| l.to.saturating_sub(l.from) >= LATE_NS) {
        if let Some(c) = l.whose {
            late.entry(c).or_default().push(*l);
        }
    }
    let mut late: Vec<(i64, ConnectionId, Vec<Lay>)> = late
        .into_iter()
        .filter(|(_, of)| of.len() >= LEAST)
        .map(|(c, of)| {
            (
                of.iter()
                    .map(|l| l.to.saturating_sub(l.from))
                    .fold(0, i64::saturating_add),
                c,
                of,
            )
        })
        .collect();
    late.sort_by_key(|(ns, c, _)| (std::cmp::Reverse(*ns), *c));
    late.into_iter()
        .take(TRIED)
        .find_map(|(_, c, of)| of_connection(facts, c, &of, &all, classes))
}

fn of_connection(facts: &Facts, c: ConnectionId, late: &[Lay], all: &[Lay], classes: &[Class]) -> Option<Starved> {
    let sum = |of: &dyn Fn(&Lay) -> bool| all.iter().filter(|l| of(l)).map(|l| l.bytes).sum::<u64>() as f64;
    let (own, rest) = (sum(&|l| l.whose == Some(c)), sum(&|l| l.whose != Some(c)));
    let whole = classes.iter().map(|k| k.bytes).fold(0, u64::saturating_add);
    let mut fits = classes.iter().filter(|k| {
        let (bytes, others) = (k.bytes as f64, whole.saturating_sub(k.bytes) as f64);
        own >= NEARLY * bytes && own <= (1.0 + SAME_SUM) * bytes && near(rest, others, SAME_SUM)
    });
    let class = fits.next().filter(|_| fits.next().is_none())?;
    // Later in, sooner out: it or another, where the others have a queue of their own.
    let out_of_order = |l: &&Lay| {
        let near = |from: usize| all.get(from..).unwrap_or_default().iter().take(NEAR);
        let (first, next) = (
            all.partition_point(|o| o.to < l.from),
            all.partition_point(|o| o.to <= l.to),
        );
        let other = |o: &&Lay| o.whose != Some(c);
        let mut before = near(first).take_while(|o| o.to < l.to).filter(other);
        before.any(|o| o.from > l.from) || near(next).filter(other).any(|o| o.from < l.from)
    };
    if (late.iter().filter(out_of_order).count() as f64) < MOSTLY * late.len() as f64 {
        return None;
    }
    let gaps = late
        .iter()
        .zip(late.iter().skip(1))
        .map(|(a, b)| b.to.saturating_sub(a.to));
    let bytes = median(late.iter().map(|l| i64::try_from(l.bytes).unwrap_or(0)).collect())?;
    let bit_s = bytes as f64 * 8e9 / median(gaps.collect())?.max(1) as f64;
    near(bit_s, class.rate_bit_s? as f64, SAME_RATE).then_some(())?;
    let (from, to) = (late.iter().map(|l| l.from).min()?, late.iter().map(|l| l.to).max()?);
    let meanwhile = |own: bool| sum(&|l| (l.whose == Some(c)) == own && l.to >= from && l.to <= to);
    let others = meanwhile(false);
    // One that sends more than all others fills its class itself: its rate is what it is to have.
    (others > meanwhile(true)).then_some(())?;
    let mut more = classes.iter().filter(|k| k.class != class.class);
    let start = facts.capture.start_ns.unwrap_or(0);
    Some(Starved {
        label: facts.connections.get(c.0 as usize).map(crate::analyses::tcp::label)?,
        class: class.class.clone(),
        wait: Distribution::of(late.iter().map(|l| l.to.saturating_sub(l.from)).collect(), 0),
        within_ns: (from.saturating_sub(start), to.saturating_sub(start)),
        bit_s,
        others_bit_s: others * 8e9 / to.saturating_sub(from).max(1) as f64,
        others: more.next().filter(|_| more.next().is_none()).map(|k| k.class.clone()),
    })
}
