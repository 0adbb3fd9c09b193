//! TCP segments that nothing at their queue named (a cork taken out, TCP small queues for a first transmission): whose are
//! they? A socket whose `snd_nxt` advanced by more than its packets carry lacks exactly their bytes.
//!
//! In: flows, packets, probes. Out: pairs (packet, socket). A run of unowned segments is a socket's when it is the only run in
//! the window that sums to what is lacking, and no other socket lacks the same: else nobody's.

use rustc_hash::FxHashMap;

use super::flow::{Of, Shared, carries_data};
use super::headers::PLAUSIBLE;
use super::packet::Packet;
use super::windows::windows;
use crate::facts::ConnectionId;
use crate::reconstruct::skb::tables::SkbClass;

/// Unowned segments of a window that are tried, at most: more is another socket's life, which is not known.
const TRIED: usize = 48;
/// TCP header, bytes: without options, and the longest.
const TCP_HEADER: std::ops::RangeInclusive<u32> = 20..=60;

/// Positions of unowned packets with the socket they are of.
pub(super) fn adopt(
    flows: &[(ConnectionId, Of<'_>)],
    headers: &[Option<(u32, u64)>],
    shared: &Shared<'_>,
    unowned: &[u32],
) -> Vec<(u32, ConnectionId)> {
    let packet = |i: &u32| shared.packets.get(*i as usize);
    let orphan = |p: &Packet| p.class == SkbClass::TxClone && p.retransmit.is_none() && !p.failed;
    let orphans: Vec<(u32, &Packet)> = unowned
        .iter()
        .filter_map(|i| Some((*i, packet(i)?)))
        .filter(|(_, p)| orphan(p))
        .collect();
    if orphans.is_empty() {
        return vec![];
    }
    let mut claims: FxHashMap<u32, Vec<ConnectionId>> = FxHashMap::default();
    for ((c, of), own) in flows.iter().zip(headers) {
        let header = own.map(|h| h.0).or(shared.header);
        for w in windows(of, shared) {
            let from = orphans.partition_point(|(_, p)| p.index < w.from || p.ts <= w.after_ns);
            let to = orphans.partition_point(|(_, p)| p.index < w.to);
            let inside = orphans.get(from..to).unwrap_or_default();
            if inside.is_empty() || inside.len() > TRIED || shared.lost(w.from_ns, w.to_ns) {
                continue;
            }
            // A socket's packets are in order: those of the window, not all for each window.
            let first = of
                .packets
                .partition_point(|i| packet(i).is_some_and(|p| p.index < w.from));
            let known = of.packets.get(first..).unwrap_or_default().iter().filter_map(packet);
            let known = known.take_while(|p| p.index < w.to).filter(|p| p.ts > w.after_ns);
            let lens: Vec<u32> = known.filter(|p| carries_data(p, header)).map(|p| p.len).collect();
            let (n, len) = (lens.len() as u64, lens.iter().map(|l| u64::from(*l)).sum());
            let Some(run) = the_run(inside, (n, len), w.advanced, header) else {
                continue;
            };
            for (i, _) in run {
                claims.entry(*i).or_default().push(*c);
            }
        }
    }
    let mut out: Vec<(u32, ConnectionId)> = claims
        .into_iter()
        .filter_map(|(i, of)| match of.as_slice() {
            [one] => Some((i, *one)),
            _ => None,
        })
        .collect();
    out.sort_unstable();
    out
}

/// The only run of packets that fills what a window lacks.
fn the_run<'r, 'p>(
    inside: &'r [(u32, &'p Packet)],
    (n, len): (u64, u64),
    advanced: u64,
    header: Option<u32>,
) -> Option<&'r [(u32, &'p Packet)]> {
    // Known packets fill it: nothing is lacking.
    if header.is_some_and(|h| len == advanced + n * u64::from(h)) {
        return None;
    }
    let mut found = None;
    for from in 0..inside.len() {
        let (mut n, mut len) = (n, len);
        for (k, (_, p)) in inside.iter().enumerate().skip(from) {
            (n, len) = (n + 1, len + u64::from(p.len));
            let headers = len.saturating_sub(advanced);
            let each = headers / n;
            let fits = match header {
                Some(h) => len == advanced + n * u64::from(h) && p.len > h,
                None => headers % n == 0 && PLAUSIBLE.contains(&each) && tcp(p, each),
            };
            if fits && found.replace((from, k)).is_some() {
                return None;
            }
        }
    }
    let (from, to) = found?;
    inside.get(from..=to)
}

/// Whether headers of so many bytes leave a TCP header after those that `net_dev_start_xmit` saw.
fn tcp(p: &Packet, header: u64) -> bool {
    let own = |before: u16| {
        u32::try_from(header)
            .ok()
            .and_then(|h| h.checked_sub(u32::from(before)))
    };
    p.before_transport
        .is_none_or(|b| own(b).is_some_and(|h| TCP_HEADER.contains(&h) && h % 4 == 0))
}
