//! Links that the ledger claims, against what a packet tap and the readers saw.
//!
//! A wrong link that is labelled weak or unknown is a doubt that was told; a wrong one that is certain or strong is a lie.

use std::path::Path;

use netmortem_analyzer::Confidence;

use super::Oracle;
use super::cases::describe;
use super::rows::LedgerRow;
use crate::independent::tap::{self, Segment};
use crate::truth::{ReadCall, Truth};

impl Oracle {
    /// One link. A wrong one counts unless its label told the doubt.
    pub(super) fn link(&mut self, right: bool, label: Confidence, note: impl FnOnce() -> String) {
        if right || label.is_solid() {
            self.check(right, note);
        } else {
            self.checked += 1;
            self.doubtful += 1;
        }
    }
}

/// A stream whose reader told every read.
struct Stream<'t> {
    calls: Vec<&'t ReadCall>,
    pid: i32,
    ports: (u16, u16),
}

fn streams(truth: &Truth) -> Vec<Stream<'_>> {
    let mut all: Vec<Stream<'_>> = vec![];
    for call in &truth.reads {
        let ports = (call.sport, call.dport);
        match all.iter_mut().find(|s| s.pid == call.pid && s.ports == ports) {
            Some(s) => s.calls.push(call),
            None => all.push(Stream {
                calls: vec![call],
                pid: call.pid,
                ports,
            }),
        }
    }
    all
}

/// The units of a stream with payload, in order of arrival.
fn units<'r>(stream: &Stream<'_>, rx: &'r [LedgerRow]) -> Vec<&'r LedgerRow> {
    let of_stream = |r: &&LedgerRow| r.ports == Some((stream.ports.1, stream.ports.0));
    // Where two sockets have the same ports, the reader tells which is meant.
    let read_here = rx
        .iter()
        .filter(of_stream)
        .find(|r| r.pid == Some(i64::from(stream.pid)));
    let connection = read_here.and_then(|r| r.connection);
    let mine = rx
        .iter()
        .filter(|r| r.connection == connection && r.bytes.is_some_and(|b| b > 0));
    let mut units: Vec<&LedgerRow> = mine.filter(of_stream).collect();
    units.sort_by_key(|r| received_ns(r));
    units
}

/// When the packet tap sees a unit: everything in front of the protocols is over.
fn received_ns(r: &LedgerRow) -> i64 {
    const BEFORE: [&str; 5] = ["irq", "softirq_wait", "rps", "poll_wait", "gro"];
    let before = r.stages.iter().filter(|(s, _)| BEFORE.contains(s));
    r.start_ns + before.map(|(_, ns)| ns).sum::<i64>()
}

/// The segments of a stream that brought new bytes: TCP drops a retransmitted copy, so it is no unit.
fn arrived(all: &[Segment], ports: (u16, u16)) -> Vec<&Segment> {
    let mut ahead: Vec<(u64, u64)> = vec![];
    let mut new = vec![];
    let (mut first, mut next) = (None, 0u64);
    for s in all.iter().filter(|s| (s.sport, s.dport) == ports) {
        let from = u64::from(s.seq.wrapping_sub(*first.get_or_insert(s.seq)));
        let to = from + u64::from(s.bytes);
        if to <= next || ahead.iter().any(|r| r.0 <= from && to <= r.1) {
            continue;
        }
        new.push(s);
        ahead.push((from, to));
        // What is in order now needs no place of its own.
        while let Some(n) = ahead.iter().position(|r| r.0 <= next) {
            next = next.max(ahead.swap_remove(n).1);
        }
    }
    new
}

/// Name of the oracle that counts bytes that readers read.
pub const READ_BYTES: &str = "bytes read are bytes of units read";

/// Every unit is read by the call that took its last byte; where a tap recorded them, units are the segments that arrived.
pub fn by_readers(dir: &Path, truth: &Truth, rx: &[LedgerRow]) -> Vec<Oracle> {
    taken(truth, rx, tap::load(&dir.join("pcap.csv")).ok().as_deref())
}

/// The same with the segments that a tap saw, if one did.
pub fn taken(truth: &Truth, rx: &[LedgerRow], tapped: Option<&[Segment]>) -> Vec<Oracle> {
    let [mut reads, mut arrivals, mut bytes] = [
        "links of units to the reads that took them",
        "links of units to segments by the packet tap",
        READ_BYTES,
    ]
    .map(|name| Oracle {
        name,
        ..Oracle::default()
    });
    for stream in streams(truth) {
        let units = units(&stream, rx);
        let segments = tapped.map(|all| arrived(all, stream.ports));
        let first = segments.as_ref().and_then(|s| s.first().map(|s| s.seq));
        let read: u64 = stream.calls.iter().map(|c| c.bytes).sum();
        let told = units.iter().filter(|u| u.end == "read").filter_map(|u| u.bytes);
        let told = told.sum::<i64>().unsigned_abs();
        // Bytes that no unit is known to have brought (a kernel whose events do not tell): so far those behind may lie.
        let mut missing = read.saturating_sub(told);
        let mut end = 0u64;
        for (n, unit) in units.iter().enumerate() {
            let size = unit.bytes.unwrap_or(0).unsigned_abs();
            let (mut from, mut right) = (end, true);
            if let (Some(segments), Some(first)) = (&segments, first) {
                let segment = segments.get(n);
                from = segment.map_or(from, |s| u64::from(s.seq.wrapping_sub(first)));
                right = segment.is_some_and(|s| u64::from(s.bytes) == size);
                arrivals.link(right, unit.confidence, || {
                    format!("unit {n} is {segment:?}, not {}", describe(unit))
                });
            }
            end = from + size;
            if unit.end != "read" || !right {
                continue;
            }
            let until = unit.start_ns + unit.total_ns;
            let in_call = |c: &ReadCall| (c.before_ns..=c.after_ns).contains(&until);
            // What is missing came before this unit, if only that makes it fit.
            let gap = stream.calls.iter().find(|c| in_call(c)).map_or(0, |c| {
                let least = (c.offset + 1).max(c.offset + size.min(c.bytes));
                least.saturating_sub(end)
            });
            if segments.is_none() && gap <= missing {
                (end, missing) = (end + gap, missing - gap);
            }
            let took = stream.calls.iter().find(|c| c.offset + c.bytes >= end);
            reads.link(took.is_some_and(|c| in_call(c)), unit.confidence, || {
                format!("unit {n} ends at {until} ns, read by {took:?}: {}", describe(unit))
            });
        }
        bytes.checked += read;
        bytes.wrong += read.abs_diff(told);
        if read != told && bytes.note.is_empty() {
            let ports = stream.ports;
            bytes.note = format!("{ports:?}: {read} bytes were read, the units read have {told}");
        }
    }
    let all = [reads, arrivals, bytes];
    all.into_iter().filter(|o| o.checked > 0).collect()
}
