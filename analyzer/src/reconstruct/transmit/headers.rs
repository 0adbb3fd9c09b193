//! How many bytes of a socket's packets are headers: the number with which payloads sum to what `snd_nxt` advanced.

use rustc_hash::FxHashMap;

/// Link, IP and TCP headers of a data packet: smallest (Ethernet, IPv4, no options) and largest sum believed.
pub(super) const PLAUSIBLE: std::ops::RangeInclusive<u64> = 40..=220;

/// Between two probes of a socket: packets that carry new data, their summed length, what `snd_nxt` advanced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) packets: u64,
    pub(super) len: u64,
    pub(super) advanced: u64,
}

/// The header size that fits most windows exactly, and how many it fits.
pub(super) fn calibrate(windows: &[Window]) -> Option<(u32, u64)> {
    let mut fits: FxHashMap<u64, u64> = FxHashMap::default();
    for w in windows.iter().filter(|w| w.packets > 0 && w.advanced > 0) {
        let Some(headers) = w.len.checked_sub(w.advanced) else {
            continue;
        };
        let each = headers / w.packets;
        if headers % w.packets == 0 && PLAUSIBLE.contains(&each) {
            *fits.entry(each).or_insert(0) += 1;
        }
    }
    let best = fits.into_iter().max_by_key(|(h, n)| (*n, std::cmp::Reverse(*h)))?;
    u32::try_from(best.0).ok().map(|h| (h, best.1))
}
