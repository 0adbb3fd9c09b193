//! How many segments each retransmission sent: a call of `tcp_retransmit_skb` sends one skb, of one or more.
//!
//! In: the packets of each socket, header sizes, passes over devices. Out: (row of `retransmits`, segments). Must not guess:
//! a frame of unknown size is in no row, nor one of a socket whose MSS changed that may be of one or more.
//!
//! ```text
//! frame ─ net_dev_start_xmit of it ──> gso_segs                     (`__tcp_transmit_skb` writes the skb's segment count there)
//!       └ cut or held by a qdisc ────> ceil((length - headers) / MSS)   MSS: what all gso_size and pieces of cut frames of the socket are
//!                                      1, when it is no longer than the smallest of them, or (there is none) than a segment that was sent
//! ```

use super::flow::{Of, Shared, carries_data};
use super::packet::Packet;
use crate::facts::ConnectionId;
use crate::reconstruct::xmits::Passes;

/// Segments of the frames that were sent again, ascending by row.
pub(super) fn segments(
    flows: &[(ConnectionId, Of<'_>)],
    headers: &[Option<(u32, u64)>],
    shared: &Shared<'_>,
    passes: &Passes,
) -> Vec<(u32, u32)> {
    let mut out: Vec<(u32, u32)> = shared.packets.iter().filter_map(told).collect();
    for ((_, of), header) in flows.iter().zip(headers) {
        let packets = || of.packets.iter().filter_map(|i| shared.packets.get(*i as usize));
        let cut = |p: &&Packet| p.retransmit.is_some() && told(p).is_none();
        let Some(header) = header.map(|h| h.0).or(shared.header) else {
            continue;
        };
        // Most sockets have none that is cut.
        if !packets().any(|p| cut(&p)) {
            continue;
        }
        let data = packets().filter(|p| p.retransmit.is_some() || carries_data(p, Some(header)));
        let (mut whole, mut one): (Option<(u32, u32)>, Option<u32>) = (None, None);
        for (size, full) in data.filter_map(|p| largest(p, header, passes)) {
            one = one.max(Some(size));
            if full {
                whole = whole.map(|(a, b)| (a.min(size), b.max(size))).or(Some((size, size)));
            }
        }
        for p in packets().filter(cut) {
            let payload = p.len.saturating_sub(header);
            let n = match whole {
                Some((mss, other)) if mss == other => Some(payload.div_ceil(mss).max(1)),
                Some((least, _)) => Some(1).filter(|_| payload <= least),
                None => Some(1).filter(|_| Some(payload) <= one),
            };
            out.extend(p.retransmit.zip(n));
        }
    }
    out.sort_unstable();
    out
}

/// What the kernel wrote into the frame.
fn told(p: &Packet) -> Option<(u32, u32)> {
    p.retransmit
        .filter(|_| p.gso_segs > 0)
        .map(|row| (row, p.gso_segs.into()))
}

/// Payload of the largest segment that a packet is known to be, or to be made of; and whether it is surely a full one.
pub(super) fn largest(p: &Packet, header: u32, passes: &Passes) -> Option<(u32, bool)> {
    let payload = |len: u32| len.checked_sub(header).filter(|n| *n > 0);
    if p.started.is_some() {
        return match p.gso_size {
            0 => payload(p.len).map(|n| (n, false)),
            size => Some((size.into(), true)),
        };
    }
    // Of several only the last is not full.
    let pieces = || passes.segments(p.skb).filter_map(|s| payload(s.bytes?));
    pieces().max().map(|n| (n, pieces().count() > 1))
}
