//! TCP segments of freed frames: which original each is of, when that was sent last, when it was acknowledged.
//!
//! In: rows of `drops`, lives, edges, rows of `tx`. Out: answers per life. Must not judge.

use rustc_hash::{FxHashMap, FxHashSet};

use super::otherhost::Hindsight;
use crate::confidence::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::reconstruct::lineage::tables::LineageKind;

/// What is known of an original.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fate {
    /// Last time it was sent.
    pub last_sent: Option<i64>,
    /// When its last byte was acknowledged.
    pub acked: Option<i64>,
    /// Whose.
    pub connection: Option<ConnectionId>,
}

/// Whether the child was cut from the parent.
pub fn is_cut(kind: LineageKind) -> bool {
    matches!(kind, LineageKind::Gso | LineageKind::QdiscSegment)
}

/// The segments of some lives.
pub struct Segments {
    original: FxHashMap<SkbId, SkbId>,
    /// The packet that a piece was cut from.
    cut_from: FxHashMap<SkbId, SkbId>,
    /// When each original was sent, each time, in order.
    sent: FxHashMap<SkbId, Vec<i64>>,
    /// When what was sent for an original, its companion or a copy, was.
    sendings: FxHashMap<SkbId, i64>,
    fates: FxHashMap<SkbId, Fate>,
    /// Least of the edges from a life to its original, where that is less than certain.
    sure: FxHashMap<SkbId, Confidence>,
}

impl Segments {
    /// Of the lives asked for.
    pub fn of(known: &Hindsight<'_>, asked: &FxHashSet<SkbId>) -> Segments {
        // A piece that was cut from a companion, a copy of an original, a companion.
        let edges = || known.lineage.iter().filter(|l| asked.contains(&l.child));
        let pieces = edges().filter(|l| is_cut(l.kind));
        let cut_from: FxHashMap<SkbId, SkbId> = pieces.map(|l| (l.child, l.parent)).collect();
        let original = edges().filter_map(|l| match l.kind {
            LineageKind::RetransmitCopy | LineageKind::Fclone => Some((l.child, l.parent)),
            LineageKind::Gso | LineageKind::QdiscSegment => {
                Some((l.child, known.identity.original_of(l.parent).unwrap_or(l.parent)))
            }
            _ => None,
        });
        let mut original: FxHashMap<SkbId, SkbId> = original.collect();
        let weaker = edges().filter(|l| is_cut(l.kind) || l.kind == LineageKind::RetransmitCopy);
        let sure: FxHashMap<SkbId, Confidence> = weaker.map(|l| (l.child, l.confidence)).collect();
        for skb in asked {
            if let Some(of) = known.identity.original_of(*skb) {
                original.entry(*skb).or_insert(of);
            }
        }
        let mut fates: FxHashMap<SkbId, Fate> = original.values().map(|o| (*o, Fate::default())).collect();
        let companions = known.identity.clones.iter().map(|s| (s.original, s.clone, s.ts_ns));
        let copies = known.lineage.iter().filter(|l| l.kind == LineageKind::RetransmitCopy);
        let mut sent: FxHashMap<SkbId, Vec<i64>> = FxHashMap::default();
        let mut sendings: FxHashMap<SkbId, i64> = FxHashMap::default();
        for (skb, frame, at) in companions.chain(copies.map(|l| (l.parent, l.child, l.ts_ns))) {
            if let Some(fate) = fates.get_mut(&skb) {
                fate.last_sent = fate.last_sent.max(Some(at));
                sent.entry(skb).or_default().push(at);
                sendings.insert(frame, at);
            }
        }
        sent.values_mut().for_each(|times| times.sort_unstable());
        for t in known.tx {
            if let Some(fate) = t.original.and_then(|o| fates.get_mut(&o)) {
                fate.acked = t.t_ack_ns.or(fate.acked);
                fate.connection = t.connection.or(fate.connection);
            }
        }
        Segments {
            original,
            cut_from,
            sent,
            sendings,
            fates,
            sure,
        }
    }
    /// The original that a life is of, or was made of.
    pub fn original(&self, skb: SkbId) -> Option<SkbId> {
        self.original.get(&skb).copied()
    }
    /// The packet that a life is, or was cut from.
    pub fn packet(&self, skb: SkbId) -> SkbId {
        self.cut_from.get(&skb).copied().unwrap_or(skb)
    }
    /// When its original was sent the next time, however long the packet itself was under way; `None`: not seen.
    pub fn sent_after(&self, skb: SkbId) -> Option<i64> {
        let own = self.sendings.get(&self.packet(skb))?;
        let times = self.sent.get(&self.original(skb)?)?;
        times.get(times.partition_point(|at| at <= own)).copied()
    }
    /// How sure it is that a life is of its original: what was cut is as sure as its edge.
    pub fn sure(&self, skb: SkbId) -> Confidence {
        self.sure.get(&skb).copied().unwrap_or(Confidence::Certain)
    }
    /// Whether a life is of a segment.
    pub fn is_one(&self, skb: SkbId) -> bool {
        self.original.contains_key(&skb)
    }
    /// What became of its segment; `None`: of none.
    pub fn fate(&self, skb: SkbId) -> Option<Fate> {
        self.original.get(&skb).and_then(|o| self.fates.get(o)).copied()
    }
}
