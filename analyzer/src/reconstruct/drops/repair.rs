//! What a lost segment cost: which retransmission repaired it, and when its bytes were acknowledged.
//!
//! In: rows of `drops` that lost data of a TCP socket of this recording, edges, rows of `tx` and `retransmits`. Out: `repair` of these rows.
//! Must not guess: a segment that TCP cut, or whose retransmissions are not seen, has none.
//!
//! ```text
//! dropped piece -> its original -> sent n times until then -> the n-th tcp_retransmit_skb of that original -> its ACK
//! ```
//! The event follows its frame (net/ipv4/tcp_output.c `tcp_retransmit_skb`): that of a retransmission that was dropped itself comes after the
//! drop. So they are counted, not compared by time.

use rustc_hash::{FxHashMap, FxHashSet};

use super::otherhost::Hindsight;
use super::segments::Segments;
use super::tables::DropRow;
use crate::facts::SkbId;
use crate::reconstruct::whose::Carries;

/// How a lost segment was repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repair {
    /// The retransmission: its place in the view `retransmits`.
    pub retransmit: u32,
    /// From the drop until all bytes of its segment were acknowledged; `None`: not seen.
    pub after_ns: Option<i64>,
}

/// Fills in `repair`; `cut_from` names the packet that a row without a life was cut from.
pub fn judge(rows: &mut [DropRow], cut_from: &FxHashMap<usize, SkbId>, known: &Hindsight<'_>) {
    let lost = |(at, row): (usize, &DropRow)| {
        let data = row.owner.is_some_and(|o| o.carries == Carries::Data);
        let skb = row.skb_id.or_else(|| cut_from.get(&at).copied())?;
        (row.expected == Some(false) && data).then_some((at, skb))
    };
    let asked: Vec<(usize, SkbId)> = rows.iter().enumerate().filter_map(lost).collect();
    if asked.is_empty() {
        return;
    }
    let segments = Segments::of(known, &asked.iter().map(|(_, skb)| *skb).collect::<FxHashSet<_>>());
    let mut again: FxHashMap<SkbId, Vec<usize>> = FxHashMap::default();
    for (nth, r) in known.retransmits.iter().enumerate() {
        if let Some(original) = r.original {
            again.entry(original).or_default().push(nth);
        }
    }
    for (at, skb) in asked {
        let (Some(row), Some(original)) = (rows.get_mut(at), segments.original(skb)) else {
            continue;
        };
        let sent = segments.sent(original).iter().filter(|ns| **ns <= row.time_ns).count();
        let by = again.get(&original).and_then(|of| of.get(sent.checked_sub(1)?));
        let acked = segments.fate(skb).and_then(|fate| fate.acked);
        row.repair = by.and_then(|nth| {
            Some(Repair {
                retransmit: u32::try_from(*nth).ok()?,
                after_ns: acked
                    .map(|acked| acked.saturating_sub(row.time_ns))
                    .filter(|ns| *ns > 0),
            })
        });
    }
}
