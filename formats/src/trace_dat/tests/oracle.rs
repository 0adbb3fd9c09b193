//! The sample against what trace-cmd printed for it.

use std::collections::BTreeMap;

use super::walk::{Item, items, sample, sample_text};
use crate::{Capture, CpuStats};

/// (instance, event) -> number of records.
pub fn counts(c: &Capture) -> BTreeMap<(String, String), u64> {
    let mut out = BTreeMap::new();
    for s in &c.streams {
        for item in items(c, s) {
            let Item::Record { payload, .. } = item else { continue };
            let id = c.endian.u16(&payload, 0).unwrap();
            let f = c.event_formats.iter().find(|f| f.id == id).unwrap();
            let n: &mut u64 = out.entry((s.instance.clone(), f.name.clone())).or_default();
            *n = n.saturating_add(1);
        }
    }
    out
}

/// counts.txt in the same shape.
pub fn expected_counts() -> BTreeMap<(String, String), u64> {
    let row = |line: &str| {
        let mut parts = line.split('\t');
        let instance = parts.next().unwrap().trim_start_matches('-').to_owned();
        (
            (instance, parts.next().unwrap().to_owned()),
            parts.next().unwrap().parse().unwrap(),
        )
    };
    sample_text("counts.txt").lines().map(row).collect()
}

#[test]
fn counts_by_name_are_those_of_trace_cmd() {
    let c = sample();
    let expected = expected_counts();
    assert_eq!(counts(&c), expected);
    assert_eq!(expected.values().sum::<u64>(), 9123);
}

#[test]
fn the_container_is_read_whole() {
    let c = sample();
    assert_eq!(
        (c.format, c.format_version.as_str(), c.complete),
        ("trace.dat", "7", true)
    );
    assert_eq!(c.event_formats.len(), 2323);
    let hosts = (c.host.kernel_release.as_str(), c.host.machine.as_str(), c.host.cpus);
    assert_eq!(hosts, ("6.18.44-fc-v669", "x86_64", 2));
    let streams: Vec<_> = c
        .streams
        .iter()
        .map(|s| (s.instance.as_str(), s.cpu, s.clock.as_str(), s.page.size))
        .collect();
    assert_eq!(
        streams,
        [
            ("", 0, "mono", 4096),
            ("", 1, "mono", 4096),
            // Recorded on `local`, although its option says `mono`.
            ("dat-small", 0, "", 4096),
            ("dat-small", 1, "", 4096),
            ("dat-net", 0, "mono", 4096),
            ("dat-net", 1, "mono", 4096),
        ]
    );
    // The only thing to say about this file is that clock.
    assert_eq!(c.problems.len(), 1);
    assert_eq!(c.problems[0].member, "BUFFER dat-small");
    // Ten pages each but the last: 23 pages of the top buffer's CPU 0.
    assert_eq!(
        c.streams[0]
            .chunks
            .iter()
            .map(|ch| c.chunk_bytes(ch).unwrap().len())
            .collect::<Vec<_>>(),
        [40960, 40960, 12288]
    );
    assert_eq!(
        c.members[c.streams[5].chunks[0].member.0 as usize].name,
        "BUFFER dat-net cpu 1"
    );
    assert!(c.comms.contains(&(16268, "iperf3".to_owned())) && c.comms.contains(&(15, "rcu_preempt".to_owned())));
    assert_eq!(c.comms.len(), 10);
    assert!(c.printk_formats.starts_with(b"0x"));
    assert_eq!(
        c.kallsyms
            .text()
            .split(|b| *b == b'\n')
            .filter(|l| !l.is_empty())
            .count(),
        2499
    );
}

/// drops.txt: `instance: CPU:n [k EVENTS DROPPED]`, or without `k`.
fn expected_drops() -> BTreeMap<(String, u32), Item> {
    let row = |line: &str| {
        let (instance, rest) = line.split_once(": CPU:").unwrap();
        let (cpu, rest) = rest.split_once(" [").unwrap();
        let number = rest.strip_suffix("EVENTS DROPPED]").unwrap().trim();
        let count = (!number.is_empty()).then(|| number.parse().unwrap());
        ((instance.to_owned(), cpu.parse().unwrap()), Item::Lost(count))
    };
    sample_text("drops.txt").lines().map(row).collect()
}

#[test]
fn totals_are_those_of_the_ring_buffers() {
    let c = sample();
    // read_events: what trace-cmd took out; overrun: what had been overwritten before.
    let stats: Vec<_> = c
        .cpu_stats
        .iter()
        .map(|s: &CpuStats| (s.instance.as_str(), s.cpu, s.read_events, s.overrun, s.entries))
        .collect();
    assert_eq!(
        stats,
        [
            ("", 0, 1419, 0, 0),
            ("", 1, 1576, 0, 0),
            ("dat-small", 0, 262, 128, 0),
            ("dat-small", 1, 321, 395, 0),
            ("dat-net", 0, 2578, 0, 0),
            ("dat-net", 1, 2967, 0, 0),
        ]
    );
    let drops = expected_drops();
    assert_eq!(drops.len(), 2);
    for s in &c.streams {
        let all = items(&c, s);
        let n = all.iter().filter(|i| matches!(i, Item::Record { .. })).count() as u64;
        let stat = c
            .cpu_stats
            .iter()
            .find(|t| (&t.instance, t.cpu) == (&s.instance, s.cpu))
            .unwrap();
        assert_eq!(n, stat.read_events, "{} cpu {}", s.instance, s.cpu);
        let lost: Vec<_> = all
            .iter()
            .enumerate()
            .filter(|(_, i)| matches!(i, Item::Lost(_)))
            .collect();
        // Before the first record, and nowhere else; `CPU:1 [EVENTS DROPPED]` has no number.
        let expected: Vec<(usize, &Item)> = drops
            .get(&(s.instance.clone(), s.cpu))
            .map(|l| (0, l))
            .into_iter()
            .collect();
        assert_eq!(lost, expected, "{} cpu {}", s.instance, s.cpu);
    }
}
