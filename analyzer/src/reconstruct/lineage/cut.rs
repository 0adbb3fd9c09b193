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
    /// Headers of its segments such that they make it up: those that are known, else whichever of a TCP or UDP segment.
    pub(super) fn verdict(&self, known: Option<u32>) -> Verdict {
        self.with_headers(
            known.into_iter().chain(self.guesses()),
            self.edges.len() as u64,
            self.sum,
        )
    }

    /// The same while more of it may follow: other headers than those that are known may make up what has come, too, where a short segment is still to come.
    pub(super) fn verdict_so_far(&self, known: Option<u32>) -> Verdict {
        match known {
            Some(h) => self.with_headers(std::iter::once(h), self.edges.len() as u64, self.sum),
            None => self.verdict(None),
        }
    }

    /// Whether one segment more makes it up, with whatever headers.
    pub(super) fn whole_with(&self, len: u32) -> bool {
        let (n, sum) = (self.edges.len() as u64 + 1, self.sum + u64::from(len));
        matches!(self.with_headers(self.guesses(), n, sum), Verdict::Whole(_))
    }

    fn guesses(&self) -> impl Iterator<Item = u32> + use<> {
        let behind = |t: u32| TCP_HEADERS.iter().chain(&[UDP_HEADER]).map(move |h| t + h);
        self.transport.into_iter().flat_map(behind)
    }

    fn with_headers(&self, mut all: impl Iterator<Item = u32>, n: u64, sum: u64) -> Verdict {
        // sum of segments = payload + n headers; the packet itself = payload + one
        let fits = |h: &u32| n > 0 && sum == u64::from(self.len) + (n - 1) * u64::from(*h);
        all.find(fits).map_or(Verdict::More, Verdict::Whole)
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
