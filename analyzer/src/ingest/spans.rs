//! When each chunk of a capture begins and ends, and how many bytes of ring buffer it holds: what is needed to choose a part of it.

use netmortem_formats::Capture;

use super::clock::TraceClock;
use super::decode::{Keep, decode};

/// A chunk with records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkSpan {
    /// Earliest time in it, on the trace clock.
    pub first: u64,
    /// Latest time in it.
    pub last: u64,
    /// Decoded bytes.
    pub ring_bytes: u64,
}

/// Those of all CPUs, in the order of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spans {
    /// Chunks without a record are not in it.
    pub chunks: Vec<ChunkSpan>,
}

impl Spans {
    /// Time of the first event.
    pub fn start(&self) -> Option<u64> {
        self.chunks.iter().map(|c| c.first).min()
    }
    /// Time of the last event.
    pub fn end(&self) -> Option<u64> {
        self.chunks.iter().map(|c| c.last).max()
    }
}

/// Decodes everything, keeps nothing.
pub fn spans(capture: &Capture) -> Spans {
    let clock = TraceClock::of(capture);
    let decoded = decode(capture, &clock, Keep::Counts, &|_| {});
    let of = |ns: i64| u64::try_from(ns).unwrap_or(0);
    let chunks = decoded.iter().flatten().filter_map(|c| {
        c.span.map(|(first, last)| ChunkSpan {
            first: of(first),
            last: of(last),
            ring_bytes: c.ring_bytes,
        })
    });
    Spans {
        chunks: chunks.collect(),
    }
}
