//! One thing whose bytes must add up: a GRO head, a segmented packet.

use super::tables::Conserved;
use super::why::Why;
use crate::facts::{ConnectionId, SkbId};

/// What adds up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UnitKind {
    /// The growth of a GRO head against the payloads merged into it.
    GroHead,
    /// The payload of a packet cut in software or in a qdisc against that of its segments.
    GsoChildren,
}

/// Bytes that edges of one unit should and do account for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// Which rule.
    pub kind: UnitKind,
    /// The head, or the packet cut.
    pub skb: SkbId,
    /// Its socket, when known.
    pub connection: Option<ConnectionId>,
    /// Edges.
    pub edges: u32,
    /// What its own lengths say, bytes.
    pub expected: u64,
    /// What the edges bring, bytes.
    pub found: u64,
    /// Whether that is the same; unknown when a length is.
    pub conserved: Conserved,
    /// Why that is not known.
    pub why: Why,
}
