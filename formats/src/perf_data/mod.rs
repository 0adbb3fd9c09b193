//! perf's `perf.data`: events of the kernel's tracepoints as `perf record` stores them, in a file or through a pipe.
//!
//! In: the bytes of a file. Out: a [`Capture`] with a stream for each CPU, whose chunks are runs of records in the file; no
//! event is decoded here. It must not sort, convert clocks or guess: samples of other events (cycles) are counted and left
//! out, what a damaged file no longer says becomes a problem sentence. The same records, without a container, are the
//! `perf/` members of a bundle: [`items`] reads both.
//!
//! Spec: tools/perf/Documentation/perf.data-file-format.txt, include/uapi/linux/perf_event.h, perf_event_open(2).
//!
//! ```text
//! file     "PERFILE2" | u64 104 | u64 attr size | attrs, data, event types: u64 offset, u64 size | 256 bits of features
//!          attrs: perf_event_attr, u64 offset and u64 size of its ids            data: records
//!          behind data: u64 offset, u64 size of each feature whose bit is set (tracing data, host name, clocks, ...)
//! pipe     "PERFILE2" | u64 16 | records, of which HEADER_ATTR and HEADER_FEATURE hold what the header of a file does
//!
//! record   u32 type | u16 misc | u16 size | body           size counts these 8 bytes, and not what follows TRACING_DATA
//!   SAMPLE   IDENTIFIER IP TID TIME ADDR ID STREAM_ID CPU PERIOD READ CALLCHAIN RAW: those whose bit is in sample_type
//!            RAW: u32 size | the event as a ring buffer of ftrace holds it, common fields first
//!   LOST     u64 id | u64 lost | TID TIME ID STREAM_ID CPU IDENTIFIER: before this record the ring was full
//!   COMPRESSED  the next piece of one zstd stream over the whole file: records, which may be cut between pieces
//! tracing data  17 08 44 "tracing0.6" and then as trace.dat version 6 from its endian byte to its names of tasks
//! ```

mod compressed;
mod describe;
mod header;
mod layout;
mod reader;
mod records;
mod sample;
mod split;
#[cfg(test)]
mod tests;

use crate::bytes::Bytes;
use crate::capture::Capture;
use crate::error::FormatError;
use crate::open::Descriptor;

pub use layout::{SAMPLE_CPU, SAMPLE_ID, SAMPLE_IDENTIFIER, SAMPLE_RAW, SAMPLE_TID, SAMPLE_TIME};
pub use records::{Items, items};
pub use sample::{Ambiguous, Attr, RecordLayout};

const NAME: &str = "perf.data";

/// How to open a perf.data.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: NAME,
    sniff,
    open,
};

fn sniff(b: &[u8]) -> bool {
    b.starts_with(layout::MAGIC) || b.starts_with(layout::MAGIC_SWAPPED)
}

fn open(source: &str, bytes: Bytes) -> Result<Capture, FormatError> {
    reader::open(source, bytes)
}
