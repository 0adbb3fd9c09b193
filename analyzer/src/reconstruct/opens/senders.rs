//! Who sent the RSTs that came.

use rustc_hash::FxHashMap;

use super::tables::{ResetRow, Sender};
use super::tracker::TOLD_NS;
use crate::confidence::Confidence;
use crate::reconstruct::dispatch::Lost;
use crate::reconstruct::tcp::{Sockets, Tuple};

/// Longest time from a RST to its arrival.
const ON_ITS_WAY_NS: i64 = 1_000_000_000;
/// Sockets of one 4-tuple, newest first, among which the one that was alive at a time is looked for.
const RECENT: usize = 64;

fn tuple_of(r: &ResetRow) -> Option<Tuple> {
    let ((saddr, sport), (daddr, dport)) = r.from.zip(r.to)?;
    Some(Tuple {
        saddr,
        sport,
        daddr,
        dport,
    })
}

/// Who sent the RSTs that came: the peer's TCP, where that is in the recording and said so.
pub(super) fn senders(resets: &mut [ResetRow], sockets: &Sockets, told: bool, lost: &Lost) {
    if !told {
        return;
    }
    // Sockets by their ends; a RST that was sent for want of a socket, while this recording has that socket, is another host's.
    let mut of: FxHashMap<Tuple, Vec<usize>> = FxHashMap::default();
    for (i, s) in sockets.all.iter().enumerate() {
        of.entry(s.tuple).or_default().push(i);
    }
    // The socket that was there at a time: since when it is known.
    let alive = |t: &Tuple, ns: i64| {
        let recent = of.get(t).into_iter().flat_map(|all| all.iter().rev().take(RECENT));
        let mut alive = recent.filter_map(|i| sockets.all.get(*i));
        let there = alive.find(|s| s.row.first_ns <= ns && (!s.closed || s.row.last_ns >= ns));
        there.map(|s| s.row.first_ns)
    };
    let mut sent: FxHashMap<Tuple, Vec<(i64, bool)>> = FxHashMap::default();
    for r in resets.iter().filter(|r| !r.received) {
        if let Some(t) = tuple_of(r) {
            sent.entry(t).or_default().push((r.time_ns, r.connection.is_some()));
        }
    }
    for r in resets.iter_mut().filter(|r| r.received) {
        let Some(peer) = tuple_of(r).map(Tuple::reversed) else {
            continue;
        };
        let sent = sent.get(&peer).map_or(&[][..], Vec::as_slice);
        let since = r.time_ns.saturating_sub(ON_ITS_WAY_NS);
        let behind = sent.partition_point(|(t, _)| *t <= r.time_ns);
        let before = behind
            .checked_sub(1)
            .and_then(|i| sent.get(i))
            .filter(|(t, _)| *t >= since);
        let active = sent
            .get(behind)
            .filter(|(t, own)| *own && t.saturating_sub(r.time_ns) <= TOLD_NS);
        let by = before.or(active).map(|(_, own)| *own);
        let peer = alive(&peer, r.time_ns);
        r.sender = match (by, peer) {
            (Some(true), _) | (Some(false), None) => Sender::Peer,
            (Some(false) | None, Some(_)) => Sender::Between,
            (None, None) => Sender::Unknown,
        };
        // What was lost since that socket is known may have been its end.
        r.confidence = match r.sender {
            Sender::Unknown => r.confidence,
            _ if lost.within(peer.unwrap_or(since).min(since), r.time_ns) => Confidence::Weak,
            _ => Confidence::Strong,
        };
    }
}
