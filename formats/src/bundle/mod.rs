//! The netmortem bundle (`.nmb`): one recording as a plain, uncompressed tar.
//!
//! In: bytes of a file (reader), or members as they are produced (writer). Out: a [`crate::Capture`], or a stream of
//! bytes that `tar tf` lists. Must not decode event payloads, follow member names as paths, or trust any size.
//! Spec: `docs/bundle.md` (ours); the tar layout is POSIX.1-2001 ustar with GNU long names and pax `path`/`size`.
//!
//! ```text
//! | header 512 | manifest.json, padded to 512 |            always first
//! | header 512 | header_page ... |                         texts that describe the events: written before tracing starts
//! | header 512 | trace/cpu0/000001.pages.zst | ...         appended as produced; each one zstd frame of whole sub-buffers
//! | header 512 | perf/cpu0/000001.records.zst | ...       or, of the perf backend: whole records of one CPU's ring
//! | header 512 | packets/0/000001.pcapng.zst | ...        packets of an interface, each one zstd frame of a pcapng section
//! | header 512 | seconds/000001.zst | ...                 texts of the host while it ran, one zstd frame each
//! | header 512 | snapshots/net/netstat/end ... |
//! | header 512 | end.json |                                always last: statistics, stop reason, SHA-256 of all before
//! | 1024 zero bytes |                                      end of archive
//! ```
//! A reader walks headers forward only, so that a file cut anywhere yields everything before the cut.

mod flight;
mod layout;
mod manifest;
mod names;
mod reader;
mod seconds;
mod slice;
#[cfg(test)]
mod tests;
mod texts;
mod verify;
mod writer;

use crate::open::Descriptor;

pub use flight::{Flight, FlightCpu, FlightEnd, Trigger};
pub use manifest::{
    AbsentEvent, Clocks, CommandEnd, End, FORMAT_VERSION, Machine, Manifest, MemberDigest, Plan, PlannedEvent,
    PlannedPerf, PlannedTap, ReadingEnd, RecorderEnd, RecorderInfo, TapEnd,
};
pub use names::{
    CPU_STAT_COUNTERS, HEADER_EVENT, HEADER_PAGE, KALLSYMS, MANIFEST, NOTICES, PRINTK_FORMATS, PROC_COUNTERS,
    PacketsName, PagesName, SAVED_CMDLINES, SYMBOLS, TASKS, event_format_name, is_seconds_name, packets_name,
    pages_name, parse_packets_name, records_name, seconds_name, snapshot_name,
};
pub use seconds::{Second, seconds};
pub use slice::{Slice, Whose, texts_of};
pub use verify::verify;
pub use writer::{BundleWriter, PagesEncoder};

/// How to open a bundle.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "bundle",
    sniff: reader::sniff,
    open: reader::open,
};
