//! Decodes the chunks of a capture in parallel: bytes -> records with their time, and losses with their place.

use netmortem_formats::capture::{Block, MAX_CHUNK_BYTES};
use netmortem_formats::{Capture, Chunk, Coding, FormatError, FormatErrorKind, Locus, Stream, StreamItem};
use rayon::prelude::*;

use super::clock::TraceClock;

/// One record: when, which event, and where its payload lies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rec {
    /// ns on the trace clock.
    pub ts: i64,
    /// Index of the decoded block.
    pub block: u32,
    /// Payload offset in the block.
    pub offset: u32,
    /// Payload length.
    pub len: u32,
    /// `common_type`: the event id of this capture.
    pub kind: u16,
    /// CPU.
    pub cpu: u16,
}

/// Events lost at a place of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss {
    /// How many; `None` when the kernel did not store it.
    pub count: Option<u64>,
    /// `overrun` or `damaged`.
    pub cause: &'static str,
}

/// A decoded chunk.
#[derive(Debug, Default)]
pub struct DecodedChunk<'c> {
    /// Its bytes; empty when no kept record points into them.
    pub bytes: Block<'c>,
    /// (event id, records), ascending.
    pub counts: Vec<(u16, u64)>,
    /// Losses in order.
    pub losses: Vec<Loss>,
    /// Latest time of the chunk before each loss.
    pub loss_start: Vec<Option<i64>>,
    /// Time of the first record of the chunk after each loss.
    pub loss_end: Vec<Option<i64>>,
    /// Decoded bytes of ring buffer.
    pub ring_bytes: u64,
    /// Records, whether kept or not.
    pub events: u64,
    /// Smallest and largest time.
    pub span: Option<(i64, i64)>,
    /// Time of first and last record: not the span where times go back.
    pub ends: Option<(i64, i64)>,
    /// Records whose time lies before their predecessor's.
    pub inversions: u64,
    /// What could not be decoded.
    pub errors: Vec<FormatError>,
}

/// What is kept of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Counts, losses and times.
    Counts,
    /// The decoded bytes besides.
    Bytes,
}

/// Decoded bytes a capture may have for each byte of its file: real ring buffers compress 5 to 60 times.
const DECODED_PER_BYTE: u64 = 512;
/// Decoded bytes that any capture may have.
const DECODED_FLOOR: u64 = 1 << 30;

/// How many chunks of each stream may be decoded: a small hostile file must not take the machine's memory. By stated
/// sizes and in file order, so the same chunks are refused whatever the thread count.
fn allowed(capture: &Capture) -> Vec<usize> {
    let file = capture.bytes.len() as u64;
    let mut left = file.saturating_mul(DECODED_PER_BYTE).max(DECODED_FLOOR);
    let cost = |c: &Chunk| {
        let coded = c.range.end.saturating_sub(c.range.start);
        match c.coding {
            Coding::Stored => coded,
            Coding::Zlib { size: Some(n) } | Coding::Zstd { size: Some(n) } => n,
            _ => coded.saturating_mul(DECODED_PER_BYTE).min(MAX_CHUNK_BYTES),
        }
    };
    let fits = |c: &&Chunk| {
        let rest = left.checked_sub(cost(c));
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    let mut fits = fits;
    capture
        .streams
        .iter()
        .map(|s| s.chunks.iter().take_while(&mut fits).count())
        .collect()
}

/// Decodes all chunks of all streams; the result has the shape of `capture.streams`.
pub fn decode<'c>(
    capture: &'c Capture,
    clock: &TraceClock,
    keep: Keep,
    progress: &(dyn Fn(u64) + Sync),
) -> Vec<Vec<DecodedChunk<'c>>> {
    let allowed = allowed(capture);
    let streams = capture.streams.par_iter().zip(allowed);
    streams
        .map(|(stream, allowed)| {
            let chunks = stream.chunks.par_iter().enumerate();
            chunks
                .map(|(i, chunk)| {
                    let out = match i < allowed {
                        true => decode_chunk(capture, stream, chunk, clock, keep),
                        false => refused(stream, chunk),
                    };
                    progress(chunk.range.end.saturating_sub(chunk.range.start));
                    out
                })
                .collect()
        })
        .collect()
}

/// A chunk above the limit of what may be decoded.
fn refused<'c>(stream: &Stream, chunk: &Chunk) -> DecodedChunk<'c> {
    let locus = Locus {
        member: chunk.member,
        stream: stream.cpu,
        offset: chunk.range.start,
    };
    DecodedChunk {
        errors: vec![FormatError::new(
            FormatErrorKind::TooLarge,
            "decoded ring buffers",
            locus,
        )],
        losses: vec![Loss {
            count: None,
            cause: "damaged",
        }],
        loss_start: vec![None],
        loss_end: vec![None],
        ..Default::default()
    }
}

fn decode_chunk<'c>(
    capture: &'c Capture,
    stream: &Stream,
    chunk: &Chunk,
    clock: &TraceClock,
    keep: Keep,
) -> DecodedChunk<'c> {
    let mut out = DecodedChunk::default();
    let bytes = match capture.chunk_block(chunk) {
        Ok(b) => b,
        Err(e) => {
            out.errors.push(e);
            out.losses.push(Loss {
                count: None,
                cause: "damaged",
            });
            out.loss_start.push(None);
            out.loss_end.push(None);
            return out;
        }
    };
    let locus = Locus {
        member: chunk.member,
        stream: stream.cpu,
        offset: 0,
    };
    let mut walk = Walk {
        out: &mut out,
        clock,
        counts: Vec::new(),
        endian: stream.page.endian,
        after_loss: false,
    };
    stream.for_each(&bytes, locus, |item| walk.item(item));
    let counts = std::mem::take(&mut walk.counts);
    // A chunk has tens of the thousands of event ids.
    out.counts = (0..=u16::MAX).zip(counts).filter(|(_, n)| *n > 0).collect();
    out.ring_bytes = bytes.len() as u64;
    out.bytes = match keep {
        // Bytes without a record are not kept: megabytes of nothing compress to almost none.
        Keep::Bytes if out.events > 0 => bytes,
        Keep::Bytes | Keep::Counts => Block::default(),
    };
    out
}

/// Writes a chunk's records to their place: `out` has as many as decoding counted. The same walk as before, so cheap
/// that it costs less than keeping records twice. Gives the thread (`pid` of a payload) that the first record names, and each
/// other one with the number of the record from which on it is named.
pub fn fill(
    stream: &Stream,
    chunk: &Chunk,
    bytes: &[u8],
    block: u32,
    (clock, pid): (&TraceClock, impl Fn(&[u8]) -> i32),
    out: &mut [Rec],
) -> Vec<(u32, i32)> {
    let locus = Locus {
        member: chunk.member,
        stream: stream.cpu,
        offset: 0,
    };
    let mut threads: Vec<(u32, i32)> = Vec::new();
    let mut named = None;
    let mut places = out.iter_mut().zip(0u32..);
    stream.for_each(bytes, locus, |item| {
        let Ok(StreamItem::Record(r)) = item else { return };
        if let Some((place, nth)) = places.next() {
            let pid = pid(r.payload);
            if named != Some(pid) {
                named = Some(pid);
                threads.push((nth, pid));
            }
            *place = Rec {
                ts: clock.ns(r.ts),
                block,
                offset: r.offset,
                len: r.payload.len() as u32,
                kind: stream.page.endian.u16(r.payload, 0).unwrap_or(0),
                cpu: stream.cpu as u16,
            };
        }
    });
    threads
}

struct Walk<'w, 'c> {
    out: &'w mut DecodedChunk<'c>,
    clock: &'w TraceClock,
    /// Records by event id.
    counts: Vec<u64>,
    endian: netmortem_formats::Endian,
    after_loss: bool,
}

impl Walk<'_, '_> {
    #[inline]
    fn item(&mut self, item: Result<StreamItem<'_>, FormatError>) {
        match item {
            Ok(StreamItem::Record(r)) => {
                let ts = self.clock.ns(r.ts);
                let kind = self.endian.u16(r.payload, 0).unwrap_or(0);
                match self.counts.get_mut(usize::from(kind)) {
                    Some(n) => *n = n.saturating_add(1),
                    None => {
                        self.counts.resize(usize::from(kind).saturating_add(1), 0);
                        if let Some(n) = self.counts.last_mut() {
                            *n = 1;
                        }
                    }
                }
                let out = &mut *self.out;
                out.events = out.events.saturating_add(1);
                out.span = Some(out.span.map_or((ts, ts), |(lo, hi)| (lo.min(ts), hi.max(ts))));
                out.ends = match out.ends {
                    None => Some((ts, ts)),
                    Some((first, last)) => {
                        if ts < last {
                            out.inversions = out.inversions.saturating_add(1);
                        }
                        Some((first, ts))
                    }
                };
                if self.after_loss {
                    self.after_loss = false;
                    for end in self.out.loss_end.iter_mut().rev().take_while(|e| e.is_none()) {
                        *end = Some(ts);
                    }
                }
            }
            Ok(StreamItem::Lost(l)) => self.loss(l.count, "overrun"),
            Err(e) => {
                self.out.errors.push(e);
                self.loss(None, "damaged");
            }
        }
    }
    fn loss(&mut self, count: Option<u64>, cause: &'static str) {
        self.out.losses.push(Loss { count, cause });
        self.out.loss_start.push(self.out.span.map(|s| s.1));
        self.out.loss_end.push(None);
        self.after_loss = true;
    }
}
