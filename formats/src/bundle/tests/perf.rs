//! Members of the perf backend: records in, the same records out, also of a bundle that was cut.

use super::*;
use crate::FormatErrorKind;
use crate::bundle::{PlannedPerf, records_name};

/// TIME, CPU and RAW.
const SAMPLE_TYPE: u64 = 1 << 2 | 1 << 7 | 1 << 10;

fn record(kind: u32, body: &[u8]) -> Vec<u8> {
    let size = u16::try_from(body.len() + 8).unwrap();
    [&kind.to_le_bytes()[..], &[0, 0], &size.to_le_bytes(), body].concat()
}

/// An event of 12 bytes, padded to 20 with its size.
fn sample(ts: u64, cpu: u32) -> Vec<u8> {
    let raw = [&77u16.to_le_bytes()[..], &[0; 10], &ts.to_le_bytes()].concat();
    let head = [&ts.to_le_bytes()[..], &cpu.to_le_bytes(), &[0; 4], &20u32.to_le_bytes()].concat();
    record(9, &[head, raw].concat())
}

fn lost(n: u64, ts: u64, cpu: u32) -> Vec<u8> {
    let words = [5u64.to_le_bytes(), n.to_le_bytes(), ts.to_le_bytes()].concat();
    record(2, &[words, cpu.to_le_bytes().to_vec(), vec![0; 4]].concat())
}

fn bundle(sample_type: u64) -> Vec<u8> {
    let mut m = manifest();
    m.plan.perf = Some(PlannedPerf {
        sample_type,
        ..Default::default()
    });
    let mut w = BundleWriter::new(Vec::new(), &m).unwrap();
    for cpu in 0..2 {
        for sequence in 1..=3u64 {
            let mut batch: Vec<u8> = (0..200).flat_map(|n| sample(sequence * 1000 + n, cpu)).collect();
            batch.extend(lost(7 + sequence, sequence * 1000 + 200, cpu));
            let frame = PagesEncoder::new(1).unwrap().encode(&batch).unwrap();
            w.append(&records_name(PagesName { cpu, sequence }), &frame).unwrap();
        }
    }
    w.finish(End::default()).unwrap().0
}

/// (CPU, times), and what was lost.
fn read(c: &Capture) -> (Vec<(u32, Vec<u64>)>, u64) {
    let mut lost = 0;
    let mut streams = Vec::new();
    for s in &c.streams {
        let mut times = Vec::new();
        for chunk in &s.chunks {
            let bytes = c.chunk_bytes(chunk).unwrap();
            s.for_each(&bytes, Locus::default(), |item| match item {
                Ok(StreamItem::Record(r)) => times.push(r.ts),
                Ok(StreamItem::Lost(l)) => lost += l.count.unwrap(),
                // The record that was cut.
                Err(e) => assert_eq!(e.kind, FormatErrorKind::Truncated),
            });
        }
        streams.push((s.cpu, times));
    }
    (streams, lost)
}

#[test]
fn records_come_back_as_they_were_written() {
    let c = open(bundle(SAMPLE_TYPE));
    assert_eq!(messages(&c), "");
    let all: Vec<u64> = (1..=3).flat_map(|s| (0..200).map(move |n| s * 1000 + n)).collect();
    // CPU 2 was recorded and silent.
    let want = vec![(0, all.clone()), (1, all), (2, Vec::new())];
    assert_eq!(read(&c), (want, 2 * (8 + 9 + 10)));
    assert!(c.streams.iter().all(|s| s.clock == "mono" && s.perf.is_some()));
}

#[test]
fn a_cut_bundle_has_the_records_before_the_cut() {
    let whole = bundle(SAMPLE_TYPE);
    let all = read(&open(whole.clone())).0;
    for n in (512..whole.len() - 1024).step_by(97) {
        let c = open(whole[..n].to_vec());
        assert!(!c.complete);
        for (cpu, times) in read(&c).0 {
            let want = &all.iter().find(|(c, _)| *c == cpu).unwrap().1;
            assert_eq!(times, want[..times.len()], "CPU {cpu} of {n} bytes");
        }
    }
}

#[test]
fn records_whose_layout_is_not_said_are_not_guessed() {
    let c = open(bundle(0));
    assert!(c.streams.is_empty());
    assert!(
        !c.complete && messages(&c).contains("does not say how the records"),
        "{}",
        messages(&c)
    );
}
