//! The sample against what perf script printed for it.

use std::collections::BTreeMap;

use super::*;
use crate::Endian;
use crate::event_format::{EventFormat, FieldKind, IntAccess};

/// One line of perf script: tid, CPU, ns, event, text.
struct Line {
    tid: i32,
    cpu: u32,
    ts: u64,
    event: String,
    text: String,
}

fn script(name: &str) -> Vec<Line> {
    let line = |l: &str| {
        let (head, rest) = l.split_once(']').unwrap();
        let (tid, cpu) = head.split_once('[').unwrap();
        let (time, rest) = rest.trim_start().split_once(": ").unwrap();
        let (secs, ns) = time.split_once('.').unwrap();
        let (event, text) = rest.trim_start().split_once(": ").unwrap();
        assert_eq!(ns.len(), 9);
        Line {
            tid: tid.trim().parse().unwrap(),
            cpu: cpu.parse().unwrap(),
            ts: secs.parse::<u64>().unwrap() * 1_000_000_000 + ns.parse::<u64>().unwrap(),
            event: event.to_owned(),
            text: text.to_owned(),
        }
    };
    sample_text(name).lines().map(line).collect()
}

fn counts(name: &str) -> BTreeMap<String, u64> {
    let text = sample_text(name);
    let lines = text.lines().map(|l| l.split_once(' ').unwrap());
    lines.map(|(n, k)| (n.to_owned(), k.parse().unwrap())).collect()
}

fn check(file: &str, name: &str) -> Capture {
    let c = open(sample(file));
    let all = read(&c);
    assert_eq!(all.errors, []);
    let formats: BTreeMap<u16, &EventFormat> = c.event_formats.iter().map(|f| (f.id, f)).collect();
    let of = |e: &Event| formats[&c.endian.u16(&e.payload, 0).unwrap()];

    // Counts by event.
    let mut have: BTreeMap<String, u64> = BTreeMap::new();
    for e in &all.events {
        *have.entry(of(e).key()).or_default() += 1;
    }
    let mut want = counts(&format!("{name}.counts.txt"));
    let (total, others) = (want.remove("total").unwrap(), want.remove("cpu-clock").unwrap_or(0));
    assert_eq!(have, want);
    assert_eq!(all.events.len() as u64, total - others);
    if others > 0 {
        assert!(
            messages(&c).contains(&format!("{others} samples are not used")),
            "{}",
            messages(&c)
        );
    }

    // Every single one: time, CPU, task, event.
    let lines = script(&format!("{name}.script.zst"));
    let pid = |e: &Event| {
        IntAccess::bind(of(e), "common_pid", Endian::Little)
            .unwrap()
            .i64(&e.payload)
    };
    let mut ours: Vec<_> = all
        .events
        .iter()
        .map(|e| (e.ts, e.cpu, of(e).key(), pid(e).unwrap() as i32))
        .collect();
    let mut theirs: Vec<_> = lines.iter().map(|l| (l.ts, l.cpu, l.event.clone(), l.tid)).collect();
    ours.sort();
    theirs.sort();
    assert_eq!(ours.len(), theirs.len());
    for (our, their) in ours.iter().zip(&mut theirs) {
        // The sample of a task that is gone has no number of it; its event has.
        if their.3 == -1 {
            their.3 = our.3;
        }
    }
    let other = ours.iter().zip(&theirs).find(|(a, b)| a != b);
    assert_eq!(other, None);

    // Every field that perf prints as a number under its own name.
    let mut by_place: BTreeMap<(u64, u32, String), Vec<&Event>> = BTreeMap::new();
    for e in &all.events {
        by_place.entry((e.ts, e.cpu, of(e).key())).or_default().push(e);
    }
    let mut compared: BTreeMap<String, u64> = BTreeMap::new();
    for l in &lines {
        let [event] = by_place[&(l.ts, l.cpu, l.event.clone())].as_slice() else {
            continue;
        };
        let format = of(event);
        for (key, value) in l.text.split_whitespace().filter_map(|w| w.split_once('=')) {
            let value = value.trim_end_matches(',');
            let number = match value.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16).ok(),
                None => value.parse::<i64>().ok().map(i64::cast_unsigned),
            };
            let (Some(field), Some(number)) = (format.field(key), number) else {
                continue;
            };
            // Printed as hex without 0x, or as a name.
            if field.kind != FieldKind::Int
                || ["protocol", "vlan_proto", "gso_type", "mark", "sock_cookie"].contains(&key)
            {
                continue;
            }
            let access = IntAccess::bind(format, key, Endian::Little).unwrap();
            let have = access.i64(&event.payload).unwrap().cast_unsigned();
            assert_eq!(have, number, "{} {key} at {}: {}", l.event, l.ts, l.text);
            *compared.entry(l.event.clone()).or_default() += 1;
        }
    }
    assert!(compared.len() >= 14, "{compared:?}");

    // Losses.
    let mut lost: BTreeMap<u32, u64> = BTreeMap::new();
    for (cpu, n) in &all.lost {
        *lost.entry(*cpu).or_default() += n.unwrap();
    }
    let text = sample_text(&format!("{name}.lost.txt"));
    let want = text.lines().map(|l| l.split_once(' ').unwrap());
    let want: BTreeMap<u32, u64> = want.map(|(c, n)| (c.parse().unwrap(), n.parse().unwrap())).collect();
    assert_eq!(lost, want);
    c
}

#[test]
fn a_compressed_file_reads_as_perf_reads_it() {
    let c = check("perf.data", "perf");
    assert!(c.complete, "{}", messages(&c));
    assert_eq!(messages(&c), "");
    assert_eq!((c.format, c.format_version.as_str()), ("perf.data", "file"));
    assert_eq!(
        (c.host.kernel_release.as_str(), c.host.machine.as_str()),
        ("6.18.44-fc-v669", "x86_64")
    );
    assert_eq!(c.host.cpus, 2);
    assert!(c.streams.iter().all(|s| s.clock == "mono"));
    assert_eq!(c.streams.iter().map(|s| s.cpu).collect::<Vec<_>>(), [0, 1]);
    let text = sample_text("comms.txt");
    for (tid, name) in text.lines().map(|l| l.split_once(' ').unwrap()) {
        let tid: i32 = tid.parse().unwrap();
        assert_eq!(
            c.comms.iter().find(|(t, _)| *t == tid).map(|(_, n)| n.as_str()),
            Some(name)
        );
    }
    let [pair] = c.clock_pairs.as_slice() else {
        panic!("{:?}", c.clock_pairs)
    };
    // Printed by perf report --header-only: reference time.
    let command = c.manifest.as_ref().unwrap().pointer("/recorder/command_line").unwrap();
    assert_eq!(command.get(1).unwrap(), "record");
    let events = c.manifest.as_ref().unwrap().pointer("/plan/events").unwrap();
    assert!(
        events
            .as_array()
            .unwrap()
            .contains(&serde_json::json!({"name": "net:net_dev_queue"}))
    );
    let first = read(&c).events.iter().map(|e| e.ts).min().unwrap();
    let before_first = first as i64 - pair.monotonic_ns;
    assert!((0..60_000_000_000).contains(&before_first), "{before_first}");
}

#[test]
fn a_pipe_with_losses_and_another_event_reads_as_perf_reads_it() {
    let c = check("mixed.pipe.zst", "mixed");
    assert_eq!(c.format_version, "pipe");
    assert!(c.complete, "{}", messages(&c));
}
