//! What happened when? The recording cut into [`BINS`] equal parts of time: how many units of which latency, how busy each CPU
//! was with NET_RX and NET_TX, when each device was polled, how many bytes lay in the sockets' queues and packets in those of devices; and what the kernel counted from reading to reading.
//!
//! Needs the views `rx`, `tx`, `xmits`, `softirqs`, `polls`, `counters_over_time`; each is read once. Data are binned, never sampled: every unit is in one cell, every
//! run of a softirq in the bins that it covers. Latencies fall in rows of half an octave. Queue sizes are the largest of each
//! bin. Must not see events.
//!
//! ```text
//! rx, tx --(start, total)--> cells of the heat maps      --(enter +bytes, leave -bytes)--> sums in time order -> largest per bin
//! softirqs --(start, end)--> ns per CPU, vector and bin, and the stretches of time that had any
//! ```

use std::collections::BTreeMap;

use crate::analyses::units::Ledgers;
use crate::facts::Facts;
use crate::reconstruct::receive::tables::Stage;
use crate::reconstruct::softirq::tables::NET_RX;
use crate::reconstruct::transmit::tables::{TxEnd, TxKind};
use crate::stat::sort_by_key;

mod counted;
mod lay;
mod polled;
#[cfg(test)]
mod tests;

pub use counted::{Counted, Rate};
pub use lay::{Lay, QUEUES};
pub use polled::{DEVICES, Polled};

/// Parts that the recording is cut into.
pub const BINS: usize = 240;

/// About how many stretches of softirqs are kept, shared by CPUs and vectors, and as many of polls by devices; those nearer to each other are joined.
pub const STRETCHES: i64 = 8_000;
/// CPUs and vectors that share them at most; a report draws no more.
const SHARERS: i64 = 12;
/// A picture has no more columns than this.
const COLUMNS: i64 = 5_600;

/// NET_TX in the kernel's order of vectors.
const NET_TX: u32 = 2;

/// The answer; moments are ns since the start of the recording.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct OverTime {
    /// Length of a bin, ns, at least 1.
    pub bin_ns: i64,
    /// Stretches of softirqs and polls nearer to each other than this are one, ns.
    pub joined_ns: i64,
    /// Whole times of read units, all confidences.
    pub receive: Vec<HeatCell>,
    /// Whole times of acknowledged segments, all confidences.
    pub transmit: Vec<HeatCell>,
    /// Per CPU and vector, in this order.
    pub softirqs: Vec<Busy>,
    /// Devices polled longest, in order of their names.
    pub polls: Vec<Polled>,
    /// Devices polled that are not among them.
    pub polls_left_out: usize,
    /// Most bytes that lay readable in receive queues of sockets (all together), per bin; empty when not known.
    pub receive_queue: Vec<u64>,
    /// Most bytes sent by TCP and not yet acknowledged (all sockets together), per bin; empty when not known.
    pub unacknowledged: Vec<u64>,
    /// Queues of devices that held most packets, the fullest first.
    pub device_queues: Vec<Lay>,
    /// What the kernel counted from reading to reading.
    pub counted: Counted,
}

/// Units of one part of time and of latency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct HeatCell {
    /// Which bin, by the unit's start.
    pub bin: u32,
    /// Smallest whole time of the row, ns.
    pub lo_ns: i64,
    /// First that is not in it.
    pub hi_ns: i64,
    /// Units.
    pub count: u64,
}

/// How busy a CPU was with a vector.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Busy {
    /// CPU.
    pub cpu: u16,
    /// `NET_RX` or `NET_TX`.
    pub vector: &'static str,
    /// Share of each bin, 0 to 1.
    pub share: Vec<f64>,
    /// From, to, ns since the start; those nearer than `joined_ns` are one.
    pub stretches: Vec<(i64, i64)>,
}

/// Asks.
pub fn answer(facts: &Facts, ledgers: &Ledgers<'_>) -> OverTime {
    let Some(start) = facts.capture.start_ns else {
        return OverTime::default();
    };
    let time = Time {
        start,
        bin_ns: (facts.capture.duration_ns / BINS as i64 + 1).max(1),
    };
    let received = || {
        let read = ledgers.rx.rows();
        let queued = read.iter().filter_map(|r| {
            let left = r.start_ns.saturating_add(r.total_ns) - r.stage(Stage::Return).unwrap_or(0);
            Some((left.saturating_sub(r.rcvq_ns?), left, r.bytes?))
        });
        (
            time.heat(read.iter().map(|r| (r.start_ns, r.total_ns))),
            time.most(queued),
        )
    };
    let sent = || {
        let whole = ledgers.tx.rows().iter().map(|r| (r.start_ns, r.total_ns));
        // Bytes were under way also when their whole time is not known.
        let acked = facts
            .tx
            .iter()
            .filter(|r| r.kind == TxKind::Tcp && r.end == TxEnd::Acked);
        let flying = acked.filter_map(|r| Some((r.t_sched_ns, r.start_ns.saturating_add(r.total_ns), r.bytes?)));
        (time.heat(whole), time.most(flying))
    };
    let busy = || {
        let joined_ns = time.joined(facts);
        (
            joined_ns,
            time.busy(facts, joined_ns),
            polled::polled(facts, start, joined_ns),
        )
    };
    let queues = || lay::lay(facts, &time);
    let (
        ((receive, receive_queue), (transmit, unacknowledged)),
        ((joined_ns, softirqs, (polls, polls_left_out)), device_queues),
    ) = rayon::join(|| rayon::join(received, sent), || rayon::join(busy, queues));
    OverTime {
        bin_ns: time.bin_ns,
        joined_ns,
        receive,
        transmit,
        softirqs,
        polls,
        polls_left_out,
        receive_queue,
        unacknowledged,
        device_queues,
        counted: counted::counted(&facts.counters_over_time, start, facts.capture.duration_ns),
    }
}

/// Share of each bin, and stretches.
type Covered = (Vec<f64>, Vec<(i64, i64)>);

/// When bytes came, or left.
type Moved = Vec<(i64, u32)>;

struct Time {
    start: i64,
    bin_ns: i64,
}

impl Time {
    fn bin(&self, ns: i64) -> usize {
        let at = ns.saturating_sub(self.start).max(0) / self.bin_ns;
        usize::try_from(at).unwrap_or(usize::MAX).min(BINS - 1)
    }

    fn heat(&self, rows: impl Iterator<Item = (i64, i64)>) -> Vec<HeatCell> {
        let edges = edges();
        let mut counts = vec![0u64; BINS * ROWS];
        for (start, total) in rows {
            let cell = self.bin(start) * ROWS + half_octave(total, &edges);
            if let Some(count) = counts.get_mut(cell) {
                *count += 1;
            }
        }
        let cell = |(at, count): (usize, u64)| HeatCell {
            bin: (at / ROWS) as u32,
            lo_ns: edge(at % ROWS),
            hi_ns: edge(at % ROWS + 1),
            count,
        };
        let filled = counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
        filled.map(cell).collect()
    }

    fn joined(&self, facts: &Facts) -> i64 {
        let of = facts.softirqs.iter().map(|r| (r.cpu, r.vec));
        let sharers: std::collections::BTreeSet<(u16, u32)> =
            of.filter(|(_, v)| *v == NET_RX || *v == NET_TX).collect();
        let each = STRETCHES / (sharers.len() as i64).clamp(1, SHARERS);
        (facts.capture.duration_ns / each.min(COLUMNS)).max(1)
    }

    fn busy(&self, facts: &Facts, joined: i64) -> Vec<Busy> {
        let mut of: BTreeMap<(u16, u32), Covered> = BTreeMap::new();
        for run in facts.softirqs.iter().filter(|r| r.vec == NET_RX || r.vec == NET_TX) {
            let Some(end) = run.end_ns.filter(|end| *end >= run.start_ns) else {
                continue;
            };
            let (bins, stretches) = of
                .entry((run.cpu, run.vec))
                .or_insert_with(|| (vec![0.0; BINS], vec![]));
            self.cover(run.start_ns, end, bins);
            let (from, to) = (run.start_ns - self.start, end - self.start);
            // Runs of a vector on a CPU come in order of time and do not overlap.
            join(stretches, (from, to), joined);
        }
        let busy = |((cpu, vec), (share, stretches))| Busy {
            cpu,
            vector: if vec == NET_RX { "NET_RX" } else { "NET_TX" },
            share,
            stretches,
        };
        of.into_iter().map(busy).collect()
    }

    /// Adds `from..to` to the bins it covers, as a share of each.
    fn cover(&self, from: i64, to: i64, bins: &mut [f64]) {
        let (first, last) = (self.bin(from), self.bin(to));
        for at in first..=last {
            let begin = self.start.saturating_add((at as i64).saturating_mul(self.bin_ns));
            let end = begin.saturating_add(self.bin_ns);
            let part = to.min(end).saturating_sub(from.max(begin)).max(0);
            if let Some(bin) = bins.get_mut(at) {
                *bin += part as f64 / self.bin_ns as f64;
            }
        }
    }

    /// The largest sum of bytes of each bin, of units that were there from a moment to another.
    fn most(&self, units: impl Iterator<Item = (i64, i64, u32)>) -> Vec<u64> {
        let (mut came, mut left): (Moved, Moved) = units
            .filter(|(from, to, _)| from <= to)
            .map(|(from, to, bytes)| ((from, bytes), (to, bytes)))
            .unzip();
        if came.is_empty() {
            return vec![];
        }
        sort_by_key(&mut came, |c| c.0);
        sort_by_key(&mut left, |c| c.0);
        let mut came = came.into_iter().peekable();
        let mut left = left.into_iter().peekable();
        let changes = std::iter::from_fn(|| {
            // At the same moment what leaves goes first.
            let leaves = match (left.peek(), came.peek()) {
                (Some(left), Some(came)) => left.0 <= came.0,
                (left, _) => left.is_some(),
            };
            let (time, bytes) = if leaves { left.next() } else { came.next() }?;
            Some((time, if leaves { -i64::from(bytes) } else { i64::from(bytes) }))
        });
        let mut bins = vec![0u64; BINS];
        let (mut now, mut at) = (0i64, 0usize);
        for (time, change) in changes {
            let next = self.bin(time);
            let before = u64::try_from(now).unwrap_or(0);
            // What lay there at the end of a bin lies there in all bins until the next change.
            for bin in bins.iter_mut().take(next + 1).skip(at) {
                *bin = (*bin).max(before);
            }
            now = now.saturating_add(change);
            at = next;
            if let Some(bin) = bins.get_mut(at) {
                *bin = (*bin).max(u64::try_from(now).unwrap_or(0));
            }
        }
        bins
    }
}

/// Adds what begins last to stretches; what is nearer than `joined` is one.
fn join(stretches: &mut Vec<(i64, i64)>, (from, to): (i64, i64), joined: i64) {
    match stretches.last_mut() {
        Some(last) if from.saturating_sub(last.1) < joined => last.1 = last.1.max(to),
        _ => stretches.push((from, to)),
    }
}

/// Rows of half an octave: one below 1 ns, then two for each of 63 octaves.
const ROWS: usize = 127;

fn edges() -> [i64; ROWS + 1] {
    std::array::from_fn(edge)
}

/// Row of half an octave: 0 below 1 ns, else 1 + 2 log2, rounded down.
fn half_octave(ns: i64, edges: &[i64; ROWS + 1]) -> usize {
    if ns < 1 {
        return 0;
    }
    let octave = 63 - ns.leading_zeros() as usize;
    let half = edges.get(2 + 2 * octave).is_some_and(|edge| ns >= *edge);
    1 + 2 * octave + usize::from(half)
}

/// Smallest value of a row: powers of two, and these times the square root of two, in whole ns.
fn edge(row: usize) -> i64 {
    let Some(half) = row.checked_sub(1) else { return 0 };
    let octave = half / 2;
    if octave >= 62 {
        return i64::MAX;
    }
    let whole = 1i64 << octave;
    match half % 2 {
        0 => whole,
        _ => (whole as f64 * std::f64::consts::SQRT_2).ceil() as i64,
    }
}
