//! Damaged files: cut at any byte, with any bytes changed, and made to swell.

use std::io::Read as _;

use super::super::layout::*;
use super::super::sample::{Attr, Kind, RecordLayout};
use super::writer::{self, TestAttr, payload, record};
use super::*;
use crate::Endian;

const USUAL: u64 = SAMPLE_IP | SAMPLE_TID | SAMPLE_TIME | SAMPLE_ID | SAMPLE_CPU | SAMPLE_PERIOD | SAMPLE_RAW;

fn files() -> Vec<Vec<u8>> {
    let e = Endian::Little;
    let a = TestAttr::tracepoint(USUAL, &[1, 2]);
    let mut records: Vec<_> = (0..20u32)
        .map(|n| writer::sample(e, &a, 1, u64::from(n), n % 3, &payload(e, n)))
        .collect();
    let packed = zstd::encode_all(&records.concat()[..], 1).unwrap();
    records.push(record(e, RECORD_COMPRESSED, 0, &packed));
    let attrs = [a.clone()];
    vec![
        writer::file(e, &attrs, &records),
        writer::pipe(e, &attrs, &records),
        writer::file(e, &attrs, &records[..20]),
    ]
}

/// Reads all there is; what is read lies inside the file.
fn walk(bytes: Vec<u8>) -> Option<usize> {
    let c = super::super::open("test", Bytes::Owned(bytes)).ok()?;
    let all = read(&c);
    Some(all.events.len())
}

#[test]
fn cut_at_any_byte() {
    for whole in files() {
        let all = walk(whole.clone()).unwrap();
        let mut before = 0;
        for n in 0..whole.len() {
            let Some(have) = walk(whole[..n].to_vec()) else {
                assert!(n < 104, "refused at {n}");
                continue;
            };
            assert!(have >= before && have <= all, "{have} records of the first {n} bytes");
            before = have;
        }
    }
}

#[test]
fn a_cut_recording_is_never_called_complete() {
    let whole = sample("perf.data");
    let all = read(&open(whole.clone())).events.len();
    for part in [3, 10, 40, 60, 90, 99] {
        let c = open(whole[..whole.len() * part / 100].to_vec());
        assert!(!c.complete, "{part} %");
        assert!(read(&c).events.len() <= all);
    }
}

#[test]
fn changed_bytes() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    for whole in files() {
        for _ in 0..1500 {
            let mut bytes = whole.clone();
            for _ in 0..1 + next() % 4 {
                let at = next() % bytes.len();
                bytes[at] = match next() % 3 {
                    0 => 0xff,
                    1 => 0,
                    _ => next() as u8,
                };
            }
            walk(bytes);
        }
    }
}

#[test]
fn what_swells_is_stopped() {
    let e = Endian::Little;
    let a = TestAttr::tracepoint(USUAL, &[1]);
    // 200 MB of nothing in 20 kB.
    let bomb = zstd::encode_all(std::io::repeat(0).take(200 << 20), 1).unwrap();
    let records: Vec<_> = bomb
        .chunks(60_000)
        .map(|p| record(e, RECORD_COMPRESSED, 0, p))
        .collect();
    let c = open(writer::file(e, &[a], &records));
    assert!(!c.complete && c.bytes.len() <= 65 << 20, "{}", c.bytes.len());
    assert!(messages(&c).contains("TooLarge"), "{}", messages(&c));
}

/// Many attributes that each call all of the file their ids: no more ids are read than the file has bytes.
#[test]
fn ids_are_no_more_than_the_file() {
    let e = Endian::Little;
    let a = TestAttr::tracepoint(USUAL, &[1]);
    let records: Vec<_> = (0..20u32)
        .map(|n| writer::sample(e, &a, 1, u64::from(n), 0, &payload(e, n)))
        .collect();
    let mut file = writer::file(e, std::slice::from_ref(&a), &records);
    let (at, entries) = (file.len(), 1500);
    let whole = at + entries * 112;
    for _ in 0..entries {
        file.extend(a.bytes(e));
        file.extend(0u64.to_le_bytes());
        file.extend((whole as u64).to_le_bytes());
    }
    assert_eq!(file.len(), whole);
    file[16..24].copy_from_slice(&112u64.to_le_bytes());
    file[24..32].copy_from_slice(&(at as u64).to_le_bytes());
    file[32..40].copy_from_slice(&(entries as u64 * 112).to_le_bytes());
    let header = super::super::header::read(&file).unwrap();
    let ids: usize = header.attrs.iter().map(|a| a.ids.len()).sum();
    assert_eq!((header.attrs.len(), header.bad_attrs), (1, 1499));
    assert_eq!(ids, whole / 8);
    let c = open(file);
    assert!(
        messages(&c).contains("1499 attributes of events cannot be read"),
        "{}",
        messages(&c)
    );
    assert_eq!(read(&c).events.len(), 20);
}

/// As many layouts as attributes: each is found by its id. Compared one with another this would take minutes.
#[test]
fn many_layouts() {
    let e = Endian::Little;
    let count = 200_000u64;
    let of = |n: u64| {
        let mut a = TestAttr::tracepoint(USUAL | SAMPLE_READ, &[n]);
        // Bits that mean nothing make another layout.
        a.read_format = FORMAT_ID | n << 8;
        a
    };
    let attrs: Vec<Attr> = (0..count)
        .map(|n| {
            let mut attr = Attr::parse(&of(n).bytes(e), e).unwrap();
            attr.ids = vec![n];
            if n % 2 == 1 {
                attr.kind = 0;
            }
            attr
        })
        .collect();
    let layout = RecordLayout::new(&attrs, e).unwrap();
    for id in [0, 1, 77_776, 77_777, count - 2, count - 1, count] {
        let record = writer::sample(e, &of(id), id, 5, 3, &payload(e, 9));
        let kind = layout.classify(RECORD_SAMPLE, &record[8..]);
        match (id, id % 2) {
            (200_000, _) => assert_eq!(kind, Kind::Unknown),
            (_, 1) => assert_eq!(kind, Kind::Ignored),
            _ => assert!(matches!(kind, Kind::Sample { ts: 5, cpu: 3, .. }), "{id}: {kind:?}"),
        }
    }
}
