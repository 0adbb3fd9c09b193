//! A packet that was cut into segments, and what those that came so far say of it.

use crate::facts::SkbId;

/// TCP headers: with timestamps, without, then whatever options.
const TCP_HEADERS: [u32; 11] = [32, 20, 24, 28, 36, 40, 44, 48, 52, 56, 60];
/// UDP's.
const UDP_HEADER: u32 = 8;
/// Headers of a segment at most: Ethernet, IPv6, UDP, VXLAN, and within it Ethernet, IPv6, TCP with all its options.
pub(super) const MOST_HEADERS: u32 = 184;

/// A packet that was cut.
#[derive(Debug)]
pub(super) struct Cut {
    pub(super) parent: SkbId,
    /// Bytes with link header.
    pub(super) len: u32,
    /// Payload of each segment, as a driver was told before it was cut; 0: none was.
    pub(super) gso_size: u16,
    /// Segments that did not fit into the queue.
    pub(super) dropped: u32,
    /// Edges, by position, the first segment's length and the sum of all.
    pub(super) edges: Vec<u32>,
    pub(super) first: u32,
    pub(super) sum: u64,
    pub(super) transport: Option<u32>,
}

/// What its segments so far say.
pub(super) enum Verdict {
    /// They make it up, with headers of this length.
    Whole(u32),
    More,
}

impl Cut {
    /// Headers of its segments: what the first has beside its payload, whatever tunnels put around it; else those of the device's last.
    pub(super) fn headers(&self, known: Option<u32>) -> Option<u32> {
        let own = self.first.checked_sub(u32::from(self.gso_size));
        own.filter(|h| self.gso_size > 0 && *h <= MOST_HEADERS).or(known)
    }
    /// Headers of its segments such that they make it up.
    pub(super) fn verdict(&self, known: Option<u32>) -> Verdict {
        let n = self.edges.len() as u64;
        let guesses = self.transport.into_iter();
        let guesses = guesses.flat_map(|t| TCP_HEADERS.iter().chain(&[UDP_HEADER]).map(move |h| t + h));
        for h in known.into_iter().chain(guesses) {
            // sum of segments = payload + n headers; the packet itself = payload + one
            if n > 0 && self.sum == u64::from(self.len) + (n - 1) * u64::from(h) {
                return Verdict::Whole(h);
            }
        }
        Verdict::More
    }

    pub(super) fn segments(&self, mss: u32, h: u32) -> u32 {
        let payload = self.len.saturating_sub(h);
        payload.div_ceil(mss.saturating_sub(h).max(1))
    }
    /// Segments sent and segments refused are all there were.
    pub(super) fn explained(&self, h: u32) -> bool {
        self.edges.len() as u32 + self.dropped >= self.segments(self.first, h)
    }
    /// The queue refused every one.
    pub(super) fn all_dropped(&self, mss: u32, h: u32) -> bool {
        self.edges.is_empty() && self.dropped >= self.segments(mss, h)
    }
}
