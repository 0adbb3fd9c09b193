//! Rows of the view `lineage`.

use super::why::Why;
use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::table::{Cell, TableDef, col};

/// How two lives are related.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LineageKind {
    /// GRO took the child's data into the parent and freed the child.
    GroMerge,
    /// GRO hung the child into the parent's frag_list, where it lives until the parent dies.
    FragList,
    /// Software GSO cut the child from the parent.
    Gso,
    /// A queueing discipline cut the child from the parent.
    QdiscSegment,
    /// The child is the companion of a TCP original, sent down in its place.
    Fclone,
    /// The child is a copy of a TCP original, sent again while the companion was still in use.
    RetransmitCopy,
    /// TCP put the child's data behind the parent's in a receive queue.
    Coalesce,
    /// The child is the copy that a packet capture on the recorded host got.
    Tap,
}

impl LineageKind {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            LineageKind::GroMerge => "gro_merge",
            LineageKind::FragList => "frag_list",
            LineageKind::Gso => "gso",
            LineageKind::QdiscSegment => "qdisc_segment",
            LineageKind::Fclone => "fclone",
            LineageKind::RetransmitCopy => "retransmit_copy",
            LineageKind::Coalesce => "coalesce",
            LineageKind::Tap => "tap",
        }
    }
}

/// What tells an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// Exit return code, and one held head of that NAPI and hash.
    GroExit,
    /// Exit return code, and the youngest of several such heads.
    GroExitOneOfMany,
    /// Exit return code of an entry inside which the head was delivered, lacking these bytes.
    GroOpenEntry,
    /// No exit events: given to GRO, never delivered, while a head grew by it.
    GroGrowth,
    /// First frame on that CPU and device after the parent was freed by the segmenter, in order, by payload.
    SegmentOrder,
    /// Sent by another CPU than the one that cut the parent.
    SegmentOtherCpu,
    /// The original was named by an event, the clone lies at the learned distance.
    FcloneDistance,
    /// The clone's place in the slab tells that it is one.
    SlabPlace,
    /// tcp_retransmit_skb right after the frame was queued.
    RetransmitFollows,
    /// A copy event named the parent and took the child's bytes in the order of arrival.
    ByteFifo,
    /// Freed by the capture right before the frame was handed to the driver.
    TapBeforeXmit,
}

impl Rule {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Rule::GroExit => "gro_exit",
            Rule::GroExitOneOfMany => "gro_exit_one_of_many",
            Rule::GroOpenEntry => "gro_open_entry",
            Rule::GroGrowth => "gro_growth",
            Rule::SegmentOrder => "segment_order",
            Rule::SegmentOtherCpu => "segment_other_cpu",
            Rule::FcloneDistance => "fclone_distance",
            Rule::SlabPlace => "slab_place",
            Rule::RetransmitFollows => "retransmit_follows",
            Rule::ByteFifo => "byte_fifo",
            Rule::TapBeforeXmit => "tap_before_xmit",
        }
    }
}

/// Whether the bytes of a link add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Conserved {
    /// They do.
    Yes,
    /// They do not.
    No,
    /// A length is not known.
    Unknown,
}

impl Conserved {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            Conserved::Yes => "yes",
            Conserved::No => "no",
            Conserved::Unknown => "unknown",
        }
    }
}

/// One edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineageRow {
    /// When it came to be, as told by the event that tells it.
    pub ts_ns: i64,
    /// What survives a merge; what a cut or a copy came from.
    pub parent: SkbId,
    /// What was merged, cut or copied.
    pub child: SkbId,
    /// How.
    pub kind: LineageKind,
    /// What tells it.
    pub rule: Rule,
    /// Payload that moved along it (of a tap: the frame with its headers); `None` when no event tells.
    pub bytes: Option<u32>,
    /// Whether the bytes of its unit add up.
    pub conserved: Conserved,
    /// Why that is not known, or not so, where the edge itself says it.
    pub why: Why,
    /// How sure it is.
    pub confidence: Confidence,
}

/// The view `lineage`.
pub static LINEAGE: TableDef<LineageRow> = TableDef {
    name: "lineage",
    meaning: "one row per edge between two lives of skbs: merged, cut or copied, by time",
    columns: &[
        col!(
            "ts_ns",
            "ns",
            I64,
            "event that tells the edge, on the trace clock",
            |r, _| Cell::I64(r.ts_ns)
        ),
        col!(
            "parent",
            "id",
            U64,
            "life that survives a merge, or that a cut or copy came from; as in skbs",
            |r, _| Cell::U64(r.parent.0.into())
        ),
        col!("child", "id", U64, "life merged, cut or copied; as in skbs", |r, _| {
            Cell::U64(r.child.0.into())
        }),
        col!(
            "kind",
            "",
            Str,
            "gro_merge, frag_list (GRO without copying), gso (software segmentation), qdisc_segment, fclone (a TCP original's companion sent down), retransmit_copy, coalesce (TCP receive queue), tap (a packet capture's copy)",
            |r, _| Cell::str(r.kind.word())
        ),
        col!(
            "rule",
            "",
            Str,
            "what tells it: gro_exit, gro_exit_one_of_many (several heads were held), gro_open_entry (delivered inside the entry), gro_growth (no exit events), segment_order, segment_other_cpu, fclone_distance, slab_place, retransmit_follows, byte_fifo, tap_before_xmit",
            |r, _| Cell::str(r.rule.word())
        ),
        col!(
            "bytes",
            "bytes",
            U64,
            "payload that moved along it (tap: the frame with its headers); empty when no event tells",
            |r, _| r.bytes.into()
        ),
        col!(
            "conserved",
            "",
            Str,
            "yes: the bytes of all edges of this head or packet add up to its own (fclone: all frames between two tcp_probe to what snd_nxt advanced by; sent again: the same as at first); no: they do not (the edge is weak then); unknown: a length is not known, see because",
            |r, _| Cell::str(r.conserved.word())
        ),
        col!(
            "because",
            "",
            Str,
            "why the bytes are not compared, or do not add up; empty when they add up",
            |r, _| match r.because() {
                "" => Cell::Null,
                why => Cell::str(why),
            }
        ),
        col!(
            "confidence",
            "",
            Str,
            "how sure the edge is: certain, strong, weak, unknown",
            |r, _| Cell::str(r.confidence.word())
        ),
    ],
};
