//! Links that the ledger claims, against what the slab allocator, a packet tap and the readers saw.
//!
//! A wrong link that is labelled weak or unknown is a doubt that was told; a wrong one that is certain or strong is a lie.

use std::collections::HashMap;
use std::path::Path;

use netmortem_analyzer::{Confidence, Facts};

use super::Oracle;
use super::cases::describe;
use super::rows::{LedgerRow, confidence, number, table, text};
use crate::independent::kmem::{self, Slab};
use crate::independent::tap::{self, Segment};
use crate::truth::{ReadCall, Truth};

impl Oracle {
    /// One link. A wrong one counts unless its label told the doubt.
    fn link(&mut self, right: bool, label: Confidence, note: impl FnOnce() -> String) {
        if right || label.is_solid() {
            self.check(right, note);
        } else {
            self.checked += 1;
            self.doubtful += 1;
        }
    }
}

/// A life of an skb address, as the view `skbs` tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    /// Its number.
    pub id: i64,
    /// Its address.
    pub address: u64,
    /// First event.
    pub birth_ns: i64,
    /// Last event.
    pub last_ns: i64,
    /// Steps: each is a link to the one before.
    pub hops: i64,
    /// Label.
    pub confidence: Confidence,
}

fn lives(facts: &Facts) -> Option<Vec<Life>> {
    let t = table(facts, "skbs")?;
    let columns = t.columns();
    let at = |name: &str| columns.iter().position(|c| c.name == name).unwrap_or(usize::MAX);
    let [id, address, birth, last, hops, label] =
        ["skb_id", "skbaddr", "birth_ns", "last_ns", "hops", "confidence"].map(at);
    let life = |row: usize| {
        let num = |c: usize| number(t.cell(row, c)).unwrap_or(0);
        let hex = text(t.cell(row, address));
        Some(Life {
            id: num(id),
            address: u64::from_str_radix(hex.trim_start_matches("0x"), 16).ok()?,
            birth_ns: num(birth),
            last_ns: num(last),
            hops: num(hops),
            confidence: confidence(&text(t.cell(row, label))),
        })
    };
    Some((0..t.len()).filter_map(life).collect())
}

/// Lives of the recording against `kmem.txt`; `None` when the allocator was not recorded.
pub fn by_allocator(dir: &Path, facts: &Facts) -> Option<Oracle> {
    Some(unbroken(&lives(facts)?, &kmem::load(&dir.join("kmem.txt")).ok()?))
}

/// What rounding to µs leaves out, ns.
const HALF_NS: i64 = 500;

/// A life must not hold the birth or the death of another one: no allocation and no free of its address strictly between
/// its first and its last event. Lives whose address the allocator never named are not compared.
pub fn unbroken(lives: &[Life], slabs: &[Slab]) -> Oracle {
    let mut of: HashMap<u64, Vec<&Slab>> = HashMap::new();
    for s in slabs {
        of.entry(s.address).or_default().push(s);
    }
    let mut oracle = Oracle {
        name: "links by the slab allocator",
        ..Oracle::default()
    };
    for life in lives {
        let Some(of) = of.get(&life.address) else { continue };
        // The printed time is rounded to µs: only what is surely inside counts.
        let inside = of
            .iter()
            .find(|s| s.us * 1_000 - HALF_NS > life.birth_ns && s.us * 1_000 + HALF_NS < life.last_ns);
        for n in 0..life.hops.max(1) {
            oracle.link(n > 0 || inside.is_none(), life.confidence, || {
                format!("{life:?} has {inside:?} inside")
            });
        }
    }
    oracle
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
