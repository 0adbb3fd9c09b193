//! What a lost segment cost: which retransmission repaired it, and when its bytes were acknowledged.
//!
//! In: rows of `drops` that lost data of a TCP socket of this recording, edges, rows of `tx` and `retransmits`. Out: `repair` of these rows.
//! Must not guess: what was lost in pieces that a retransmission need not have carried, or whose retransmissions are not seen, has none.
//!
//! ```text
//! dropped frame, or the packet that a dropped piece was cut from -> its original
//!   -> the next time that was sent -> the first tcp_retransmit_skb of it from then on -> its ACK
//! ```
//! From its own sending on, not from the drop: a frame may be dropped long after its segment was sent again. The event follows its frame
//! (net/ipv4/tcp_output.c `tcp_retransmit_skb`), and one that the sender's own qdisc refused has none: so they are not counted.
//! Of a packet that was cut TCP may send only the head again (`tcp_fragment`): a piece was carried by what is as long as the packet, or, where
//! it is the only one lost of it, as itself. Of one that was dropped whole the first retransmission carried the head.

use rustc_hash::{FxHashMap, FxHashSet};

use super::otherhost::Hindsight;
use super::segments::{Segments, is_cut};
use super::tables::DropRow;
use crate::confidence::Confidence;
use crate::facts::SkbId;
use crate::reconstruct::whose::Carries;

/// How a lost segment was repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repair {
    /// The retransmission: its place in the view `retransmits`.
    pub retransmit: u32,
    /// From the drop until all bytes of its segment were acknowledged; `None`: not seen.
    pub after_ns: Option<i64>,
    /// Of this being its repair: least of the links that lead to it; weak where events were lost.
    pub confidence: Confidence,
}

/// Fills in `repair`.
pub fn judge(rows: &mut [DropRow], known: &Hindsight<'_>) {
    let lost = |(at, row): (usize, &DropRow)| {
        let data = row
            .owner
            .is_some_and(|o| matches!(o.carries, Carries::Data | Carries::SynData));
        let skb = row.skb_id.or(row.cut_from)?;
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
    let pieces = Pieces::of(rows, &asked, &segments, known);
    for (at, skb) in asked {
        let (Some(row), Some(original)) = (rows.get_mut(at), segments.original(skb)) else {
            continue;
        };
        let by = segments.sent_after(skb).and_then(|sent| {
            // In time order, as the view is.
            let of = again.get(&original)?;
            let earlier = |nth: &usize| known.retransmits.get(*nth).is_some_and(|r| r.time_ns < sent);
            of.get(of.partition_point(earlier))
        });
        let bytes = by.and_then(|nth| known.retransmits.get(*nth)?.bytes);
        let by = by.filter(|_| pieces.carried(at, bytes));
        let acked = segments.fate(skb).and_then(|fate| fate.acked);
        row.repair = by.and_then(|nth| {
            let links = known.identity.life(skb).map_or(Confidence::Strong, |life| life.links);
            let of = known.retransmits.get(*nth)?.confidence;
            let lost = if known.lost {
                Confidence::Weak
            } else {
                Confidence::Strong
            };
            Some(Repair {
                confidence: links.min(segments.sure(skb)).min(of).min(lost),
                retransmit: u32::try_from(*nth).ok()?,
                after_ns: acked
                    .map(|acked| acked.saturating_sub(row.time_ns))
                    .filter(|ns| *ns > 0),
            })
        });
    }
}

/// Lengths of frames that would have carried a lost piece again.
struct Piece {
    /// The packet that it was cut from.
    packet: Option<u32>,
    /// Itself; `None` when it is not the only one lost of it, or not known.
    own: Option<u32>,
}

/// What was lost in pieces, by the place of its row.
struct Pieces(FxHashMap<usize, Piece>);

impl Pieces {
    fn of(rows: &[DropRow], asked: &[(usize, SkbId)], segments: &Segments, known: &Hindsight<'_>) -> Pieces {
        let life_of = |at: usize| rows.get(at).and_then(|row| row.skb_id);
        // One without a life is asked for by its packet.
        let cut = |(at, skb): &(usize, SkbId)| {
            let packet = segments.packet(*skb);
            (packet != *skb || life_of(*at).is_none()).then_some((*at, packet))
        };
        let cut: Vec<(usize, SkbId)> = asked.iter().filter_map(cut).collect();
        let mut lost: FxHashMap<SkbId, usize> = FxHashMap::default();
        for (_, packet) in &cut {
            *lost.entry(*packet).or_default() += 1;
        }
        let bytes = |skb: SkbId| known.identity.life(skb).and_then(|life| life.bytes);
        // What the other pieces leave of a packet, with its headers.
        let mut rest: FxHashMap<SkbId, Option<u32>> = lost.keys().map(|p| (*p, bytes(*p))).collect();
        for edge in known.lineage.iter().filter(|l| is_cut(l.kind)) {
            if let Some(rest) = rest.get_mut(&edge.parent) {
                *rest = rest.zip(edge.bytes).and_then(|(rest, piece)| rest.checked_sub(piece));
            }
        }
        let piece = |(at, packet): (usize, SkbId)| {
            let only = lost.get(&packet) == Some(&1);
            let own = match life_of(at) {
                Some(skb) => bytes(skb),
                None => rest.get(&packet).copied().flatten(),
            };
            let piece = Piece {
                packet: bytes(packet),
                own: own.filter(|_| only),
            };
            (at, piece)
        };
        Pieces(cut.into_iter().map(piece).collect())
    }

    /// Whether a retransmission of this length carried what the row lost; what was lost whole needs no length.
    fn carried(&self, at: usize, bytes: Option<u32>) -> bool {
        match self.0.get(&at) {
            None => true,
            Some(piece) => bytes.is_some() && (bytes == piece.packet || bytes == piece.own),
        }
    }
}
