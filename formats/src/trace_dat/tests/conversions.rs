//! Options that ask for a conversion of timestamps, and the statistics that show a wrong clock.

use super::super::cpu_stats::CpuStatTexts;
use super::super::layout::*;
use super::parts::{made_up, page};
use super::walk::{Item, items, open};
use super::writer::{Buffer, Code, Parts};
use crate::ClockConversion::{OffsetNs, TimeShift, Tsc2Nsec};
use crate::{ClockConversion, Endian, FormatErrorKind, TimeShiftSample};

fn with_options(endian: Endian, options: Vec<(u16, Vec<u8>)>) -> Parts {
    let cpus = vec![(0, page(endian, 8, 4096, 100, &[(0, 1)]))];
    let top = Buffer {
        name: String::new(),
        clock: "x86-tsc".into(),
        page_size: 4096,
        cpus,
    };
    Parts {
        options,
        ..made_up(endian, 8, vec![top])
    }
}

#[test]
fn conversions_are_kept_and_not_applied() {
    for endian in [Endian::Little, Endian::Big] {
        let p = with_options(endian, Vec::new());
        let shift = [
            &p.u64(0xabcd)[..], // peer
            &p.u32(1),          // flags
            &p.u32(2),          // CPUs
            &p.u32(2),          // samples of CPU 0
            &p.u64(10),
            &p.u64(20),
            &p.u64(-7_i64 as u64),
            &p.u64(8),
            &p.u64(1),
            &p.u64(2),
            &p.u32(0), // CPU 1 has none
        ]
        .concat();
        let fractions = [&p.u64(30)[..], &p.u64(31)].concat();
        let tsc = [&p.u32(1000)[..], &p.u32(10), &p.u64(5)].concat();
        let options = vec![
            (OPTION_DATE, b"0x10\0".to_vec()),
            (OPTION_OFFSET, b"-250\0".to_vec()),
            (OPTION_TSC2NSEC, tsc),
            (OPTION_TIME_SHIFT, shift.clone()),
            (OPTION_TIME_SHIFT, [shift, fractions].concat()),
            (OPTION_TRACECLOCK, b"local global [x86-tsc]\n\0".to_vec()),
        ];
        let p = with_options(endian, options);
        let samples = |a, b| {
            let sample = |time, offset, scaling, fraction_bits| TimeShiftSample {
                time,
                offset,
                scaling,
                fraction_bits,
            };
            let cpus = vec![vec![sample(10, -7, 1, a), sample(20, 8, 2, b)], vec![]];
            TimeShift {
                peer_trace_id: 0xabcd,
                flags: 1,
                cpus,
            }
        };
        for w in [p.v6(), p.v7(Code::None), p.v7(Code::Zlib)] {
            let c = open(w.bytes);
            assert_eq!(c.problems, []);
            let expected: Vec<ClockConversion> = vec![
                OffsetNs(16_000),
                OffsetNs(-250),
                Tsc2Nsec {
                    mult: 1000,
                    shift: 10,
                    offset: 5,
                },
                samples(None, None),
                samples(Some(30), Some(31)),
            ];
            assert_eq!(c.clock_conversions, expected);
            assert_eq!(c.streams[0].clock, "x86-tsc");
            assert!(matches!(items(&c, &c.streams[0])[..], [Item::Record { ts: 100, .. }]));
        }
    }
}

#[test]
fn conversions_that_cannot_be_understood_are_said() {
    let huge = [&[0; 12][..], &u32::MAX.to_le_bytes(), &u32::MAX.to_le_bytes()].concat();
    for (id, data, kind) in [
        (OPTION_OFFSET, b"ten".to_vec(), FormatErrorKind::BadText),
        (
            OPTION_OFFSET,
            b"9999999999999999999999".to_vec(),
            FormatErrorKind::BadText,
        ),
        (OPTION_DATE, b"9223372036854775807".to_vec(), FormatErrorKind::BadValue),
        (OPTION_TSC2NSEC, vec![0; 15], FormatErrorKind::Truncated),
        (OPTION_TIME_SHIFT, huge, FormatErrorKind::Truncated),
        (OPTION_CPUCOUNT, vec![1], FormatErrorKind::Truncated),
        (OPTION_BUFFER, vec![0; 8], FormatErrorKind::Truncated),
    ] {
        let c = open(with_options(Endian::Little, vec![(id, data)]).v7(Code::None).bytes);
        assert_eq!(
            c.problems.iter().map(|p| p.error.map(|e| e.kind)).collect::<Vec<_>>(),
            [Some(kind)],
            "option {id}"
        );
        assert!(!c.complete && c.clock_conversions.is_empty());
        assert_eq!(c.streams.len(), 1);
    }
}

/// The texts of two CPUs of each buffer, `now ts` as given.
fn stats(readings: &[(&str, &str)]) -> CpuStatTexts {
    let mut texts = CpuStatTexts::default();
    for (instance, now) in readings {
        if !instance.is_empty() {
            texts.take(&format!("\nBuffer: {instance}\n\n"));
        }
        texts.take(&format!("CPU: 0\nentries: 1\noverrun: 2\ncommit overrun: 3\nbytes: 4\nnow ts:  {now}\ndropped events: 5\nread events: 6\n"));
    }
    texts
}

#[test]
fn statistics_are_read_by_name_and_by_buffer() {
    let texts = stats(&[("", "1.000000"), ("a b", "1.000001")]);
    for (s, instance) in texts.stats.iter().zip(["", "a b"]) {
        assert_eq!((s.instance.as_str(), s.cpu, s.entries, s.overrun), (instance, 0, 1, 2));
        assert_eq!(
            (s.commit_overrun, s.bytes, s.dropped_events, s.read_events),
            (3, 4, 5, 6)
        );
    }
    let mut texts = CpuStatTexts::default();
    texts.take("CPU: 3\nentries: many\n");
    assert_eq!((texts.stats.len(), texts.odd_values), (1, 1));
}

#[test]
fn a_clock_that_goes_back_is_another_clock() {
    // One clock: readings go on.
    let one = stats(&[("", "10.000000"), ("a", "10.000100"), ("b", "10.700000")]);
    assert!(!one.not_on_top_clock().contains("a") && !one.not_on_top_clock().contains("b"));
    // `a` is ahead: `b`, read later, is of the top buffer's time again.
    let ahead = stats(&[("", "10.000000"), ("a", "10.030000"), ("b", "10.000200")]);
    assert!(ahead.not_on_top_clock().contains("a") && !ahead.not_on_top_clock().contains("b"));
    // `a` is behind.
    let behind = stats(&[("", "10.000000"), ("a", "3.030000"), ("b", "10.000200")]);
    assert!(behind.not_on_top_clock().contains("a") && !behind.not_on_top_clock().contains("b"));
    // Nothing to compare with: no verdict. Clocks that do not count ns have no point.
    assert!(!stats(&[("a", "3.030000")]).not_on_top_clock().contains("a"));
    assert!(!stats(&[("", "1000000"), ("a", "3")]).not_on_top_clock().contains("a"));
    assert!(!one.not_on_top_clock().contains("c"));
}
