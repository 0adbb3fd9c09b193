//! Whose the longest times are that are told of all segments: the connection that was held most need not have the slowest segment.

use crate::analyses::tcp::label;
use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::transmit::tables::TxRow;

/// Connections, as they are labelled; `None`: there is no such segment, or it is of no known connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Slowest {
    /// Of the certain and strong segments.
    pub solid: Option<String>,
    /// Of all.
    pub all: Option<String>,
}

pub(super) fn named(facts: &Facts, connection: Option<ConnectionId>) -> Option<String> {
    facts.connections.get(connection?.0 as usize).map(label)
}

/// `rows`: acknowledged segments.
pub(super) fn slowest(facts: &Facts, rows: &[&TxRow]) -> Slowest {
    let longest = |solid: bool| {
        let of = rows.iter().filter(|r| !solid || r.confidence.is_solid());
        let most = of.max_by_key(|r| (r.total_ns, std::cmp::Reverse(r.skb_id)))?;
        named(facts, most.connection)
    };
    Slowest {
        solid: longest(true),
        all: longest(false),
    }
}
