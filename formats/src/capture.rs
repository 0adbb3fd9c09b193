//! What every container format yields: one shape, whatever the file was.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::bytes::Bytes;
use crate::endian::Endian;
use crate::error::{FormatError, FormatErrorKind, Limit};
use crate::event_format::EventFormat;
use crate::item::{Locus, StreamItem};
use crate::kallsyms::Kallsyms;
use crate::perf_data::{self, RecordLayout};
use crate::sub_buffer::{PageLayout, SubBuffer, sub_buffers};

/// Index into [`Capture::members`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MemberId(pub u32);

/// A named part of the container: a tar member of a bundle, a section of a trace.dat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name (`trace/cpu0/000001.pages.zst`, `BUFFER cpu 1`).
    pub name: String,
    /// Its bytes in the file.
    pub range: Range<u64>,
}

/// How the bytes of a chunk are stored. `size` is the decoded size when the container states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// As they are.
    Stored,
    /// One RFC 1950 stream.
    Zlib {
        /// Decoded size.
        size: Option<u64>,
    },
    /// One zstd frame.
    Zstd {
        /// Decoded size.
        size: Option<u64>,
    },
    /// The beginning of a zstd frame whose end is not in the file: what decodes, down to a multiple of `unit` bytes.
    ZstdPrefix {
        /// Size of a sub-buffer.
        unit: u32,
    },
}

/// A piece of a stream that decodes without its neighbours: whole sub-buffers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The member it lies in.
    pub member: MemberId,
    /// Its bytes in the file, still coded.
    pub range: Range<u64>,
    /// How they are coded.
    pub coding: Coding,
}

/// One per-CPU ring buffer of one tracing instance, in recorded order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// Name of the tracing instance, empty for the top one.
    pub instance: String,
    /// CPU number.
    pub cpu: u32,
    /// Sub-buffer layout of this stream (instances may differ in size). Of records of perf only the byte order holds.
    pub page: PageLayout,
    /// Its chunks are records of perf, laid out so, and not sub-buffers. They are in the order of the ring, which is that of
    /// time but for interrupts between taking the time and reserving room: to be sorted by time.
    pub perf: Option<Arc<RecordLayout>>,
    /// Clock of this stream in the kernel's spelling (`mono`, `local`, ...), empty when not recorded.
    pub clock: String,
    /// Its chunks in order.
    pub chunks: Vec<Chunk>,
}

impl Stream {
    /// Gives `f` the items of the decoded bytes of a chunk, in order, whatever they are laid out as. `locus` is where the
    /// bytes begin.
    #[inline]
    pub fn for_each<'a>(&self, bytes: &'a [u8], locus: Locus, mut f: impl FnMut(Result<StreamItem<'a>, FormatError>)) {
        if let Some(layout) = &self.perf {
            for item in perf_data::items(layout, bytes, locus) {
                f(item);
            }
            return;
        }
        for sub in sub_buffers(self.page, bytes, locus) {
            match sub {
                Ok(sub) => sub.records(self.page, locus).for_each(&mut f),
                Err(e) => f(Err(e)),
            }
        }
    }
}

impl Stream {
    /// The same items one by one, for whoever stops early; slower.
    pub fn items<'a>(
        &'a self,
        bytes: &'a [u8],
        locus: Locus,
    ) -> Box<dyn Iterator<Item = Result<StreamItem<'a>, FormatError>> + 'a> {
        if let Some(layout) = &self.perf {
            return Box::new(perf_data::items(layout, bytes, locus));
        }
        let of = move |sub: Result<SubBuffer<'a>, FormatError>| {
            let error = sub.as_ref().err().map(|e| Err(*e));
            let records = sub.ok().map(|s| s.records(self.page, locus));
            error.into_iter().chain(records.into_iter().flatten())
        };
        Box::new(sub_buffers(self.page, bytes, locus).flat_map(of))
    }
}

/// `per_cpu/cpuN/stats` of one ring buffer, as the kernel printed it at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CpuStats {
    /// Name of the tracing instance, empty for the top one.
    #[serde(default)]
    pub instance: String,
    /// CPU number.
    pub cpu: u32,
    /// Events still in the buffer.
    pub entries: u64,
    /// Events overwritten before they were read.
    pub overrun: u64,
    /// Events dropped because a commit was interrupted too deeply.
    pub commit_overrun: u64,
    /// Events dropped because the buffer was full (no overwrite).
    pub dropped_events: u64,
    /// Events read.
    pub read_events: u64,
    /// Bytes in the buffer.
    pub bytes: u64,
}

/// Simultaneous readings of several clocks, ns; `None` where one was not read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ClockPair {
    /// CLOCK_MONOTONIC.
    pub monotonic_ns: i64,
    /// CLOCK_REALTIME.
    pub realtime_ns: Option<i64>,
    /// CLOCK_BOOTTIME.
    pub boottime_ns: Option<i64>,
    /// CLOCK_MONOTONIC_RAW.
    pub monotonic_raw_ns: Option<i64>,
    /// Width of the reading: no clock was read outside this many ns.
    pub uncertainty_ns: i64,
}

/// A conversion of timestamps that a recording asks its readers to make, kept as data: nothing in this crate applies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClockConversion {
    /// ns to add to every timestamp of every stream; several add up (trace.dat OFFSET, and DATE, which is stored in us).
    OffsetNs(i64),
    /// Cycles to ns: `(cycles * mult) >> shift` (trace.dat TSC2NSEC).
    Tsc2Nsec {
        /// Multiplier.
        mult: u32,
        /// Right shift.
        shift: u32,
        /// Recorded offset, ns; trace-cmd stores it and does not apply it.
        offset: u64,
    },
    /// Guest clock to host clock, per CPU (trace.dat TIME_SHIFT).
    TimeShift {
        /// Trace id of the host's file.
        peer_trace_id: u64,
        /// Protocol flags: bit 0 = interpolate between samples.
        flags: u32,
        /// Samples of each guest CPU, in file order; the index is the CPU number.
        cpus: Vec<Vec<TimeShiftSample>>,
    },
}

/// One synchronisation sample of [`ClockConversion::TimeShift`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeShiftSample {
    /// Guest time of the sample, recorded clock.
    pub time: u64,
    /// Host minus guest, recorded clock.
    pub offset: i64,
    /// Scaling ratio, fixed point.
    pub scaling: u64,
    /// Fraction bits of `scaling`; `None` when the file does not store them.
    pub fraction_bits: Option<u64>,
}

/// When a snapshot was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SnapshotWhen {
    /// Before the first event.
    Start,
    /// After the last event.
    End,
}

/// A saved text of the recorded host (`net/netstat`, `interrupts`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Path below /proc (`net/snmp`), or a name of the recorder's.
    pub what: String,
    /// When.
    pub when: SnapshotWhen,
    /// The text as it was.
    pub text: Vec<u8>,
}

/// The recorded host.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Host {
    /// uname sysname, release, version, machine joined as recorded; empty when not recorded.
    pub kernel_release: String,
    /// `uname -v`.
    pub kernel_version: String,
    /// `uname -m`.
    pub machine: String,
    /// Host name.
    pub hostname: String,
    /// CPUs possible on the host; 0 when not recorded.
    pub cpus: u32,
}

/// Something that could not be read; the rest of the capture stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The error, when it has a place.
    pub error: Option<FormatError>,
    /// A sentence for a person: what is missing and what it means.
    pub message: String,
    /// Name of the member it is about, empty for the whole file.
    pub member: String,
}

/// A capture file, opened: everything but the events, and where the events are.
#[derive(Debug)]
pub struct Capture {
    /// Path or `-`.
    pub source: String,
    /// `bundle`, `trace.dat`, `perf.data`.
    pub format: &'static str,
    /// Version text of the format (`1`, `6`, `7`).
    pub format_version: String,
    /// The file.
    pub bytes: Bytes,
    /// Byte order of the recorded kernel.
    pub endian: Endian,
    /// The recorded host.
    pub host: Host,
    /// Named parts.
    pub members: Vec<Member>,
    /// Parsed `format` texts of all events the capture describes.
    pub event_formats: Vec<EventFormat>,
    /// Ring buffers.
    pub streams: Vec<Stream>,
    /// pid -> comm as saved at the end.
    pub comms: Vec<(i32, String)>,
    /// Kernel symbols, lazily indexed.
    pub kallsyms: Kallsyms,
    /// `printk_formats` text.
    pub printk_formats: Vec<u8>,
    /// Statistics of the ring buffers at the end.
    pub cpu_stats: Vec<CpuStats>,
    /// Clock readings, in time order.
    pub clock_pairs: Vec<ClockPair>,
    /// Conversions that the recording asks for, in file order; not applied.
    pub clock_conversions: Vec<ClockConversion>,
    /// Saved texts.
    pub snapshots: Vec<Snapshot>,
    /// The bundle's manifest as JSON. Of a perf.data, in the same words, what its header says: the command line and the events.
    /// `None` for other formats.
    pub manifest: Option<serde_json::Value>,
    /// The bundle's end.json; `None` when missing (cut bundle) or for other formats.
    pub end: Option<serde_json::Value>,
    /// False when the file is known to be cut or damaged.
    pub complete: bool,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

/// No chunk decodes to more than this (a hostile frame header must not take the machine's memory).
pub const MAX_CHUNK_BYTES: u64 = 256 << 20;

impl Capture {
    /// The decoded bytes of a chunk: borrowed when stored, else decompressed. Safe to call from many threads.
    pub fn chunk_bytes(&self, chunk: &Chunk) -> Result<Cow<'_, [u8]>, FormatError> {
        let (coded, locus) = self.coded(chunk)?;
        crate::bytes_decode::decode(coded, chunk.coding, locus)
    }
    /// Decodes a chunk whose container states its size into memory of that size. False says nothing about why not:
    /// [`Capture::chunk_bytes`] finds out.
    #[must_use]
    pub fn chunk_into(&self, chunk: &Chunk, out: &mut [u8]) -> bool {
        let (Coding::Zstd { size: Some(size) }, Ok((coded, _))) = (chunk.coding, self.coded(chunk)) else {
            return false;
        };
        size == out.len() as u64 && crate::bytes_decode::zstd_into(coded, out) == Some(out.len())
    }
    fn coded(&self, chunk: &Chunk) -> Result<(&[u8], Locus), FormatError> {
        let locus = Locus {
            member: chunk.member,
            stream: 0,
            offset: chunk.range.start,
        };
        let coded = usize::try_from(chunk.range.start)
            .ok()
            .zip(usize::try_from(chunk.range.end).ok())
            .and_then(|(a, b)| self.bytes.get(a..b))
            .ok_or_else(|| {
                FormatError::new(FormatErrorKind::Truncated, "chunk", locus).sizes(
                    chunk.range.end,
                    self.bytes.len() as u64,
                    Limit::File,
                )
            })?;
        Ok((coded, locus))
    }
}
