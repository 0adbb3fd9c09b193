//! Reads a recorded bundle with the formats crate.

use std::collections::BTreeMap;

use netmortem_formats::sub_buffer::sub_buffers;
use netmortem_formats::{Capture, Locus, StreamItem};

/// What the sub-buffers of a CPU hold.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Totals {
    /// Records.
    pub records: u64,
    /// Sum of the stored counts of lost events.
    pub lost: u64,
    /// Loss flags without a count: the kernel stores one only where the sub-buffer has room for it.
    pub uncounted: u64,
}

pub fn totals(c: &Capture) -> BTreeMap<u32, Totals> {
    let mut out = BTreeMap::new();
    for s in &c.streams {
        let t: &mut Totals = out.entry(s.cpu).or_default();
        for chunk in &s.chunks {
            let locus = Locus {
                member: chunk.member,
                stream: s.cpu,
                offset: 0,
            };
            let bytes = c.chunk_bytes(chunk).unwrap();
            for page in sub_buffers(s.page, &bytes, locus) {
                for item in page.unwrap().records(s.page, locus) {
                    match item.unwrap() {
                        StreamItem::Record(_) => t.records += 1,
                        StreamItem::Lost(l) => {
                            t.lost += l.count.unwrap_or(0);
                            t.uncounted += u64::from(l.count.is_none());
                        }
                    }
                }
            }
        }
    }
    out
}

pub fn each_record(c: &Capture, mut f: impl FnMut(u64, &[u8])) {
    each_record_of(c, &mut |_, ts, payload| f(ts, payload));
}

/// The same, with the CPU.
pub fn each_record_of(c: &Capture, f: &mut dyn FnMut(u32, u64, &[u8])) {
    for s in &c.streams {
        for chunk in &s.chunks {
            let locus = Locus {
                member: chunk.member,
                stream: s.cpu,
                offset: 0,
            };
            let bytes = c.chunk_bytes(chunk).unwrap();
            for page in sub_buffers(s.page, &bytes, locus) {
                for item in page.unwrap().records(s.page, locus) {
                    if let StreamItem::Record(r) = item.unwrap() {
                        f(s.cpu, r.ts, r.payload);
                    }
                }
            }
        }
    }
}

pub fn payloads(c: &Capture, id: u16) -> Vec<Vec<u8>> {
    let mut out = Vec::new();
    each_record(c, |_, p| {
        if c.endian.u16(p, 0) == Some(id) {
            out.push(p.to_vec());
        }
    });
    out
}

/// Asserts that all events lie between `first` and `last`. `last` was read when tracing was off: a probe that was running then
/// has its time a moment later, in each context of a CPU (task, softirq, interrupt, NMI) one.
pub fn assert_between(c: &Capture, first: i64, last: i64) {
    let mut late = BTreeMap::<u32, u32>::new();
    each_record_of(c, &mut |cpu, ts, _| {
        let at = i64::try_from(ts).unwrap();
        assert!(at >= first, "CPU {cpu}: {} ns too early", first - at);
        if at > last {
            *late.entry(cpu).or_default() += 1;
        }
    });
    assert!(late.values().all(|n| *n <= 4), "{late:?} are later than the end");
}

pub fn timestamps(c: &Capture) -> impl Iterator<Item = i64> {
    let mut out = Vec::new();
    each_record(c, |ts, _| out.push(i64::try_from(ts).unwrap()));
    out.into_iter()
}
