//! Frames freed as OTHERHOST: their link-layer address was not that of the device they came to. A frame from outside is only seen
//! there because somebody listens or a bridge floods; one that a host of this recording sent itself has come to the wrong place.
//!
//! In: rows of `drops`, lives, hops, sendings, edges, rows of `tx`. Out: the same rows, judged. Must not take a copy for the frame:
//! a bridge that floods, or is promiscuous, hands on one skb and clones of it, and any of them may be the one that is freed.
//!
//! ```text
//! life began where it was received ────────────────────────────────────────────> expected
//! sent here ─┬ another skb of its length was queued, by the same CPU,
//!            │  on another device while the bridge had this one, and is not freed so ──> expected (a copy)
//!            ├ its TCP segment was retransmitted later ───────────────────────────────> lost (unclear on a device that only listens)
//!            ├ its TCP segment was acknowledged, and not sent again ───────────────> expected (another copy arrived)
//!            └ else ─────────────────────────────────────────────────────────────────> unclear
//! ```
//! Source: net/ipv4/ip_input.c `ip_rcv_core`, net/bridge/br_forward.c `br_flood` (every port but the last gets a clone).

use rustc_hash::{FxHashMap, FxHashSet};

use super::segments::Segments;
use super::tables::DropRow;
use crate::confidence::Confidence;
use crate::counters::tables::CounterRow;
use crate::facts::{ConnectionId, SkbId};
use crate::name::Name;
use crate::reconstruct::comms::Comms;
use crate::reconstruct::lineage::tables::LineageRow;
use crate::reconstruct::opens::tables::ResetRow;
use crate::reconstruct::skb::Identity;
use crate::reconstruct::skb::tables::{BirthKind, HopRow, SkbClass};
use crate::reconstruct::tcp::tables::{ConnectionRow, RetransmitRow, StateRow};
use crate::reconstruct::transmit::tables::TxRow;
use crate::snapshots::devices::Devices;

/// Longest time for which a bridge has a frame, ns: it hands it on in one run.
pub const BRIDGE_NS: i64 = 1_000_000;
/// Steps looked at for a copy's original.
const STEPS: usize = 64;
/// A link header, and one with a VLAN tag that was put in or taken out.
pub const LINK_HEADERS: [u32; 3] = [0, 14, 18];

/// Frames of a connection that a device saw and that arrived as another copy, for each that was sent again: it only listens.
const COPIES: u64 = 4;

const FROM_OUTSIDE: &str =
    "frame for another host that was first seen where it was received: the device is promiscuous or bridged";
const COPY: &str = "copy of a frame for another host, made by a bridge; another copy went on";
pub(super) const ARRIVED: &str = "a host of this recording sent it to another device's address; its segment was acknowledged and not sent again, so another copy arrived";
pub(super) const LOST: &str =
    "a recorded host sent it, but it reached a device it was not addressed to; its segment was sent again later";
/// That it was only seen by a device that listens.
pub const TAPPED: &str = "a host of this recording sent it to another device's address; its segment was sent again later, but most such frames that this device saw arrived as another copy, as where it only listens (a mirror, a bridge of a program): where this one was lost is not known";
const OPEN: &str = "a recorded host sent it, but it reached a device it was not addressed to; its segment was neither acknowledged nor sent again in the recording";
const NO_SEGMENT: &str = "a recorded host sent it, but it reached a device it was not addressed to; no copy is seen to go on, and nothing tells whether it was missed";
const NO_SENDER: &str = "frame for another host; who sent it is not recorded";

/// What is known after the walk.
pub struct Hindsight<'h> {
    /// Lives, hops, sendings.
    pub identity: &'h Identity,
    /// Edges.
    pub lineage: &'h [LineageRow],
    /// Segments.
    pub tx: &'h [TxRow],
    /// Sockets.
    pub connections: &'h [ConnectionRow],
    /// What was sent again.
    pub retransmits: &'h [RetransmitRow],
    /// States of sockets.
    pub states: &'h [StateRow],
    /// Names of tasks.
    pub comms: &'h Comms,
    /// What the kernel counted.
    pub counters: &'h [CounterRow],
    /// Devices by their names.
    pub devices: &'h Devices,
    /// RSTs.
    pub resets: &'h [ResetRow],
    /// Frames that are sent are recorded.
    pub sendings: bool,
    /// Events were lost: what was not seen may have been.
    pub lost: bool,
}

/// Judges the rows at these places.
pub fn judge(rows: &mut [DropRow], places: &[usize], known: &Hindsight<'_>) {
    if places.is_empty() {
        return;
    }
    let freed: FxHashSet<SkbId> = places.iter().filter_map(|i| rows.get(*i)?.skb_id).collect();
    let case = Case::of(known, &freed);
    for i in places {
        let Some(row) = rows.get_mut(*i) else { continue };
        let (expected, why, mut sure) = case.of_row(row);
        if known.lost && expected != Some(true) {
            sure = sure.min(Confidence::Weak);
        }
        (row.expected, row.why, row.confidence) = (expected, why, sure);
    }
    let whose = |row: &DropRow| case.connection(row);
    tapped(rows, places, &whose);
}

/// Where a device sees frames of a connection whose other copies nearly all arrive, its others are not lost there.
pub(super) fn tapped(rows: &mut [DropRow], places: &[usize], whose: &dyn Fn(&DropRow) -> Option<ConnectionId>) {
    let mut by: FxHashMap<(Name, Option<ConnectionId>), (u64, u64)> = FxHashMap::default();
    for row in places.iter().filter_map(|i| rows.get(*i)) {
        let (arrived, lost) = by.entry((row.dev, whose(row))).or_default();
        *arrived += u64::from(row.why == ARRIVED);
        *lost += u64::from(row.why == LOST);
    }
    for i in places {
        let Some(row) = rows.get_mut(*i).filter(|r| r.why == LOST) else {
            continue;
        };
        let (arrived, lost) = by.get(&(row.dev, whose(row))).copied().unwrap_or_default();
        if arrived >= lost.saturating_mul(COPIES) {
            (row.expected, row.why, row.confidence) = (None, TAPPED, Confidence::Unknown);
        }
    }
}

struct Case<'c> {
    known: &'c Hindsight<'c>,
    freed: &'c FxHashSet<SkbId>,
    hops: FxHashMap<SkbId, Vec<&'c HopRow>>,
    segments: Segments,
}

impl<'c> Case<'c> {
    fn of(known: &'c Hindsight<'c>, freed: &'c FxHashSet<SkbId>) -> Case<'c> {
        let mut hops: FxHashMap<SkbId, Vec<&HopRow>> = FxHashMap::default();
        for h in known.identity.hops.iter().filter(|h| freed.contains(&h.skb_id)) {
            hops.entry(h.skb_id).or_default().push(h);
        }
        Case {
            known,
            freed,
            hops,
            segments: Segments::of(known, freed),
        }
    }

    /// Whose segment it is.
    fn connection(&self, row: &DropRow) -> Option<ConnectionId> {
        self.segments.fate(row.skb_id?)?.connection
    }

    fn of_row(&self, row: &DropRow) -> (Option<bool>, &'static str, Confidence) {
        let life = row.skb_id.and_then(|id| self.known.identity.life(id));
        let Some(life) = life.filter(|l| l.birth_kind != BirthKind::CensoredStart) else {
            return (None, NO_SENDER, Confidence::Unknown);
        };
        if life.class == SkbClass::Rx {
            return match self.known.sendings {
                true => (Some(true), FROM_OUTSIDE, Confidence::Strong),
                false => (None, NO_SENDER, Confidence::Unknown),
            };
        }
        if self.copy_went_on(life.skb_id) {
            return (Some(true), COPY, Confidence::Strong);
        }
        let Some(fate) = self.segments.fate(life.skb_id) else {
            return (None, NO_SEGMENT, Confidence::Unknown);
        };
        let sure = life.links.min(Confidence::Strong).min(self.segments.sure(life.skb_id));
        match (fate.last_sent, fate.acked) {
            (Some(sent), _) if sent > row.time_ns => (Some(false), LOST, sure),
            (_, Some(acked)) if acked > row.time_ns => (Some(true), ARRIVED, sure),
            _ => (None, OPEN, Confidence::Unknown),
        }
    }

    /// Whether a bridge had the frame and handed another skb of it to another device, which is not freed so too.
    fn copy_went_on(&self, skb: SkbId) -> bool {
        let none = vec![];
        let own = self.hops.get(&skb).unwrap_or(&none);
        let Some(first) = own.first() else { return false };
        // This one is the frame: clones of it were queued before it went on itself.
        let handed_on = own.windows(2).any(|pair| {
            let [from, to] = pair else { return false };
            let came = from.kind != "queue" && from.kind != "xmit";
            let in_bridge = came && to.kind != "xmit" && to.time_ns.saturating_sub(from.time_ns) <= BRIDGE_NS;
            in_bridge
                && self
                    .between(from.time_ns, to.time_ns)
                    .take(STEPS)
                    .any(|h| h.kind == "queue" && self.same_frame(h, from) && self.other_life(h, own))
        });
        // This one is the clone: the frame came to the bridge just before. TCP's own companions are no bridge's clones.
        handed_on
            || first.kind == "queue"
                && !self.segments.is_one(skb)
                && self
                    .between(first.time_ns.saturating_sub(BRIDGE_NS), first.time_ns)
                    .rev()
                    .take(STEPS)
                    .any(|h| {
                        let came = h.kind != "queue" && h.kind != "xmit";
                        came && self.same_frame(first, h) && self.other_life(h, own) && !self.came_from(h, first)
                    })
    }

    /// Whether a frame came by the very device that another is queued on: then it is one sent before it, not one that a bridge
    /// hands to that device.
    fn came_from(&self, came: &HopRow, queued: &HopRow) -> bool {
        let before = self.between(came.time_ns.saturating_sub(BRIDGE_NS), came.time_ns);
        let own = before.rev().take(STEPS).filter(|h| h.skb_id == came.skb_id);
        own.into_iter().any(|h| h.dev == queued.dev)
    }

    fn between(&self, from: i64, to: i64) -> impl DoubleEndedIterator<Item = &'c HopRow> + use<'c> {
        let hops = &self.known.identity.hops;
        let (a, b) = (
            hops.partition_point(|h| h.time_ns < from),
            hops.partition_point(|h| h.time_ns <= to),
        );
        hops.get(a..b).unwrap_or(&[]).iter()
    }

    /// A frame as queued, and as it came to the device before, on one CPU.
    fn same_frame(&self, queued: &HopRow, came: &HopRow) -> bool {
        let longer = queued.bytes.zip(came.bytes).map(|(q, c)| q.abs_diff(c));
        queued.cpu == came.cpu && queued.dev != came.dev && longer.is_some_and(|d| LINK_HEADERS.contains(&d))
    }

    fn other_life(&self, h: &HopRow, own: &[&HopRow]) -> bool {
        let other = own.first().is_none_or(|o| o.skb_id != h.skb_id) && !self.freed.contains(&h.skb_id);
        other
            && self
                .known
                .identity
                .life(h.skb_id)
                .is_some_and(|l| l.class != SkbClass::Tap)
    }
}
