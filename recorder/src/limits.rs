//! What a recording may take: time, bytes on disk, memory of the kernel, CPU. Every limit has a default, because a
//! recorder is forgotten more often than it is watched.

use std::time::Duration;

use crate::host;
use crate::options::{DEFAULT_BUFFER_KIB, Output, RecordOptions};

/// When neither a duration nor a command bounds it.
pub const DEFAULT_DURATION: Duration = Duration::from_secs(3600);
/// Bytes of a bundle on disk; less when less than twice of it is free.
const DEFAULT_BYTES: u64 = 4 << 30;
/// Percent of one CPU, for every CPU that is online: a quarter of the machine.
const DEFAULT_CPU_PERCENT_EACH: u32 = 25;
/// And no more than this, on a host of many CPUs that is in trouble already: 2.4 million events/s took 16 (docs/recorder-cost.md).
const MOST_CPU_PERCENT: u32 = 200;
/// All ring buffers together take at most this part of the memory that is available.
const MEMORY_PART: u64 = 8;
/// A ring buffer of less holds nothing.
const LEAST_BUFFER_KIB: u64 = 8;

/// How the note begins that rings are smaller than asked for.
pub const SHRUNK: &str = "ring buffers of ";

/// The limits of one recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Stop after this long; `None` only when a command bounds it.
    pub duration: Option<Duration>,
    /// Nobody asked for `duration`.
    pub duration_is_default: bool,
    /// Stop when the bundle has this many bytes; `None` for a stream without a limit.
    pub bytes: Option<u64>,
    /// Nobody asked for `bytes`.
    pub bytes_is_default: bool,
    /// Stop when the recorder itself uses more of one CPU than this, percent, over five seconds.
    pub cpu_percent: u32,
    /// Nobody asked for `cpu_percent`.
    pub cpu_is_default: bool,
}

impl Limits {
    /// Seconds after which a recording of so many bytes a second stops at its limit of bytes; `None`: another limit stops it before.
    pub fn bytes_end(&self, bytes_per_second: f64) -> Option<f64> {
        let limit = self.bytes.filter(|_| bytes_per_second > 0.0)?;
        let after = limit as f64 / bytes_per_second;
        self.duration.is_none_or(|d| after < d.as_secs_f64()).then_some(after)
    }

    /// As asked for, with the defaults.
    pub fn of(options: &RecordOptions, cpus_online: usize) -> Limits {
        let forgotten = options.duration.is_none() && options.command.is_empty();
        let default_bytes = match &options.output {
            Output::Stdout => None,
            Output::File(path) | Output::Named(path) => {
                Some(DEFAULT_BYTES.min(free_bytes(path).map_or(DEFAULT_BYTES, |f| f / 2)))
            }
        };
        Limits {
            duration: options.duration.or(forgotten.then_some(DEFAULT_DURATION)),
            duration_is_default: forgotten,
            bytes: options.max_bytes.or(default_bytes),
            bytes_is_default: options.max_bytes.is_none(),
            cpu_percent: options.max_cpu_percent.unwrap_or_else(|| {
                let cpus = u32::try_from(cpus_online.max(1)).unwrap_or(u32::MAX);
                DEFAULT_CPU_PERCENT_EACH
                    .saturating_mul(cpus)
                    .clamp(50, MOST_CPU_PERCENT)
            }),
            cpu_is_default: options.max_cpu_percent.is_none(),
        }
    }
}

/// Free bytes of the file system that `path` is or will be on; `None` for what is no file (a pipe, /dev/full).
pub fn free_bytes(path: &std::path::Path) -> Option<u64> {
    if std::fs::metadata(path).is_ok_and(|m| !m.is_file()) {
        return None;
    }
    let s = rustix::fs::statvfs(crate::output::folder(path)).ok()?;
    Some(s.f_bavail.saturating_mul(s.f_frsize))
}

/// Ring buffer per CPU, KiB: what was asked for or the default, and all of them together within the limit. What was
/// reduced is said in `notes`.
pub fn buffer_kib(options: &RecordOptions, cpus: u64, notes: &mut Vec<String>) -> u64 {
    let wanted = options.buffer_kib.unwrap_or(DEFAULT_BUFFER_KIB);
    let part = host::meminfo_kib("MemAvailable").map(|k| k / MEMORY_PART);
    let Some(limit) = options.max_buffers_kib.or(part) else {
        return wanted;
    };
    let room = (limit / cpus.max(1)).max(LEAST_BUFFER_KIB);
    if room < wanted {
        let whose = match options.max_buffers_kib {
            Some(_) => "--max-buffers",
            None => "an eighth of the available memory; --max-buffers sets another limit",
        };
        notes.push(format!(
            "{SHRUNK}{room} KiB instead of {wanted} on each of {cpus} CPUs: together they may take {limit} KiB ({whose})"
        ));
    }
    wanted.min(room)
}
