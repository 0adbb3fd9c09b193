//! Damaged containers (FORMATS 10.4): each keeps what can be kept, says what is lost, and ends.

use super::super::layout::*;
use super::parts::{made_up, page};
use super::walk::{Item, each, items, open};
use super::writer::{Buffer, Code, Parts, Written};
use crate::FormatErrorKind::{self, *};
use crate::{Bytes, Capture, Coding, Endian, open_bytes};

/// 25 pages for each of these CPUs in the top buffer: three compressed chunks each.
fn parts(cpus: &[u32]) -> Parts {
    let pages = |cpu: u32| -> Vec<u8> {
        (0..25)
            .flat_map(|i| page(Endian::Little, 8, 4096, u64::from(i) * 1000, &[(1, cpu), (2, i)]))
            .collect()
    };
    let cpus = cpus.iter().map(|cpu| (*cpu, pages(*cpu))).collect();
    let top = Buffer {
        name: String::new(),
        clock: "mono".into(),
        page_size: 4096,
        cpus,
    };
    made_up(Endian::Little, 8, vec![top])
}

/// Records that can be read of each stream.
fn records(c: &Capture) -> Vec<(u32, usize)> {
    let count = |s| {
        let mut n = 0;
        each(c, s, |_| n += 1);
        n
    };
    c.streams.iter().map(|s| (s.cpu, count(s))).collect()
}

/// The kinds of the problems, of which there must be some; the capture must not call itself complete.
fn damaged(c: &Capture) -> Vec<Option<FormatErrorKind>> {
    assert!(!c.complete, "{:?}", c.problems);
    assert!(c.problems.iter().all(|p| p.message.len() > 20));
    c.problems.iter().map(|p| p.error.map(|e| e.kind)).collect()
}

#[test]
fn options_that_come_back_to_themselves_end() {
    let written = parts(&[0, 1]).v7(Code::None);
    // DONE of the last section points to its own section, then to the first one.
    for target in ["options 1", "options 0"] {
        let mut w = written.clone();
        let offset = (w.mark(target) as u64).to_le_bytes();
        w.put("done 1", &offset);
        let c = open(w.bytes);
        assert_eq!(damaged(&c), [Some(Loop)]);
        assert_eq!(records(&c), [(0, 50), (1, 50)]);
    }
}

#[test]
fn options_that_lead_out_of_the_file_or_to_another_section() {
    let written = parts(&[0]).v7(Code::None);
    let mut w = written.clone();
    let c = open(w.put("done 1", &u64::MAX.to_le_bytes()).bytes.clone());
    assert_eq!(damaged(&c), [Some(Truncated)]);
    assert_eq!(records(&c), [(0, 50)]);
    let mut w = written.clone();
    let other = (w.mark("section 19") as u64).to_le_bytes();
    let c = open(w.put("done 1", &other).bytes.clone());
    assert_eq!(damaged(&c), [Some(BadValue)]);
    // Without any option nothing is described: six sections are missing, and that is said.
    let mut w = written.clone();
    let c = open(w.put("first options", &[0; 8]).bytes.clone());
    assert_eq!(
        damaged(&c),
        [
            None,
            Some(Missing),
            Some(Missing),
            Some(Missing),
            Some(Missing),
            Some(Missing),
            Some(Missing)
        ]
    );
    assert_eq!((c.streams.len(), c.event_formats.len()), (0, 0));
}

#[test]
fn a_chunk_count_that_lies() {
    let written = parts(&[0, 1]).v7(Code::Zstd);
    let mut w = written.clone();
    let c = open(w.put(" cpu 0 count", &u32::MAX.to_le_bytes()).bytes.clone());
    // What stands behind the last chunk is padding: a chunk of no bytes.
    assert_eq!(damaged(&c), [Some(BadLength)]);
    assert_eq!(records(&c), [(0, 50), (1, 50)]);
    // The last CPU's: the file goes on with OPTIONS, which are outside its section.
    let mut w = written.clone();
    let c = open(w.put(" cpu 1 count", &u32::MAX.to_le_bytes()).bytes.clone());
    assert_eq!(damaged(&c), [Some(BadLength)]);
    assert_eq!(records(&c), [(0, 50), (1, 50)]);
    // Too few: bytes are left over, which is said.
    let mut w = written.clone();
    let c = open(w.put(" cpu 0 count", &1_u32.to_le_bytes()).bytes.clone());
    assert_eq!(records(&c), [(0, 20), (1, 50)]);
    assert!(
        c.problems[0].message.contains("after the last chunk of BUFFER cpu 0"),
        "{:?}",
        c.problems
    );
}

#[test]
fn chunk_sizes_that_lie() {
    for code in [Code::Zstd, Code::Zlib] {
        let written = parts(&[0, 1]).v7(code);
        // (what is written, problems at opening, what reading the second chunk says)
        let cases = [
            (0_u32, vec![Some(BadLength)], BadLength),
            (4097, vec![Some(BadLength)], BadLength),
            (4096, vec![], BadLength),
            (0xffff_f000, vec![Some(TooLarge)], TooLarge),
        ];
        for (usize, at_opening, at_reading) in cases {
            let mut w = written.clone();
            let c = open(w.put(" cpu 0 usize 1", &usize.to_le_bytes()).bytes.clone());
            assert_eq!(
                c.problems.iter().map(|p| p.error.map(|e| e.kind)).collect::<Vec<_>>(),
                at_opening
            );
            assert_eq!(c.complete, at_opening.is_empty());
            let read: Vec<_> = c.streams[0]
                .chunks
                .iter()
                .map(|ch| c.chunk_bytes(ch).map(|b| b.len()))
                .collect();
            assert_eq!(read[0], Ok(40960));
            assert_eq!(
                read[1].as_ref().map_err(|e| e.kind),
                Err(at_reading),
                "{code:?} {usize}"
            );
            assert_eq!(read[2], Ok(20480));
            assert_eq!(records(&c), [(0, 30), (1, 50)]);
        }
        // A compressed size past its CPU and past the file: this chunk and the next are lost, the other CPU is not.
        for csize in [0_u32, 1 << 20, u32::MAX] {
            let mut w = written.clone();
            let c = open(w.put(" cpu 0 csize 1", &csize.to_le_bytes()).bytes.clone());
            assert_eq!(damaged(&c), [Some(BadLength)], "{csize}");
            assert_eq!(records(&c), [(0, 20), (1, 50)]);
        }
    }
}

#[test]
fn a_cpu_past_the_end_of_the_file() {
    // Version 6: the table stands in front of the pages, a cut file still has it.
    let w = parts(&[0, 1]).v6();
    let cut = w.bytes.len() - 10 * 4096 - 100;
    let c = open(w.bytes[..cut].to_vec());
    assert_eq!(damaged(&c), [Some(Truncated)]);
    assert!(
        c.problems[0]
            .message
            .contains("41060 of the 102400 bytes of BUFFER cpu 1"),
        "{}",
        c.problems[0].message
    );
    assert_eq!(records(&c)[0], (0, 50));
    // The part that is missing fails to read at its place: after 14 whole pages and a torn one.
    let mut n = 0;
    let errors = each(&c, &c.streams[1], |_| n += 1);
    assert_eq!(n, 30, "records of the torn page lie before the cut");
    assert_eq!(
        errors.iter().map(|e| (e.kind, e.locus.offset)).collect::<Vec<_>>(),
        [(Truncated, cut as u64)]
    );
    // An offset from which the range leaves the 64-bit numbers.
    let mut w = w;
    let c = open(w.put(" cpu 0 offset", &(u64::MAX - 5).to_le_bytes()).bytes.clone());
    assert_eq!(damaged(&c), [Some(Truncated)]);
    assert_eq!(records(&c), [(0, 0), (1, 50)]);
}

#[test]
fn cpus_that_are_there_twice_or_share_bytes() {
    let c = open(parts(&[0, 3, 0]).v7(Code::Zstd).bytes);
    assert_eq!(damaged(&c), [Some(BadValue)]);
    assert!(c.problems[0].message.contains("twice"));
    assert_eq!(records(&c), [(0, 50), (3, 50)]);
    // CPU 1 claims the pages of CPU 0.
    let mut w = parts(&[0, 1]).v6();
    let at = w.mark(" cpu 0 offset");
    let same = w.bytes[at..at + 8].to_vec();
    let c = open(w.put(" cpu 1 offset", &same).bytes.clone());
    assert_eq!(damaged(&c), [Some(BadLength)]);
    assert_eq!(records(&c), [(0, 50)]);
}

#[test]
fn cpu_numbers_with_holes_and_without_sense() {
    let c = open(parts(&[2, 7, 300]).v7(Code::Zlib).bytes);
    assert_eq!((c.problems.len(), c.complete), (0, true));
    assert_eq!(records(&c), [(2, 50), (7, 50), (300, 50)]);
    let c = open(parts(&[2, u32::MAX]).v7(Code::Zstd).bytes);
    assert_eq!(damaged(&c), [Some(BadValue)]);
    assert_eq!(records(&c), [(2, 50)]);
    // Version 6 with four thousand million CPUs.
    let p = parts(&[0]);
    let mut w = p.v6();
    let n_cpus = w.mark(" flyrecord") - 2 - 10 - 4;
    w.bytes[n_cpus..n_cpus + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let c = open(w.bytes);
    assert_eq!(damaged(&c), [Some(TooLarge)]);
}

#[test]
fn names_and_buffers_without_end_are_refused() {
    // A name is copied for every CPU: a long one times many CPUs would take the memory.
    let mut p = parts(&[0]);
    p.buffers.push(Buffer {
        name: "n".repeat(256),
        ..p.buffers[0].clone()
    });
    let c = open(p.v7(Code::None).bytes);
    assert_eq!(damaged(&c), [Some(TooLarge)]);
    assert_eq!(records(&c), [(0, 50)]);
    // 1,100 instances; the top buffer and 1,023 of them are taken. Version 6 counts instances only.
    let mut p = parts(&[0]);
    let instance = |i: i32| Buffer {
        name: format!("i{i}"),
        cpus: Vec::new(),
        ..p.buffers[0].clone()
    };
    let instances: Vec<_> = (0..1100).map(instance).collect();
    p.buffers.extend(instances);
    assert_eq!(damaged(&open(p.v7(Code::None).bytes)).len(), 1101 - 1024);
    assert_eq!(damaged(&open(p.v6().bytes)).len(), 1100 - 1024);
}

#[test]
fn missing_sections_leave_the_events() {
    let sections = [
        (17, "FTRACE_EVENTS"),
        (18, "EVENT_FORMATS"),
        (19, "KALLSYMS"),
        (20, "PRINTK"),
        (21, "CMDLINES"),
    ];
    for (id, name) in sections {
        let w = without_section(&parts(&[0]), id);
        let c = open(w.bytes);
        assert_eq!(damaged(&c), [Some(Missing)]);
        assert_eq!(c.problems[0].member, name);
        assert_eq!(c.event_formats.len(), usize::from(id != 18));
        assert_eq!(records(&c), [(0, 50)]);
    }
    // Without header_page no record can be found, and nothing is guessed.
    let c = open(without_section(&parts(&[0]), OPTION_HEADER_INFO).bytes);
    assert_eq!(damaged(&c), [Some(Missing), None]);
    assert_eq!((c.streams.len(), c.event_formats.len()), (0, 1));
}

/// The file with the option that names a section turned into HOOK, which is passed over.
fn without_section(p: &Parts, id: u16) -> Written {
    let mut w = p.v7(Code::None);
    let needle = [&id.to_le_bytes()[..], &8_u32.to_le_bytes()].concat();
    let from = w.mark("options 0");
    let at = from + w.bytes[from..].windows(6).position(|b| b == needle).unwrap();
    w.bytes[at..at + 2].copy_from_slice(&OPTION_HOOK.to_le_bytes());
    w
}

#[test]
fn unknown_options_are_said_and_passed_over() {
    let mut p = parts(&[0]);
    p.options = vec![
        (99, vec![1; 12]),
        (OPTION_PROCMAPS, b"x\0".to_vec()),
        (4000, Vec::new()),
    ];
    for w in [p.v6(), p.v7(Code::None), p.v7(Code::Zlib)] {
        let c = open(w.bytes);
        let said: Vec<_> = c
            .problems
            .iter()
            .map(|p| p.message.split(" at ").next().unwrap())
            .collect();
        assert_eq!(said, ["option 99", "option 4000"]);
        assert!(c.problems[0].message.ends_with("is unknown: 12 bytes passed over"));
        assert!(c.complete, "no recorded event is missing");
        assert_eq!(records(&c), [(0, 50)]);
    }
}

#[test]
fn an_unknown_compression_leaves_what_is_stored() {
    let mut w = parts(&[0]).v7(Code::None);
    let name = w.bytes.windows(5).position(|b| b == b"none\0").unwrap();
    w.bytes[name..name + 4].copy_from_slice(b"lz44");
    let c = open(w.bytes);
    assert_eq!(damaged(&c), [None]);
    assert!(c.problems[0].message.contains("lz44"));
    assert_eq!(records(&c), [(0, 50)]);
    let mut w = parts(&[0]).v7(Code::Zstd);
    let name = w.bytes.windows(5).position(|b| b == b"zstd\0").unwrap();
    w.bytes[name..name + 4].copy_from_slice(b"lz44");
    let c = open(w.bytes);
    assert!(damaged(&c).contains(&Some(Unsupported)));
    assert_eq!(c.streams.len(), 0);
}

#[test]
fn an_empty_top_buffer_is_no_damage() {
    let mut p = parts(&[0]);
    p.buffers[0].name = "inst".into();
    p.buffers.insert(
        0,
        Buffer {
            name: String::new(),
            clock: "mono".into(),
            page_size: 4096,
            cpus: Vec::new(),
        },
    );
    for w in [p.v6(), p.v7(Code::None), p.v7(Code::Zstd)] {
        let c = open(w.bytes);
        assert_eq!((c.problems.as_slice(), c.complete), (&[][..], true));
        assert_eq!(
            c.streams.iter().map(|s| s.instance.as_str()).collect::<Vec<_>>(),
            ["inst"]
        );
        assert_eq!(items(&c, &c.streams[0]).len(), 50);
        assert!(matches!(items(&c, &c.streams[0])[1], Item::Record { ts: 3, .. }));
    }
}

#[test]
fn a_section_that_claims_to_be_huge_takes_no_memory() {
    let mut w = parts(&[0]).v7(Code::Zstd);
    let at = w.mark("section 19") + 16 + 4;
    w.bytes[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let c = open(w.bytes);
    assert_eq!(damaged(&c), [Some(TooLarge)]);
    assert_eq!(records(&c), [(0, 50)]);
    assert!(matches!(
        c.streams[0].chunks[0].coding,
        Coding::Zstd { size: Some(40960) }
    ));
}

#[test]
fn a_prologue_that_is_not_one_is_an_error() {
    let kind = |b: &[u8]| {
        open_bytes("t", Bytes::Owned(b.to_vec()))
            .map(|_| ())
            .map_err(|e| e.kind)
    };
    let good = parts(&[0]).v7(Code::None).bytes;
    assert_eq!(kind(b"\x17\x08\x44tracinG"), Err(UnknownFormat));
    assert_eq!(kind(&good[..10]), Err(Truncated));
    assert_eq!(kind(&good[..11]), Err(Truncated));
    assert_eq!(kind(&good[..25]), Err(Truncated));
    assert_eq!(kind(b"\x17\x08\x44tracing8\0\0\x08\0\x10\0\0"), Err(UnsupportedVersion));
    assert_eq!(kind(b"\x17\x08\x44tracingx\0\0\x08\0\x10\0\0"), Err(UnsupportedVersion));
    assert_eq!(kind(b"\x17\x08\x44tracing7\0\x02\x08\0\x10\0\0"), Err(BadValue));
}
