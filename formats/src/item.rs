//! What a stream is made of: records and losses, each with its place.

use crate::capture::MemberId;

/// Where a value came from: member of the capture, stream (the CPU or interface number), byte offset inside
/// the member's *decoded* bytes (for a compressed member) or inside the file (for a stored one).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Locus {
    /// Index into `Capture::members`.
    pub member: MemberId,
    /// CPU number (or interface number) of the stream.
    pub stream: u32,
    /// Byte offset.
    pub offset: u64,
}

/// One undecoded record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawRecord<'a> {
    /// Timestamp in units of the recorded clock, not converted.
    pub ts: u64,
    /// Byte offset of `payload` inside the chunk's decoded bytes.
    pub offset: u32,
    /// The event as the kernel wrote it, common fields first; may be padded at the end.
    pub payload: &'a [u8],
}

/// Events the kernel says it lost at this place of the stream: after the previous item, before the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostEvents {
    /// How many, when the kernel stored the number.
    pub count: Option<u64>,
    /// Byte offset of the sub-buffer that carries the flag, inside the chunk's decoded bytes.
    pub offset: u32,
}

/// An item of a stream, in the order of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamItem<'a> {
    /// A record.
    Record(RawRecord<'a>),
    /// A loss.
    Lost(LostEvents),
}
