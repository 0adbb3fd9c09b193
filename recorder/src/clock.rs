//! Simultaneous readings of the system clocks.

use netmortem_formats::ClockPair;
use rustix::time::{ClockId, clock_gettime};

/// Readings are repeated this often and the narrowest is kept: an interrupt between two reads makes a wide one.
const TRIES: usize = 16;

/// A clock's reading, ns.
pub fn now_ns(id: ClockId) -> i64 {
    let t = clock_gettime(id);
    t.tv_sec.saturating_mul(1_000_000_000).saturating_add(t.tv_nsec)
}

/// All clocks, each read between two readings of CLOCK_MONOTONIC; `monotonic_ns` is the middle of these.
pub fn clock_pair() -> ClockPair {
    let read = || {
        let before = now_ns(ClockId::Monotonic);
        let realtime = now_ns(ClockId::Realtime);
        let boottime = now_ns(ClockId::Boottime);
        let raw = now_ns(ClockId::MonotonicRaw);
        let width = now_ns(ClockId::Monotonic).saturating_sub(before);
        ClockPair {
            monotonic_ns: before.saturating_add(width / 2),
            realtime_ns: Some(realtime),
            boottime_ns: Some(boottime),
            monotonic_raw_ns: Some(raw),
            uncertainty_ns: width,
        }
    };
    (0..TRIES)
        .map(|_| read())
        .min_by_key(|p| p.uncertainty_ns)
        .unwrap_or_else(read)
}

/// CPU time this process has used, all threads, ns.
pub fn process_cpu_ns() -> u64 {
    u64::try_from(now_ns(ClockId::ProcessCPUTime)).unwrap_or(0)
}

/// CPU time the calling thread has used, ns.
pub fn thread_cpu_ns() -> u64 {
    u64::try_from(now_ns(ClockId::ThreadCPUTime)).unwrap_or(0)
}
