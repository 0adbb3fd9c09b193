//! Cases of the format that the recorded files lack.

use std::io::Write as _;

use super::super::layout::*;
use super::writer::{self, Out, TestAttr, payload, record, trailer};
use super::*;
use crate::Endian;

const USUAL: u64 = SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_ID | SAMPLE_CPU | SAMPLE_PERIOD | SAMPLE_RAW;

fn values(c: &Capture) -> Vec<(u64, u32, u32)> {
    let all = read(c);
    assert_eq!(all.errors, []);
    let value = |e: &Event| c.endian.u32(&e.payload, 8).unwrap();
    all.events.iter().map(|e| (e.ts, e.cpu, value(e))).collect()
}

#[test]
fn both_byte_orders_in_both_modes() {
    for e in [Endian::Little, Endian::Big] {
        let a = TestAttr::tracepoint(USUAL, &[5, 6]);
        let records: Vec<_> = (0..10u32)
            .map(|n| writer::sample(e, &a, 5, 100 + u64::from(n), n % 2, &payload(e, n)))
            .collect();
        let attrs = [a];
        for bytes in [writer::file(e, &attrs, &records), writer::pipe(e, &attrs, &records)] {
            let c = open(bytes);
            assert_eq!((c.endian, messages(&c).as_str(), c.complete), (e, "", true));
            let mut have = values(&c);
            have.sort();
            let want: Vec<_> = (0..10).map(|n| (100 + u64::from(n), n % 2, n)).collect();
            assert_eq!(have, want);
            assert_eq!(c.event_formats[0].key(), "sys:ev");
            assert_eq!(c.streams[0].clock, "mono");
            assert_eq!(c.comms, [(1001, "worker".to_owned())]);
        }
    }
    let round = record(Endian::Big, 68, 0, &[]);
    let c = open(writer::file(
        Endian::Big,
        &[TestAttr::tracepoint(USUAL, &[1])],
        &[round],
    ));
    assert_eq!((c.host.hostname.as_str(), c.streams.len()), ("box", 0));
}

#[test]
fn one_event_without_id() {
    let e = Endian::Little;
    let a = TestAttr::tracepoint(USUAL & !SAMPLE_ID, &[]);
    let c = open(writer::file(
        e,
        std::slice::from_ref(&a),
        &[writer::sample(e, &a, 0, 7, 3, &payload(e, 9))],
    ));
    assert_eq!(values(&c), [(7, 3, 9)]);
    assert_eq!(messages(&c), "");
}

#[test]
fn counters_and_call_chains_before_the_payload() {
    let e = Endian::Little;
    for (read_format, more) in [
        (FORMAT_ID, SAMPLE_READ),
        (0x1f, SAMPLE_READ),
        (0, SAMPLE_CALLCHAIN),
        (
            0x1f,
            SAMPLE_READ | SAMPLE_CALLCHAIN | SAMPLE_ADDR | SAMPLE_STREAM_ID | SAMPLE_IDENTIFIER,
        ),
    ] {
        let mut a = TestAttr::tracepoint(USUAL | more, &[4]);
        a.read_format = read_format;
        let sample = writer::sample(e, &a, 4, 11, 1, &payload(e, 42));
        assert_eq!(values(&open(writer::file(e, &[a], &[sample]))), [(11, 1, 42)]);
    }
}

#[test]
fn events_that_are_no_tracepoints_are_counted_and_left_out() {
    let e = Endian::Little;
    let ours = TestAttr::tracepoint(USUAL | SAMPLE_IDENTIFIER, &[1]);
    let mut cycles = TestAttr::tracepoint(SAMPLE_IDENTIFIER | SAMPLE_TIME, &[2]);
    cycles.kind = 0;
    let records = [
        writer::sample(e, &ours, 1, 10, 0, &payload(e, 1)),
        writer::sample(e, &cycles, 2, 11, 0, &[]),
        writer::sample(e, &ours, 1, 12, 0, &payload(e, 2)),
        writer::sample(e, &ours, 99, 13, 0, &payload(e, 3)),
    ];
    let c = open(writer::file(e, &[ours, cycles], &records));
    assert_eq!(values(&c), [(10, 0, 1), (12, 0, 2)]);
    assert!(messages(&c).contains("1 samples are not used: events that are no tracepoints"));
    assert!(messages(&c).contains("1 samples are of no event the file describes"));
    assert!(!c.complete);
}

#[test]
fn layouts_that_no_sample_tells_apart_are_refused() {
    let e = Endian::Little;
    let (a, b) = (
        TestAttr::tracepoint(USUAL, &[1]),
        TestAttr::tracepoint(USUAL & !SAMPLE_IP, &[2]),
    );
    let sample = writer::sample(e, &a, 1, 10, 0, &payload(e, 1));
    let c = open(writer::file(e, &[a, b], &[sample]));
    assert!(values(&c).is_empty() && !c.complete);
    assert!(messages(&c).contains("none of them can be read"), "{}", messages(&c));
}

#[test]
fn losses_stand_where_they_were() {
    let e = Endian::Little;
    let a = TestAttr::tracepoint(USUAL, &[1, 2]);
    let lost = |n, cpu| record(e, RECORD_LOST, 0, &trailer(Out::new(e).u64(1).u64(n), 20, 1, cpu).bytes);
    let at = |ts, cpu| writer::sample(e, &a, 1, ts, cpu, &payload(e, 0));
    let records = [at(10, 0), lost(7, 0), at(30, 0), at(11, 1), lost(5, 1)];
    let c = open(writer::file(e, std::slice::from_ref(&a), &records));
    assert_eq!(read(&c).lost, [(0, Some(7)), (1, Some(5))]);

    // Without sample_id_all a LOST is of the ring whose records follow, or, as the last, of the one before.
    let mut short = a.clone();
    short.sample_id_all = false;
    let lost = |n: u64| record(e, RECORD_LOST, 0, &Out::new(e).u64(1).u64(n).bytes);
    let c = open(writer::file(e, &[short], &[at(10, 0), lost(3), at(11, 1), lost(4)]));
    assert_eq!(read(&c).lost, [(1, Some(3)), (1, Some(4))]);
    assert_eq!(messages(&c), "");
}

#[test]
fn losses_counted_at_the_end_are_of_a_cpu() {
    let e = Endian::Little;
    let a = TestAttr::tracepoint(USUAL, &[1, 2]);
    let index = Out::new(e)
        .u64(2)
        .u64(1)
        .u64(0)
        .u64(0)
        .u64(u64::MAX)
        .u64(2)
        .u64(0)
        .u64(1)
        .u64(u64::MAX);
    let lost = |n, id, misc| {
        record(
            e,
            RECORD_LOST_SAMPLES,
            misc,
            &trailer(Out::new(e).u64(n), 0, id, 0).bytes,
        )
    };
    let records = [
        record(e, RECORD_ID_INDEX, 0, &index.bytes),
        writer::sample(e, &a, 1, 10, 0, &payload(e, 0)),
        lost(4, 1, 0),
        lost(6, 2, 0),
        lost(8, 2, 0),
        // Dropped by a filter.
        lost(1000, 2, 1 << 15),
    ];
    let c = open(writer::file(e, &[a], &records));
    let stats: Vec<_> = c.cpu_stats.iter().map(|s| (s.cpu, s.overrun)).collect();
    assert_eq!(stats, [(0, 4), (1, 14)]);
    // CPU 1 was recorded and was silent.
    assert_eq!(
        c.streams.iter().map(|s| (s.cpu, s.chunks.len())).collect::<Vec<_>>(),
        [(0, 1), (1, 0)]
    );
    assert_eq!(messages(&c), "");
}

#[test]
fn names_of_tasks() {
    let e = Endian::Little;
    let comm = |tid, name: &[u8]| {
        record(
            e,
            RECORD_COMM,
            0,
            &Out::new(e).u32(1).u32(tid).raw(name).raw(&[0; 8]).bytes,
        )
    };
    let fork = |tid, parent| {
        record(
            e,
            RECORD_FORK,
            0,
            &Out::new(e).u32(1).u32(1).u32(tid).u32(parent).u64(0).bytes,
        )
    };
    let records = [
        comm(10, b"shell"),
        fork(11, 10),
        fork(12, 10),
        comm(12, b"a b:c"),
        fork(13, 999),
    ];
    let c = open(writer::pipe(e, &[TestAttr::tracepoint(USUAL, &[1])], &records));
    let want = [(10, "shell"), (11, "shell"), (12, "a b:c"), (1001, "worker")];
    assert_eq!(c.comms, want.map(|(t, n)| (t, n.to_owned())));
}

#[test]
fn records_cut_between_compressed_pieces() {
    let e = Endian::Little;
    let a = TestAttr::tracepoint(USUAL, &[1]);
    let plain: Vec<u8> = (0..200u32)
        .flat_map(|n| writer::sample(e, &a, 1, u64::from(n), 0, &payload(e, n)))
        .collect();
    // One zstd stream, flushed every 1000 bytes wherever that is in a record, with a whole record between each two pieces.
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    let mut pieces: Vec<Vec<u8>> = Vec::new();
    for part in plain.chunks(1000) {
        encoder.write_all(part).unwrap();
        encoder.flush().unwrap();
        pieces.push(std::mem::take(encoder.get_mut()));
    }
    let round = record(e, 68, 0, &[]);
    for two in [false, true] {
        let piece = |p: &[u8]| match two {
            false => record(e, RECORD_COMPRESSED, 0, p),
            true => {
                let pad = vec![0; (8 - p.len() % 8) % 8];
                let body = Out::new(e).u64(p.len() as u64).raw(p).raw(&pad);
                record(e, RECORD_COMPRESSED2, 0, &body.bytes)
            }
        };
        let records: Vec<_> = pieces.iter().flat_map(|p| [piece(p), round.clone()]).collect();
        let c = open(writer::file(e, std::slice::from_ref(&a), &records));
        assert_eq!(messages(&c), "");
        let want: Vec<_> = (0..200).map(|n| (u64::from(n), 0, n)).collect();
        assert_eq!(values(&c), want);

        // Without the last piece what is whole is read, and the rest is said to be missing.
        let c = open(writer::file(e, std::slice::from_ref(&a), &records[..records.len() - 2]));
        let whole = (plain.len() / 1000 * 1000) / (plain.len() / 200);
        assert_eq!(values(&c), want[..whole]);
        assert!(
            !c.complete && messages(&c).contains("end inside a record"),
            "{}",
            messages(&c)
        );
    }
}

#[test]
fn a_recorder_that_was_killed_leaves_a_file_that_says_so() {
    let e = Endian::Little;
    let a = TestAttr::tracepoint(USUAL, &[1]);
    let mut bytes = writer::file(
        e,
        std::slice::from_ref(&a),
        &[writer::sample(e, &a, 1, 5, 0, &payload(e, 1))],
    );
    bytes[48..56].fill(0);
    let end = bytes.len() - writer::tracing(e).len() - 32 - 12;
    bytes.truncate(end);
    let c = open(bytes);
    assert_eq!(values(&c), [(5, 0, 1)]);
    assert!(
        !c.complete && messages(&c).contains("perf did not come to the end"),
        "{}",
        messages(&c)
    );
}
