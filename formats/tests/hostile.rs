//! Damaged input: recorded sub-buffers, format texts, print fmts and symbol lists with random changes. Nothing may panic,
//! run on, or give bytes that are not there. The changes come from a fixed seed; `NETMORTEM_HOSTILE_SEED` gives another.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // tests: a panic is their way to fail

#[path = "hostile/mutate.rs"]
mod mutate;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use mutate::Random;
use netmortem_formats::event_format::{BytesAccess, EventFormat, FieldKind, IntAccess, StrAccess, ValueTable};
use netmortem_formats::item::{Locus, StreamItem};
use netmortem_formats::kallsyms::Kallsyms;
use netmortem_formats::sub_buffer::{PageLayout, sub_buffers};
use netmortem_formats::{Endian, FormatErrorKind};

/// A run ends after this long even when a slow machine has not done all rounds.
const MOST: Duration = Duration::from_secs(8);

fn testdata(path: &str) -> Vec<u8> {
    std::fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata").join(path)).unwrap()
}

fn format_texts() -> Vec<(String, Vec<u8>)> {
    let mut out = Vec::new();
    for folder in ["6.1.192", "6.18.44", "other"] {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("testdata/format")
            .join(folder);
        let mut paths: Vec<PathBuf> = std::fs::read_dir(root).unwrap().map(|e| e.unwrap().path()).collect();
        paths.sort();
        out.extend(paths.iter().map(|p| {
            (
                p.file_name().unwrap().to_string_lossy().into_owned(),
                std::fs::read(p).unwrap(),
            )
        }));
    }
    out
}

/// Calls `round` until `rounds` or [`MOST`]; fails, with the round's number, when one takes seconds.
fn run(rounds: u64, mut round: impl FnMut(&mut Random)) {
    let seed = std::env::var("NETMORTEM_HOSTILE_SEED")
        .ok()
        .and_then(|s| s.parse().ok())
        .unwrap_or(0x6e65_746d);
    let mut random = Random::new(seed);
    let start = Instant::now();
    for n in 0..rounds {
        let before = Instant::now();
        round(&mut random);
        assert!(
            before.elapsed() < Duration::from_secs(5),
            "round {n} of seed {seed} took {:?}",
            before.elapsed()
        );
        if start.elapsed() > MOST {
            println!("stopped after {n} of {rounds} rounds");
            break;
        }
    }
}

/// Walks a chunk and checks what must hold for any bytes; how many records, losses and errors there were.
fn walk(layout: PageLayout, chunk: &[u8]) -> (usize, usize, usize) {
    let (mut records, mut losses, mut errors, mut payload_bytes) = (0, 0, 0, 0);
    let locus = Locus {
        offset: u64::MAX - 5,
        ..Locus::default()
    };
    let mut subs = sub_buffers(layout, chunk, locus);
    for sub in subs.by_ref() {
        let sub = match sub {
            Ok(s) => s,
            Err(e) => {
                assert!(
                    matches!(e.kind, FormatErrorKind::BadLength | FormatErrorKind::Truncated),
                    "{e}"
                );
                errors += 1;
                continue;
            }
        };
        let mut items = sub.records(layout, locus);
        let (mut first, mut ended) = (true, false);
        for item in items.by_ref() {
            assert!(!ended, "an item behind an error");
            match item {
                Ok(StreamItem::Record(r)) => {
                    records += 1;
                    payload_bytes += r.payload.len();
                    assert_eq!(
                        chunk.get(r.offset as usize..).unwrap().get(..r.payload.len()),
                        Some(r.payload)
                    );
                }
                Ok(StreamItem::Lost(l)) => {
                    assert!(first, "a loss behind a record");
                    assert_eq!(l.offset, sub.offset);
                    losses += 1;
                }
                Err(_) => {
                    ended = true;
                    errors += 1;
                }
            }
            first = false;
        }
        assert!(items.next().is_none(), "fused");
    }
    assert!(subs.next().is_none(), "fused");
    assert!(payload_bytes + 4 * records <= chunk.len(), "records overlap");
    (records, losses, errors)
}

#[test]
fn damaged_sub_buffers() {
    let header = testdata("pages/6.18.44/header_page");
    let layout = PageLayout::parse(&header, Endian::Little).unwrap();
    let originals =
        ["loopback-udp", "overrun", "overrun-unknown"].map(|n| testdata(&format!("pages/6.18.44/{n}/cpu1.raw")));
    assert_eq!(
        originals.each_ref().map(|o| walk(layout, o)),
        [(320, 0, 0), (302, 1, 0), (229, 1, 0)],
        "undamaged"
    );
    let (mut records, mut errors) = (0, 0);
    run(200_000, |random| {
        let mut chunk = random.pick(&originals).clone();
        random.damage(&mut chunk);
        let mut layout = layout;
        if random.below(8) == 0 {
            layout = layout.with_size(*random.pick(&[0, 1, 15, 16, 17, 100, 4092, 8192, 1 << 27, u32::MAX]));
        }
        if random.below(8) == 0 {
            layout.endian = Endian::Big;
        }
        if random.below(8) == 0 {
            (layout.commit_size, layout.data_offset) = (4, 12);
        }
        let (r, _, e) = walk(layout, &chunk);
        (records, errors) = (records + r, errors + e);
    });
    println!("{records} records, {errors} errors");
    assert!(records > 0 && errors > 0, "the changes neither spared nor hit anything");
}

#[test]
fn random_bytes_as_sub_buffers() {
    let layout = PageLayout::parse(&testdata("pages/6.18.44/header_page"), Endian::Little).unwrap();
    run(20_000, |random| {
        let mut chunk: Vec<u8> = (0..random.below(9000)).map(|_| random.next() as u8).collect();
        // A commit that fits, or every sub-buffer would end there.
        for page in chunk.chunks_mut(4096).filter(|p| p.len() > 16) {
            let commit = random.below(4081) as u32 | (random.next() as u32 & 3 << 30);
            page[8..12].copy_from_slice(&commit.to_le_bytes());
        }
        walk(layout, &chunk);
    });
}

#[test]
fn damaged_header_pages() {
    let header = testdata("pages/6.18.44/header_page");
    run(100_000, |random| {
        let mut text = header.clone();
        random.damage_text(&mut text);
        if let Ok(l) = PageLayout::parse(&text, Endian::Little) {
            assert!(l.data_offset < l.size && l.size < 1 << 27 && [4, 8].contains(&l.commit_size));
            assert!(l.timestamp_offset + 8 <= l.data_offset && l.commit_offset + l.commit_size <= l.data_offset);
        }
    });
}

/// Parses a text and uses everything of it on a payload; whether it was accepted.
fn use_format(text: &[u8], payload: &[u8]) -> bool {
    let Ok(format) = EventFormat::parse("system", text) else {
        return false;
    };
    assert!(format.fields.len() + format.common.len() <= text.len() / 10);
    for field in format.common.iter().chain(&format.fields) {
        for endian in [Endian::Little, Endian::Big] {
            if let Some(int) = IntAccess::bind(&format, &field.name, endian) {
                let _ = (int.u64(payload), int.i64(payload));
            }
            if let Some(text) = StrAccess::bind(&format, &field.name, endian).and_then(|a| a.bytes(payload)) {
                assert!(!text.contains(&0));
            }
            let bytes = BytesAccess::bind(&format, &field.name, endian).unwrap().bytes(payload);
            assert!(bytes.is_none_or(|b| b.len() <= payload.len()));
        }
        if let FieldKind::Array { size, count, .. } = field.kind {
            assert!(
                size.checked_mul(count).is_some_and(|n| n <= field.size || count == 0),
                "{field:?}"
            );
        }
        if let Some(table) = ValueTable::of(&format, &field.name) {
            assert!(table.entries.len() <= text.len());
            for value in [0, 1, 2, 0x8000_0000, u64::MAX] {
                let _ = table.name(value);
            }
        }
    }
    true
}

#[test]
fn damaged_format_texts() {
    let texts = format_texts();
    let mut accepted = 0;
    run(100_000, |random| {
        let mut text = random.pick(&texts).1.clone();
        // Most of a text can be its print fmt: look at the fields too.
        if random.below(2) == 0 {
            let fields = text.windows(10).position(|w| w == b"print fmt:").unwrap_or(text.len());
            text.truncate(fields);
        }
        random.damage_text(&mut text);
        let payload: Vec<u8> = (0..random.below(200)).map(|_| random.next() as u8).collect();
        accepted += u32::from(use_format(&text, &payload));
    });
    println!("{accepted} accepted");
    assert!(accepted > 0);
}

#[test]
fn damaged_print_fmts() {
    let texts = format_texts();
    let with_table: Vec<EventFormat> = texts
        .iter()
        .map(|(name, t)| EventFormat::parse(name, t).unwrap())
        .filter(|f| f.print_fmt.contains("__print_"))
        .collect();
    assert!(with_table.len() > 20);
    let mut tables = 0;
    run(100_000, |random| {
        let mut format = random.pick(&with_table).clone();
        let mut text = std::mem::take(&mut format.print_fmt).into_bytes();
        random.damage_text(&mut text);
        format.print_fmt = String::from_utf8_lossy(&text).into_owned();
        for field in &format.fields {
            if let Some(t) = ValueTable::of(&format, &field.name) {
                tables += 1;
                let value = random.next();
                let _ = (t.name(value), t.name(0));
            }
        }
    });
    println!("{tables} tables");
    assert!(tables > 0);
}

/// Texts made to be slow: nesting without end, helpers without end, strings without end, a megabyte each.
#[test]
fn print_fmts_that_want_time() {
    let big = |unit: &str| unit.repeat((1 << 20) / unit.len());
    let tails = [
        "(",
        "((1<<",
        "__print_flags(",
        "__print_symbolic(REC->y & (",
        "{ 1, \"a\" },",
        "{ 1, \"",
        "\\\"",
        "{ ((((",
        "-",
        "~",
        "1|",
        "{",
        "\"\"",
    ];
    for tail in tails {
        for head in [
            "",
            "__print_symbolic(REC->x, ",
            "__print_flags(REC->x, \"|\", { ",
            "__print_symbolic((u8)",
        ] {
            let mut format = EventFormat {
                print_fmt: format!("{head}{}", big(tail)),
                ..EventFormat::default()
            };
            let start = Instant::now();
            let table = ValueTable::of(&format, "x");
            assert!(
                start.elapsed() < Duration::from_secs(10),
                "{head}{tail}...: {:?}",
                start.elapsed()
            );
            if let Some(t) = table {
                assert!(t.entries.len() <= format.print_fmt.len());
                let _ = t.name(u64::MAX);
            }
            format.print_fmt.clear();
        }
    }
}

#[test]
fn damaged_symbols() {
    let original = testdata("pages/6.18.44/kallsyms");
    run(50_000, |random| {
        let mut text = original.clone();
        random.damage_text(&mut text);
        let k = Kallsyms::new(text.clone());
        for _ in 0..4 {
            let address = if random.below(2) == 0 {
                random.next()
            } else {
                0xffff_ffff_8000_0000 | random.next() >> 34
            };
            if let Some((name, distance)) = k.resolve(address) {
                assert!(!name.is_empty() && name.len() < text.len() && distance < 1 << 20);
            }
        }
    });
}
