//! The records of a recording, one after the other, and what a CPU that was away for a while recorded.

use std::path::Path;

use netmortem_formats::Capture;

use super::{lost, numbers, open};

/// Every record of a recording that lost none: CPU, time, payload.
pub fn each_record(c: &Capture, mut f: impl FnMut(u32, i64, &[u8])) {
    each_item(c, |cpu, record| {
        let (at, payload) = record.unwrap_or_else(|| panic!("loss on CPU {cpu}"));
        f(cpu, at, payload);
    });
}

/// Every record of a CPU with its time; `None` where events are missing.
pub fn each_item(c: &Capture, mut f: impl FnMut(u32, Option<(i64, &[u8])>)) {
    for stream in &c.streams {
        for chunk in &stream.chunks {
            let locus = netmortem_formats::Locus::default();
            let bytes = c.chunk_bytes(chunk).unwrap();
            for page in netmortem_formats::sub_buffer::sub_buffers(stream.page, &bytes, locus) {
                for item in page.unwrap().records(stream.page, locus) {
                    match item.unwrap() {
                        netmortem_formats::StreamItem::Record(r) => {
                            f(stream.cpu, Some((i64::try_from(r.ts).unwrap(), r.payload)));
                        }
                        _ => f(stream.cpu, None),
                    }
                }
            }
        }
    }
}

/// A recorder of an idle machine is woken by batches, or looks every 20 ms: where the kernel wakes it for every event (before 6.1), its own
/// calls would wake it a thousand times a second on each CPU.
pub fn sleeps(dir: &Path) {
    let (c, _, _) = open(&dir.join("next.nmb"));
    let splice = c
        .event_formats
        .iter()
        .find(|f| f.name == "sys_enter_splice")
        .unwrap()
        .id;
    let (mut first, mut last, mut calls) = (i64::MAX, 0, 0);
    each_record(&c, |_, at, payload| {
        (first, last) = (first.min(at), last.max(at));
        calls += i64::from(c.endian.u16(payload, 0) == Some(splice));
    });
    let cpus = c.streams.iter().map(|s| s.cpu).max().map_or(1, |n| i64::from(n) + 1);
    // A look may take two calls; some at the begin and the end.
    let most = cpus * (2 * (last - first) / 20_000_000 + 20);
    assert!(
        calls <= most,
        "{calls} reads in {} ms, {most} at most",
        (last - first) / 1_000_000
    );
}

/// CPU 1 was away for a while: it recorded before and after, and not meanwhile.
pub fn went_and_came(dir: &Path) {
    let (c, _, end) = open(&dir.join("hotplug.nmb"));
    let times = numbers(dir, "hotplug");
    assert_eq!(lost(&end), 0, "{:?}", end.cpu_stats);
    let (mut before, mut meanwhile, mut after) = ([0u32; 2], [0u32; 2], [0u32; 2]);
    each_record(&c, |cpu, at, _| {
        let part = match at {
            t if t < times["gone"] => &mut before,
            t if t < times["back"] => &mut meanwhile,
            _ => &mut after,
        };
        part[usize::from(cpu == 1)] += 1;
    });
    assert!(
        before.iter().chain(&after).all(|n| *n > 50),
        "{before:?} {meanwhile:?} {after:?}"
    );
    assert!(
        meanwhile[0] > 50 && meanwhile[1] == 0,
        "{before:?} {meanwhile:?} {after:?}"
    );
}
