//! The rows of all flows as one table: what loss makes of them, and their order.

use rayon::prelude::*;

use super::tables::{TxEnd, TxKind, TxRow};
use crate::confidence::Confidence;
use crate::reconstruct::dispatch::Lost;

/// What was lost before it ended may have been its end, its wait or its ACK.
pub(super) fn doubted(r: &mut TxRow, lost: &Lost, hashed: bool) {
    let to = match r.end {
        TxEnd::Open => i64::MAX,
        _ => r.start_ns.saturating_add(r.total_ns),
    };
    // Hashed pointers do not tell a retransmission by its original's address.
    if lost.within(r.start_ns, to) || (hashed && r.kind == TxKind::Tcp) {
        r.confidence = r.confidence.min(Confidence::Weak);
    }
}

/// All rows by start; equal ones as they come. Their keys are sorted, and each row is copied once, by all threads.
pub(super) fn in_order(parts: &[Vec<TxRow>]) -> Vec<TxRow> {
    let rows = parts.iter().flatten().zip(0u32..);
    let mut order: Vec<_> = rows
        .map(|(r, i)| ((r.start_ns, r.t_sched_ns, r.skb_id, i), r))
        .collect();
    order.par_sort_unstable_by_key(|o| o.0);
    order.par_iter().map(|o| o.1.clone()).collect()
}
