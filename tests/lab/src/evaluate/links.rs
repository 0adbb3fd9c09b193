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

/// A life must not hold the birth or the death of another one: no allocation and no free of its address strictly between
/// its first and its last event. `None` when the allocator was not recorded.
pub fn by_allocator(dir: &Path, facts: &Facts) -> Option<Oracle> {
    let mut slabs: HashMap<u64, Vec<Slab>> = HashMap::new();
    for s in kmem::load(&dir.join("kmem.txt")).ok()? {
        slabs.entry(s.address).or_default().push(s);
    }
    let t = table(facts, "skbs")?;
    let columns = t.columns();
    let at = |name: &str| columns.iter().position(|c| c.name == name).unwrap_or(usize::MAX);
    let [id, address, birth, last, hops, label] =
        ["skb_id", "skbaddr", "birth_ns", "last_ns", "hops", "confidence"].map(at);
    let mut oracle = Oracle {
        name: "links by the slab allocator",
        ..Oracle::default()
    };
    for row in 0..t.len() {
        let hex = text(t.cell(row, address));
        let Ok(address) = u64::from_str_radix(hex.trim_start_matches("0x"), 16) else {
            continue;
        };
        let Some(of) = slabs.get(&address) else { continue };
        let num = |c: usize| number(t.cell(row, c)).unwrap_or(0);
        let (birth, last) = (num(birth), num(last));
        // The printed time is cut to µs: only what is surely inside counts.
        let inside = of.iter().find(|s| s.us * 1_000 > birth && (s.us + 1) * 1_000 < last);
        for n in 0..num(hops).max(1) {
            oracle.link(n > 0 || inside.is_none(), confidence(&text(t.cell(row, label))), || {
                let what = inside.map_or("", |s| if s.alloc { "allocated" } else { "freed" });
                let us = inside.map_or(0, |s| s.us);
                format!(
                    "skb {}: {hex} was {what} at {us} us, inside {birth}..{last} ns",
                    num(id)
                )
            });
        }
    }
    Some(oracle)
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
    let mut seen: Vec<(u32, u32)> = vec![];
    let mut new = vec![];
    for s in all.iter().filter(|s| (s.sport, s.dport) == ports) {
        let range = (s.seq, s.seq.wrapping_add(s.bytes));
        if !seen.contains(&range) {
            seen.push(range);
            new.push(s);
        }
    }
    new
}

/// Every unit is read by the call that took its last byte; where a tap recorded them, units are the segments that arrived.
pub fn by_readers(dir: &Path, truth: &Truth, rx: &[LedgerRow]) -> Vec<Oracle> {
    let [mut reads, mut arrivals, mut bytes] = [
        "links of units to the reads that took them",
        "links of units to segments by the packet tap",
        "bytes read are bytes of units read",
    ]
    .map(|name| Oracle {
        name,
        ..Oracle::default()
    });
    let tapped = tap::load(&dir.join("pcap.csv")).ok();
    for stream in streams(truth) {
        let units = units(&stream, rx);
        let segments = tapped.as_ref().map(|all| arrived(all, stream.ports));
        let first = segments.as_ref().and_then(|s| s.first().map(|s| s.seq));
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
            let took = stream.calls.iter().find(|c| c.offset + c.bytes >= end);
            if unit.end != "read" || !right {
                continue;
            }
            let until = unit.start_ns + unit.total_ns;
            let fits = took.is_some_and(|c| (c.before_ns..=c.after_ns).contains(&until));
            reads.link(fits, unit.confidence, || {
                format!("unit {n} ends at {until} ns, read by {took:?}: {}", describe(unit))
            });
        }
        let read: u64 = stream.calls.iter().map(|c| c.bytes).sum();
        let told = units.iter().filter(|u| u.end == "read").filter_map(|u| u.bytes);
        let told = told.sum::<i64>().unsigned_abs();
        let ports = stream.ports;
        bytes.check(read == told, || {
            format!("{ports:?}: {read} bytes were read, the units read have {told}")
        });
    }
    let all = [reads, arrivals, bytes];
    all.into_iter().filter(|o| o.checked > 0).collect()
}

/// What the kernel counted, against rows. The counters are those of one namespace: without its count nothing is compared.
pub fn counters(truth: &Truth, facts: &Facts) -> Option<Oracle> {
    let counted = *truth.counters.get("UdpRcvbufErrors")?;
    let t = table(facts, "drops")?;
    let reason = t
        .columns()
        .iter()
        .position(|c| c.name == "reason")
        .unwrap_or(usize::MAX);
    let full = (0..t.len())
        .filter(|r| text(t.cell(*r, reason)) == "SOCKET_RCVBUFF")
        .count();
    let mut drops = Oracle {
        name: "drops = UdpRcvbufErrors",
        ..Oracle::default()
    };
    drops.check(counted == full as i64, || format!("{counted} counted, {full} rows"));
    Some(drops)
}
