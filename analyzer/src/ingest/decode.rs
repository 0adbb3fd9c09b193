//! Decodes the chunks of a capture in parallel: bytes -> records with their time, and losses with their place.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use memmap2::MmapMut;
use netmortem_formats::capture::MAX_CHUNK_BYTES;
use netmortem_formats::{Capture, Chunk, Coding, FormatError, FormatErrorKind, Locus, Stream, StreamItem};
use rayon::prelude::*;

use super::clock::TraceClock;
use super::payloads::Block;

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
pub fn allowed(capture: &Capture) -> Vec<usize> {
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
            let groups = groups(stream, allowed, keep).into_par_iter();
            let chunks = groups.flat_map_iter(|(from, to, bytes)| {
                let of = stream.chunks.get(from..to).unwrap_or(&[]);
                match from < allowed {
                    true => decode_group(capture, stream, of, bytes, (clock, keep, progress)),
                    false => of.iter().map(|chunk| refused(stream, chunk)).collect(),
                }
            });
            chunks.collect()
        })
        .collect()
}

/// Decoded bytes of chunks that share pages.
const SHARED_BYTES: u64 = 1 << 20;

/// Neighbours that are decoded into pages that they share, as numbers from and to, with the bytes these need; 0: none.
fn groups(stream: &Stream, allowed: usize, keep: Keep) -> Vec<(usize, usize, u64)> {
    let mut groups: Vec<(usize, usize, u64)> = Vec::new();
    for (i, chunk) in stream.chunks.iter().enumerate() {
        let shares = match chunk.coding {
            Coding::Zstd { size: Some(n) } if keep == Keep::Bytes && i < allowed && n <= SHARED_BYTES => n,
            _ => 0,
        };
        let last = groups.last_mut().filter(|g| shares > 0 && g.2 > 0);
        match last.filter(|g| g.2.saturating_add(shares) <= SHARED_BYTES) {
            Some(g) => (g.1, g.2) = (i.saturating_add(1), g.2.saturating_add(shares)),
            None => groups.push((i, i.saturating_add(1), shares)),
        }
    }
    groups
}

/// Decodes neighbours; `bytes` is what those that share pages have.
fn decode_group<'c>(
    capture: &'c Capture,
    stream: &Stream,
    chunks: &[Chunk],
    bytes: u64,
    (clock, keep, progress): (&TraceClock, Keep, &(dyn Fn(u64) + Sync)),
) -> Vec<DecodedChunk<'c>> {
    let len = usize::try_from(bytes).ok().filter(|n| *n > 0);
    let mut pages = len.and_then(|n| MmapMut::map_anon(n).ok());
    let mut ranges: Vec<Option<Range<usize>>> = Vec::with_capacity(chunks.len());
    let mut at = 0usize;
    let decode = |chunk: &Chunk| {
        let size = match chunk.coding {
            Coding::Zstd { size: Some(n) } => usize::try_from(n).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        let range = at..at.saturating_add(size);
        let place = pages.as_mut().and_then(|p| p.get_mut(range.clone()));
        let done = place.and_then(|place| capture.chunk_into(chunk, place).then_some(&*place));
        let out = match done {
            Some(bytes) => {
                at = range.end;
                let mut out = DecodedChunk::default();
                count(&mut out, stream, chunk, clock, bytes);
                ranges.push(Some(range).filter(|_| out.events > 0));
                out
            }
            None => {
                ranges.push(None);
                decode_chunk(capture, stream, chunk, clock, keep)
            }
        };
        progress(chunk.range.end.saturating_sub(chunk.range.start));
        out
    };
    let mut out: Vec<DecodedChunk<'c>> = chunks.iter().map(decode).collect();
    if let Some(pages) = pages.map(Arc::new) {
        for (chunk, range) in out.iter_mut().zip(ranges) {
            if let Some(range) = range {
                chunk.bytes = Block::Part(pages.clone(), range);
            }
        }
    }
    out
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
    let bytes = match capture.chunk_bytes(chunk) {
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
    count(&mut out, stream, chunk, clock, &bytes);
    out.bytes = match keep {
        // Bytes without a record are not kept: megabytes of nothing compress to almost none.
        Keep::Bytes if out.events > 0 => match bytes {
            Cow::Borrowed(b) => Block::Stored(b),
            Cow::Owned(v) => Block::Owned(Arc::new(v)),
        },
        Keep::Bytes | Keep::Counts => Block::default(),
    };
    out
}

/// What a chunk's bytes hold.
fn count(out: &mut DecodedChunk<'_>, stream: &Stream, chunk: &Chunk, clock: &TraceClock, bytes: &[u8]) {
    let locus = Locus {
        member: chunk.member,
        stream: stream.cpu,
        offset: 0,
    };
    let mut walk = Walk {
        out,
        clock,
        counts: Vec::new(),
        endian: stream.page.endian,
        after_loss: false,
    };
    stream.for_each(bytes, locus, |item| walk.item(item));
    let counts = std::mem::take(&mut walk.counts);
    // A chunk has tens of the thousands of event ids.
    out.counts = (0..=u16::MAX).zip(counts).filter(|(_, n)| *n > 0).collect();
    out.ring_bytes = bytes.len() as u64;
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
                // Not one of perf that an interrupt overtook: it is older than the loss.
                if self.after_loss && self.out.loss_start.last().copied().flatten() <= Some(ts) {
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
