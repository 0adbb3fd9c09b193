//! The same recording in every variant gives the same capture.

use std::process::Command;

use super::parts::{made_up, of_sample, page};
use super::walk::{Item, each, items, open, sample, sample_path};
use super::writer::{Buffer, Code};
use crate::event_format::IntAccess;
use crate::{Capture, Endian, StreamItem};

/// Everything but the container's own places agrees.
fn assert_same(c: &Capture, expected: &Capture, what: &str) {
    assert_eq!(
        c.problems.iter().map(|p| &p.member).collect::<Vec<_>>(),
        ["BUFFER dat-small"],
        "{what}: {:?}",
        c.problems
    );
    assert!(c.complete, "{what}");
    assert_eq!(c.event_formats, expected.event_formats, "{what}");
    assert_eq!(c.comms, expected.comms, "{what}");
    assert_eq!(c.kallsyms.text(), expected.kallsyms.text(), "{what}");
    assert_eq!(c.printk_formats, expected.printk_formats, "{what}");
    assert_eq!(c.cpu_stats, expected.cpu_stats, "{what}");
    assert_eq!(c.host, expected.host, "{what}");
    assert_eq!(c.streams.len(), expected.streams.len(), "{what}");
    for s in &expected.streams {
        let own = c
            .streams
            .iter()
            .find(|o| (&o.instance, o.cpu) == (&s.instance, s.cpu))
            .unwrap();
        assert_eq!(
            (&own.clock, own.page),
            (&s.clock, s.page),
            "{what} {} cpu {}",
            s.instance,
            s.cpu
        );
        assert_eq!(items(c, own), items(expected, s), "{what} {} cpu {}", s.instance, s.cpu);
    }
}

#[test]
fn every_variant_is_the_same_recording() {
    let (parts, expected) = (of_sample(), sample());
    let files = [
        ("v6", parts.v6()),
        ("v7 none", parts.v7(Code::None)),
        ("v7 zlib", parts.v7(Code::Zlib)),
        ("v7 zstd", parts.v7(Code::Zstd)),
    ];
    for (what, file) in files {
        let c = open(file.bytes);
        assert_eq!(c.format_version, what[1..2]);
        assert_same(&c, &expected, what);
    }
}

/// trace-cmd with these arguments; `None` (and why, on the terminal) when it is not there or refuses.
fn trace_cmd(args: &[&str]) -> Option<Vec<u8>> {
    match Command::new("trace-cmd").args(args).output() {
        Ok(o) if o.status.success() => Some(o.stdout),
        Ok(o) => {
            println!("skipped: trace-cmd {args:?}: {}", String::from_utf8_lossy(&o.stderr));
            None
        }
        Err(e) => {
            println!("skipped: no trace-cmd: {e}");
            None
        }
    }
}

#[test]
fn what_trace_cmd_converts_is_the_same_recording() {
    let expected = sample();
    let dir = std::env::temp_dir().join(format!("netmortem-convert-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let input = sample_path("trace.dat");
    for (version, compression) in [("6", "none"), ("7", "none"), ("7", "zstd")] {
        let output = dir.join(format!("{version}-{compression}.dat"));
        let (input, output) = (input.to_str().unwrap(), output.to_str().unwrap());
        let mut args = vec!["convert", "-i", input, "-o", output, "--file-version", version];
        if version == "7" {
            args.extend(["--compression", compression]);
        }
        if trace_cmd(&args).is_some() {
            let c = open(std::fs::read(output).unwrap());
            assert_same(&c, &expected, &format!("converted to {version} {compression}"));
        }
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

/// Our writer makes files that trace-cmd reads as it reads the original: what the other tests build on is the format.
#[test]
fn trace_cmd_reads_what_the_test_writer_writes() {
    let Some(expected) = trace_cmd(&["report", "-t", sample_path("trace.dat").to_str().unwrap()]) else {
        return;
    };
    let parts = of_sample();
    for (name, file) in [
        ("v6", parts.v6()),
        ("v7", parts.v7(Code::None)),
        ("v7zstd", parts.v7(Code::Zstd)),
    ] {
        let path = std::env::temp_dir().join(format!("netmortem-written-{name}-{}.dat", std::process::id()));
        std::fs::write(&path, &file.bytes).unwrap();
        let report = trace_cmd(&["report", "-t", path.to_str().unwrap()]);
        std::fs::remove_file(&path).unwrap();
        assert!(report.is_some_and(|r| r == expected), "{name}: another report");
    }
}

#[test]
fn other_byte_orders_long_sizes_and_sub_buffer_sizes() {
    for endian in [Endian::Little, Endian::Big] {
        for (long, size) in [(4, 4096), (8, 4096), (8, 16384), (8, 65536)] {
            let cpu = |base: u64, n: u32| -> Vec<u8> {
                let two = [0, 1].map(|i| {
                    let records: Vec<_> = (0..n).map(|k| (k, 1000 * i + k)).collect();
                    page(endian, long, size, base + 1_000_000 * u64::from(i), &records)
                });
                two.concat()
            };
            // CPU numbers with holes; CPU 9 has another number of records.
            let cpus = vec![(0, cpu(5, 3)), (9, cpu(1 << 40, 200))];
            let top = Buffer {
                name: String::new(),
                clock: "mono".into(),
                page_size: size as u32,
                cpus,
            };
            let parts = made_up(endian, long, vec![top]);
            let files = [
                parts.v6(),
                parts.v7(Code::None),
                parts.v7(Code::Zlib),
                parts.v7(Code::Zstd),
            ];
            for (i, file) in files.into_iter().enumerate() {
                let c = open(file.bytes);
                assert_eq!(c.problems, [], "{endian:?} {long} {size} {i}");
                assert_eq!((c.complete, c.endian), (true, endian));
                assert_eq!(c.comms, [(42, "made up".to_owned())]);
                assert_eq!(c.streams.iter().map(|s| s.cpu).collect::<Vec<_>>(), [0, 9]);
                let value = IntAccess::bind(&c.event_formats[0], "value", endian).unwrap();
                for (s, base, n) in [(&c.streams[0], 5, 3_u64), (&c.streams[1], 1 << 40, 200)] {
                    let mut seen = Vec::new();
                    let errors = each(&c, s, |item| match item {
                        StreamItem::Record(r) => seen.push((r.ts, value.u64(r.payload).unwrap())),
                        StreamItem::Lost(l) => panic!("{l:?}"),
                    });
                    assert_eq!(errors, []);
                    // The k-th delta is k: 0, 1, 3, 6, ...
                    let expected: Vec<_> = (0..2)
                        .flat_map(|i| (0..n).map(move |k| (base + 1_000_000 * i + k * (k + 1) / 2, 1000 * i + k)))
                        .collect();
                    assert_eq!(seen, expected);
                }
            }
        }
    }
}

#[test]
fn large_stored_ranges_are_cut_in_chunks() {
    // 300 pages of 4,096: 1 MiB holds 256.
    let pages: Vec<u8> = (0..300)
        .flat_map(|i| page(Endian::Little, 8, 4096, u64::from(i) * 1000, &[(1, i), (2, i)]))
        .collect();
    let top = Buffer {
        name: String::new(),
        clock: "mono".into(),
        page_size: 4096,
        cpus: vec![(0, pages)],
    };
    let parts = made_up(Endian::Little, 8, vec![top]);
    for file in [parts.v6(), parts.v7(Code::None)] {
        let c = open(file.bytes);
        let sizes: Vec<u64> = c.streams[0]
            .chunks
            .iter()
            .map(|ch| ch.range.end - ch.range.start)
            .collect();
        assert_eq!(sizes, [256 * 4096, 44 * 4096]);
        let all = items(&c, &c.streams[0]);
        let ts: Vec<u64> = all
            .iter()
            .map(|i| {
                if let Item::Record { ts, .. } = i {
                    *ts
                } else {
                    panic!("{i:?}")
                }
            })
            .collect();
        assert_eq!(
            ts,
            (0..300)
                .flat_map(|i| [i * 1000 + 1, i * 1000 + 3])
                .collect::<Vec<u64>>()
        );
    }
}
