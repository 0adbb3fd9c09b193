//! The distance from a socket to each of its timers, from the data.

use rustc_hash::{FxHashMap, FxHashSet};

/// A `struct tcp_sock` with its request part is not larger.
const REACH: u64 = 8192;
/// Least share of a kind's timers that the distance must fit.
const LEAST_SHARE: f64 = 0.5;

/// A distance that fits, and how well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Distance {
    /// Timer address minus socket address, bytes.
    pub bytes: u64,
    /// Timers it fits.
    pub fits: u64,
    /// Timers seen.
    pub of: u64,
}

/// The distance that fits most of `timers`; `None` when none fits enough of them, or two fit equally well. A timer lies inside its
/// socket, so no other socket can lie between them: only the nearest below it may be its own.
pub fn distance(timers: &FxHashSet<u64>, sockets: &[u64]) -> Option<Distance> {
    let mut fits: FxHashMap<u64, u64> = FxHashMap::default();
    for t in timers {
        let below = sockets.partition_point(|s| s < t).checked_sub(1);
        let nearest = below.and_then(|i| sockets.get(i)).map(|s| t - s);
        if let Some(d) = nearest.filter(|d| *d <= REACH && d % 8 == 0) {
            *fits.entry(d).or_insert(0) += 1;
        }
    }
    let most = fits.values().copied().max()?;
    let mut best = fits.iter().filter(|(_, n)| **n == most);
    let (bytes, _) = best.next()?;
    let unique = best.next().is_none();
    let of = timers.len() as u64;
    (unique && most as f64 >= LEAST_SHARE * of as f64).then_some(Distance {
        bytes: *bytes,
        fits: most,
        of,
    })
}
