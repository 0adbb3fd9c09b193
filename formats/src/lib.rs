//! On-disk formats of kernel network recordings.
//!
//! In: bytes of a file. Out: a [`Capture`] whose streams yield [`StreamItem`]s. One folder per format; each
//! folder only turns bytes into records. Nothing here sorts, converts clocks, guesses, prints or panics.
//!
//! ```text
//! file -> Bytes -> packed? unpack -> open() sniffs -> bundle | trace_dat | perf_data | pcapng -> Capture { event_formats, streams, snapshots, problems }
//!                                                            streams[i].chunks[j] -> chunk_bytes() (parallel)
//!                                                              -> Stream::for_each() -> StreamItem
//! ```
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

pub mod bundle;
pub mod bytes;
pub mod bytes_decode;
pub mod capture;
pub mod endian;
pub mod error;
pub mod event_format;
pub mod item;
pub mod join;
pub mod kallsyms;
pub mod open;
pub mod packed;
pub mod pcapng;
pub mod perf_data;
pub mod sockaddr;
pub mod sub_buffer;
pub mod trace_dat;
pub mod tracepoints;

pub use bytes::Bytes;
pub use capture::{
    Capture, Chunk, ClockConversion, ClockPair, Coding, CpuStats, Host, Member, MemberId, Problem, Snapshot,
    SnapshotWhen, Stream, TimeShiftSample,
};
pub use endian::Endian;
pub use error::{FormatError, FormatErrorKind, Limit};
pub use event_format::{EventFormat, FieldFormat};
pub use item::{Locus, LostEvents, RawRecord, StreamItem};
pub use open::{open_bytes, open_path, open_within};
