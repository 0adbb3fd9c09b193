//! By which devices the frames of connections went: what tells that their way changed.
//!
//! Needs `tx` and `hops`.

use rustc_hash::FxHashMap;

use crate::facts::{ConnectionId, Facts, SkbId};
use crate::name::Name;

/// Devices that a frame was queued on, in order.
pub(super) type Way = Vec<Name>;

/// Frames of some connections.
pub(super) struct Went {
    frames: FxHashMap<ConnectionId, Vec<(i64, SkbId)>>,
    ways: FxHashMap<SkbId, Way>,
}

impl Went {
    pub(super) fn of(facts: &Facts, connections: impl Iterator<Item = ConnectionId>) -> Went {
        let mut frames: FxHashMap<ConnectionId, Vec<(i64, SkbId)>> = connections.map(|c| (c, vec![])).collect();
        for t in &facts.tx {
            if let Some(of) = t.connection.and_then(|c| frames.get_mut(&c)) {
                of.push((t.t_sched_ns, t.skb_id));
            }
        }
        frames.values_mut().for_each(|of| of.sort_unstable());
        let mut ways: FxHashMap<SkbId, Way> = frames.values().flatten().map(|f| (f.1, vec![])).collect();
        for h in facts.hops.iter().filter(|h| h.kind == "queue") {
            if let Some(way) = ways.get_mut(&h.skb_id) {
                way.push(h.dev);
            }
        }
        Went { frames, ways }
    }

    /// Of the connection's frames sent until then, the last first.
    pub(super) fn until(&self, c: ConnectionId, ns: i64) -> impl Iterator<Item = &Way> {
        let of = self.frames.get(&c).map_or(&[][..], Vec::as_slice);
        let sent = of.get(..of.partition_point(|f| f.0 <= ns)).unwrap_or_default();
        sent.iter().rev().filter_map(|f| self.ways.get(&f.1))
    }
}
