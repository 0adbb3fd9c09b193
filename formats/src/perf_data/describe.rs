//! What a recording says of itself besides its records: features, attributes of pipe mode, names of tasks, losses.

use std::collections::BTreeMap;

use super::header::ids;
use super::layout::*;
use super::records::{Record, Records};
use super::sample::Attr;
use crate::capture::Host;
use crate::endian::Endian;
use crate::error::FormatError;
use crate::item::Locus;
use crate::trace_dat::{TracingData, tracing_data};

/// The kernel's TASK_COMM_LEN; perf pads it.
const COMM_BYTES: usize = 16;
/// The kernel's PID_MAX_LIMIT.
const MAX_TASKS: usize = 1 << 22;

/// All of it.
#[derive(Debug, Default)]
pub(super) struct Description {
    pub attrs: Vec<Attr>,
    pub bad_attrs: u64,
    pub host: Host,
    pub command_line: Vec<String>,
    pub tracing: Option<TracingData>,
    /// Clock id, CLOCK_REALTIME and the recording's clock read together, ns.
    pub clock_data: Option<(u32, u64, u64)>,
    /// Thread id to name, the latest.
    pub comms: BTreeMap<i32, String>,
    /// Event id to CPU, from ID_INDEX.
    pub cpu_of_id: BTreeMap<u64, u32>,
    /// ID_INDEX names threads: not all tasks were recorded.
    pub of_threads: bool,
    /// Bodies of LOST_SAMPLES that count losses, to be read when the layout is known.
    pub lost_samples: Vec<Vec<u8>>,
    /// THROTTLE records: the kernel paused an event.
    pub throttled: u64,
    /// Samples, of whatever event.
    pub samples: u64,
    /// Where the walk ended, if not at the end.
    pub error: Option<FormatError>,
}

/// LOST_SAMPLES are written once for each event and CPU, at the end.
const MAX_LOST_SAMPLES: usize = 1 << 20;

impl Description {
    /// Reads the body of a feature.
    pub fn feature(&mut self, bit: u32, body: &[u8], endian: Endian) {
        match bit {
            FEATURE_TRACING_DATA => self.tracing = Some(tracing_data(body)),
            FEATURE_HOSTNAME => self.host.hostname = text(body, endian),
            FEATURE_OSRELEASE => self.host.kernel_release = text(body, endian),
            FEATURE_ARCH => self.host.machine = text(body, endian),
            // Available, then online.
            FEATURE_NRCPUS => self.host.cpus = endian.u32(body, 0).unwrap_or(0),
            FEATURE_CMDLINE => self.command_line = texts(body, endian),
            FEATURE_CLOCK_DATA => self.clock_data = clock_data(body, endian),
            _ => {}
        }
    }

    /// Walks all records.
    pub fn records(&mut self, data: &[u8], endian: Endian, locus: Locus) {
        for record in Records::new(data, endian, locus) {
            match record {
                Ok(r) => self.record(&r, endian),
                Err(e) => self.error = Some(e),
            }
        }
    }

    #[inline]
    fn record(&mut self, r: &Record<'_>, endian: Endian) {
        let b = r.body;
        match r.kind {
            RECORD_SAMPLE => self.samples = self.samples.saturating_add(1),
            RECORD_COMM => self.comm(b, endian),
            RECORD_FORK => self.fork(b, endian),
            RECORD_THROTTLE => self.throttled = self.throttled.saturating_add(1),
            RECORD_LOST_SAMPLES
                if r.misc & MISC_LOST_SAMPLES_BPF == 0 && self.lost_samples.len() < MAX_LOST_SAMPLES =>
            {
                self.lost_samples.push(b.to_vec());
            }
            RECORD_HEADER_ATTR => match pipe_attr(b, endian) {
                Some(a) => self.attrs.push(a),
                None => self.bad_attrs = self.bad_attrs.saturating_add(1),
            },
            RECORD_HEADER_FEATURE => {
                let bit = endian.u64(b, 0).and_then(|n| u32::try_from(n).ok());
                if let Some((bit, body)) = bit.zip(b.get(8..)) {
                    self.feature(bit, body, endian);
                }
            }
            RECORD_HEADER_TRACING_DATA => self.tracing = Some(tracing_data(r.extra)),
            RECORD_ID_INDEX => self.id_index(b, endian),
            _ => {}
        }
    }

    /// COMM: u32 pid, u32 tid, name.
    fn comm(&mut self, b: &[u8], endian: Endian) {
        let name = b.get(8..).unwrap_or(&[]);
        let name = name.get(..COMM_BYTES).unwrap_or(name);
        let end = memchr::memchr(0, name).unwrap_or(name.len());
        let name = String::from_utf8_lossy(name.get(..end).unwrap_or(&[])).into_owned();
        if let Some(tid) = endian.u32(b, 4) {
            self.name(tid.cast_signed(), name);
        }
    }

    /// FORK: u32 pid, ppid, tid, ptid. A child has its parent's name until it takes another.
    fn fork(&mut self, b: &[u8], endian: Endian) {
        if let Some((tid, parent)) = endian.u32(b, 8).zip(endian.u32(b, 12))
            && let Some(name) = self.comms.get(&parent.cast_signed()).cloned()
        {
            self.name(tid.cast_signed(), name);
        }
    }

    fn name(&mut self, tid: i32, name: String) {
        if self.comms.len() < MAX_TASKS || self.comms.contains_key(&tid) {
            self.comms.insert(tid, name);
        }
    }

    /// ID_INDEX: u64 n, n times (u64 id, idx, cpu, tid).
    fn id_index(&mut self, b: &[u8], endian: Endian) {
        for entry in b.get(8..).unwrap_or(&[]).chunks_exact(32) {
            let word = |at| endian.u64(entry, at);
            let (Some(id), Some(cpu), Some(tid)) = (word(0), word(16), word(24)) else {
                continue;
            };
            // -1 stands for every CPU, and for every thread, in 32 or in 64 bits.
            self.of_threads |= tid as u32 != u32::MAX;
            if let Some(cpu) = u32::try_from(cpu).ok().filter(|c| *c != u32::MAX) {
                self.cpu_of_id.insert(id, cpu);
            }
        }
    }
}

/// HEADER_ATTR: the attribute, then its ids.
fn pipe_attr(b: &[u8], endian: Endian) -> Option<Attr> {
    let mut attr = Attr::parse(b, endian)?;
    let size = endian.u32(b, 4).filter(|n| *n > 0).unwrap_or(ATTR_SIZE_MIN);
    attr.ids = ids(b.get(size as usize..)?, endian);
    Some(attr)
}

/// CLOCK_DATA: u32 version, u32 clock id, u64 wall clock, u64 that clock.
fn clock_data(b: &[u8], endian: Endian) -> Option<(u32, u64, u64)> {
    Some((endian.u32(b, 4)?, endian.u64(b, 8)?, endian.u64(b, 16)?))
}

/// `perf_header_string`: u32 size, NUL-padded text.
fn text(b: &[u8], endian: Endian) -> String {
    let size = endian.u32(b, 0).unwrap_or(0) as usize;
    let t = size.checked_add(4).and_then(|end| b.get(4..end)).unwrap_or(&[]);
    let end = memchr::memchr(0, t).unwrap_or(t.len());
    String::from_utf8_lossy(t.get(..end).unwrap_or(&[])).into_owned()
}

/// `perf_header_string_list`: u32 n, n strings.
fn texts(b: &[u8], endian: Endian) -> Vec<String> {
    let n = endian.u32(b, 0).unwrap_or(0);
    let mut at = 4usize;
    let mut out = Vec::new();
    for _ in 0..n {
        let Some(rest) = b.get(at..).filter(|r| r.len() >= 4) else {
            break;
        };
        out.push(text(rest, endian));
        let size = endian.u32(rest, 0).unwrap_or(0) as usize;
        at = at.saturating_add(4).saturating_add(size);
    }
    out
}
