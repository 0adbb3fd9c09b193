//! Real sub-buffers against the `trace` text and the `stats` that the kernel itself gave for them.

use super::recording::Recording;
use crate::event_format::{EventFormat, FieldFormat, FieldKind, IntAccess, StrAccess};
use crate::item::{Locus, RawRecord, StreamItem};
use crate::sub_buffer::sub_buffers;

const RELEASE: &str = "6.18.44";

#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    records: u64,
    lost: u64,
    unknown_losses: u64,
    /// Values of fields that were compared with the text.
    integers: u64,
    texts: u64,
    symbols: u64,
}

#[test]
fn stored_recording_is_what_the_kernel_printed() {
    let seen = compare(&Recording::stored(RELEASE, "loopback-udp"));
    assert_eq!((seen.records, seen.lost, seen.unknown_losses), (320, 0, 0));
    // Counted in the text by another program: no value may silently stop being compared.
    assert_eq!((seen.integers, seen.texts, seen.symbols), (778, 146, 8));
}

#[test]
fn stored_overrun_is_counted_to_the_unit() {
    let seen = compare(&Recording::stored(RELEASE, "overrun"));
    assert_eq!((seen.records, seen.lost, seen.unknown_losses), (302, 642, 0));
}

/// The first sub-buffer is so full that the kernel could not store its number.
#[test]
fn stored_overrun_without_a_number_is_unknown() {
    let seen = compare(&Recording::stored(RELEASE, "overrun-unknown"));
    assert_eq!((seen.records, seen.lost, seen.unknown_losses), (229, 0, 1));
}

#[test]
fn live_recording_is_what_the_kernel_printed() {
    match Recording::live("whole", 512, None, 200) {
        Ok(r) => {
            let seen = compare(&r);
            assert_eq!((seen.lost, seen.unknown_losses), (0, 0));
            // Six events at least for each datagram, whatever this kernel lacks.
            assert!(
                seen.records >= 1200 && seen.symbols >= 40 && seen.integers >= 1200,
                "{seen:?}"
            );
        }
        Err(why) => println!("skipped: {why}"),
    }
}

/// `buffer_subbuf_size_kb`, kernels since 6.8.
#[test]
fn live_recording_with_larger_sub_buffers() {
    for sub_kib in [8, 16, 64] {
        match Recording::live(&format!("sub{sub_kib}"), 1024, Some(sub_kib), 200) {
            Ok(r) => {
                let seen = compare(&r);
                assert_eq!((seen.lost, seen.unknown_losses), (0, 0));
                assert!(seen.records >= 1200, "{seen:?}");
                let raw = r.cpus.values().map(|(raw, _)| raw.len());
                assert!(
                    raw.max().unwrap() >= sub_kib as usize * 1024,
                    "at least one whole sub-buffer"
                );
            }
            Err(why) => println!("skipped: {why}"),
        }
    }
}

#[test]
fn live_overrun_is_counted_to_the_unit() {
    match Recording::live("overrun", 16, None, 400) {
        Ok(r) => {
            let seen = compare(&r);
            assert!(seen.lost > 0 || seen.unknown_losses > 0, "{seen:?}");
        }
        Err(why) => println!("skipped: {why}"),
    }
}

/// Compares everything of the recording; what was compared.
fn compare(r: &Recording) -> Seen {
    let mut seen = Seen::default();
    for (cpu, (raw, stats)) in &r.cpus {
        let lines: Vec<Line> = r.trace.lines().filter_map(line).filter(|l| l.cpu == *cpu).collect();
        let mut lines = lines.iter();
        let (mut records, mut lost, mut unknown) = (0, 0, 0);
        for sub in sub_buffers(r.layout, raw, Locus::default()) {
            for item in sub.unwrap().records(r.layout, Locus::default()) {
                match item.unwrap() {
                    StreamItem::Record(record) => {
                        records += 1;
                        compare_record(r, &record, lines.next().expect("a line for every record"), &mut seen);
                    }
                    StreamItem::Lost(l) => match l.count {
                        Some(n) => lost += n,
                        None => unknown += 1,
                    },
                }
            }
        }
        assert_eq!(lines.count(), 0, "lines without a record on CPU {cpu}");
        assert_eq!(records, stat(stats, "entries"), "CPU {cpu}");
        if unknown == 0 {
            assert_eq!(lost, stat(stats, "overrun"), "CPU {cpu}");
        }
        seen.records += records;
        seen.lost += lost;
        seen.unknown_losses += unknown;
    }
    seen
}

fn stat(stats: &str, name: &str) -> u64 {
    let line = stats.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(": "));
    line.unwrap().trim().parse().unwrap()
}

#[derive(Debug)]
struct Line<'a> {
    pid: i64,
    cpu: u32,
    /// `d.s2.`
    flags: &'a str,
    usecs: u64,
    event: String,
    body: &'a str,
}

/// `python3-11452   [001] b....  2367.639072: net_dev_queue: dev=lo ...`; syscalls are `sys_x(` and `sys_x -> `.
fn line(text: &str) -> Option<Line<'_>> {
    if text.starts_with('#') || text.trim().is_empty() {
        return None;
    }
    let (task, rest) = text.split_once(" [").unwrap();
    let (cpu, rest) = rest.split_once("] ").unwrap();
    let (flags, rest) = rest.split_once(' ').unwrap();
    let (time, rest) = rest.trim_start().split_once(": ").unwrap();
    let (seconds, micros) = time.split_once('.').unwrap();
    let (event, body) = match (rest.find('('), rest.find(" -> "), rest.find(": ")) {
        (Some(i), _, _) if rest.starts_with("sys_") => (rest[..i].replacen("sys_", "sys_enter_", 1), &rest[i + 1..]),
        (_, Some(i), _) if rest.starts_with("sys_") => (rest[..i].replacen("sys_", "sys_exit_", 1), &rest[i..]),
        (_, _, Some(i)) => (rest[..i].to_owned(), &rest[i + 2..]),
        _ => panic!("{text}"),
    };
    Some(Line {
        pid: task.trim_end().rsplit_once('-').unwrap().1.parse().unwrap(),
        cpu: cpu.parse().unwrap(),
        flags,
        usecs: seconds.parse::<u64>().unwrap() * 1_000_000 + micros.parse::<u64>().unwrap(),
        event,
        body,
    })
}

fn compare_record(r: &Recording, record: &RawRecord, line: &Line, seen: &mut Seen) {
    let endian = r.layout.endian;
    let id = endian.u16(record.payload, 0).unwrap();
    let format = r
        .formats
        .iter()
        .find(|f| f.id == id)
        .unwrap_or_else(|| panic!("no format of ID {id}: {line:?}"));
    let get = |name: &str| {
        IntAccess::bind(format, name, endian)
            .unwrap()
            .u64(record.payload)
            .unwrap()
    };
    assert_eq!(format.name, line.event, "{line:?}");
    // ns2usecs() rounds.
    assert_eq!((record.ts + 500) / 1000, line.usecs, "{line:?}");
    assert_eq!(get("common_pid") as i64, line.pid, "{line:?}");
    let flags = get("common_flags");
    let context = match (flags & 0x40 != 0, flags & 0x08 != 0, flags & 0x10 != 0) {
        (true, true, _) => 'Z',
        (true, false, _) => 'z',
        (false, true, true) => 'H',
        (false, true, false) => 'h',
        (false, false, true) => 's',
        (false, false, false) => '.',
    };
    assert_eq!(line.flags.chars().nth(2), Some(context), "{line:?}");
    let depth = get("common_preempt_count") & 0xf;
    let printed = line.flags.chars().nth(3).map(|c| c.to_digit(16).unwrap_or(0).into());
    assert_eq!(printed, Some(depth), "{line:?}");
    for field in &format.fields {
        compare_field(r, format, field, record.payload, line, seen);
    }
}

fn compare_field(
    r: &Recording,
    format: &EventFormat,
    field: &FieldFormat,
    payload: &[u8],
    line: &Line,
    seen: &mut Seen,
) {
    let endian = r.layout.endian;
    if let Some(access) = StrAccess::bind(format, &field.name, endian) {
        let text = String::from_utf8(access.bytes(payload).unwrap().to_vec()).unwrap();
        assert!(line.body.contains(&text), "{} {text:?}: {line:?}", field.name);
        seen.texts += 1;
        return;
    }
    if field.kind != FieldKind::Int {
        return;
    }
    let value = IntAccess::bind(format, &field.name, endian)
        .unwrap()
        .u64(payload)
        .unwrap();
    let Some(printed) = printed_value(line, &field.name) else {
        return;
    };
    if let Some((name, offset)) = printed.split_once("+0x") {
        // %pS: symbol+0xoffset/0xsize
        let offset = u64::from_str_radix(offset.split('/').next().unwrap(), 16).unwrap();
        assert_eq!(r.kallsyms.resolve(value), Some((name, offset)), "{line:?}");
        seen.symbols += 1;
    } else if let Some(hex) = printed.strip_prefix("0x") {
        // As wide as the type that print fmt casts to.
        let printed = u64::from_str_radix(hex, 16).unwrap();
        assert!(
            printed == value || printed == value & 0xffff_ffff,
            "{} {value:#x}: {line:?}",
            field.name
        );
        seen.integers += 1;
    } else if let (Ok(printed), false) = (printed.parse::<i64>(), field.declaration.contains('*')) {
        assert_eq!(printed, value as i64, "{}: {line:?}", field.name);
        seen.integers += 1;
    }
    // Else a symbolic name or a hashed pointer.
}

/// What stands behind `name=`, `name: ` or (system calls' results) ` -> `.
fn printed_value<'a>(line: &Line<'a>, name: &str) -> Option<&'a str> {
    let after = if name == "ret" {
        line.body.strip_prefix(" -> ")?
    } else {
        let at = |key: &str| {
            let mut all = line
                .body
                .match_indices(key)
                .filter(|(i, _)| line.body[..*i].ends_with([' ', '(']) || *i == 0);
            all.next().map(|(i, _)| &line.body[i + key.len()..])
        };
        at(&format!("{name}=")).or_else(|| at(&format!("{name}: ")))?
    };
    after.split([',', ' ', ')']).next()
}
