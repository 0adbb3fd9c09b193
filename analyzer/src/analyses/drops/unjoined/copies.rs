//! Copies of one frame that a bridge flooded: was one of them read?
//!
//! In: `hops`, `skbs`, `rx`. Out: lives, and when these programs read at all. A bridge makes the copies in one go, on one CPU: lives that begin one after the other there, of one length but for the link header, each at another
//! device (net/bridge/br_forward.c `br_flood`). Must not join two frames: one that was received begins anew, and so does a device that was there.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{Facts, SkbId};
use crate::name::Name;
use crate::reconstruct::receive::tables::RxEnd;

/// Longest time from one copy to the next, ns.
const NEXT_NS: i64 = 1_000_000;
/// A link header, and one with a VLAN tag.
const LINK_HEADERS: [u32; 3] = [0, 14, 18];
/// Most devices of a frame.
const DEVICES: usize = 256;
/// A program reads since the start that read something in this part of the recording, and this time, ns.
const EARLY: (i64, i64) = (10, 1_000_000_000);

/// Copies of one frame.
#[derive(Default)]
struct Frame {
    bytes: u32,
    last_ns: i64,
    devs: Vec<Name>,
    dropped: Vec<SkbId>,
    read: bool,
}

/// Of which a copy was read elsewhere.
#[derive(Default)]
pub(super) struct Elsewhere {
    /// These lives.
    pub(super) lives: FxHashSet<SkbId>,
    /// When programs that read since the start got what they read, in order.
    times: Vec<i64>,
}

impl Elsewhere {
    /// Whether these programs read at least half as often before that time as after it: what they read did not begin then.
    pub(super) fn was_read_before(&self, at_ns: i64, start_ns: i64, duration_ns: i64) -> bool {
        let before = self.times.partition_point(|t| *t < at_ns.saturating_add(start_ns));
        let per_ns = |n: usize, ns: i64| n as f64 / ns.max(1) as f64;
        let after = self.times.len().saturating_sub(before);
        per_ns(before, at_ns) * 2.0 >= per_ns(after, duration_ns.saturating_sub(at_ns))
    }
}

/// What programs read that read since the start, and when it came.
fn read(facts: &Facts) -> FxHashMap<SkbId, i64> {
    let start = facts.capture.start_ns.unwrap_or(0);
    let early = start.saturating_add(EARLY.1.max(facts.capture.duration_ns / EARLY.0));
    let of_udp = || {
        facts
            .rx
            .iter()
            .filter(|r| r.connection.is_none() && r.end == RxEnd::Read && r.pid > 0)
    };
    let readers: FxHashSet<i32> = of_udp().filter(|r| r.start_ns <= early).map(|r| r.pid).collect();
    of_udp()
        .filter(|r| readers.contains(&r.pid))
        .map(|r| (r.skb_id, r.start_ns))
        .collect()
}

/// Those of these lives of which such a program read a copy.
pub(super) fn read_elsewhere(facts: &Facts, dropped: impl Iterator<Item = SkbId>) -> Elsewhere {
    let (dropped, read): (FxHashSet<SkbId>, _) = (dropped.collect(), read(facts));
    let mut found = Elsewhere::default();
    if read.is_empty() {
        return found;
    }
    found.times = read.values().copied().collect();
    found.times.sort_unstable();
    let mut frames: FxHashMap<u16, Frame> = FxHashMap::default();
    let mut end = |of: &mut Frame| {
        let of = std::mem::take(of);
        if of.read {
            found.lives.extend(of.dropped);
        }
    };
    for h in facts.hops.iter().filter(|h| h.kind != "xmit") {
        let begins = || {
            let life = facts.skbs.get(h.skb_id.0 as usize);
            life.is_some_and(|s| s.skb_id == h.skb_id && s.birth_ns == h.time_ns)
        };
        let Some(bytes) = h.bytes.filter(|_| begins()) else {
            continue;
        };
        let of = frames.entry(h.cpu).or_default();
        let same = LINK_HEADERS.contains(&of.bytes.abs_diff(bytes))
            && h.time_ns.saturating_sub(of.last_ns) <= NEXT_NS
            && of.devs.len() < DEVICES
            && !of.devs.contains(&h.dev);
        if h.kind == "rx" || !same {
            end(of);
        }
        (of.bytes, of.last_ns) = (bytes, h.time_ns);
        of.devs.push(h.dev);
        of.read |= read.contains_key(&h.skb_id);
        if dropped.contains(&h.skb_id) {
            of.dropped.push(h.skb_id);
        }
    }
    frames.values_mut().for_each(end);
    found
}
