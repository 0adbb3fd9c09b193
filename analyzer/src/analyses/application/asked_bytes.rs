//! How long requests are: the bytes of the send call that each began with.

use rustc_hash::FxHashMap;

use crate::facts::{ConnectionId, Facts};
use crate::reconstruct::transmit::tables::TxKind;

/// By connection and begin of the send, of those that are asked for.
pub(super) fn asked_bytes(
    facts: &Facts,
    of: impl Iterator<Item = (ConnectionId, i64)>,
) -> FxHashMap<(ConnectionId, i64), u64> {
    let mut sends: FxHashMap<_, u64> = of.map(|key| (key, 0)).collect();
    for t in facts.tx.iter().filter(|t| t.kind == TxKind::Tcp) {
        if let Some(sum) = t.connection.and_then(|c| sends.get_mut(&(c, t.start_ns))) {
            *sum = sum.saturating_add(t.bytes.unwrap_or(0).into());
        }
    }
    sends
}
