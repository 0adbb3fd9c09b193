//! A capture cut anywhere opens without panic and yields a prefix of its events, and says that it is cut.

use netmortem_analyzer::reconstruct::receive::tables::RxEnd;
use netmortem_analyzer::{analyses, analyze, ingest};
use netmortem_formats::sub_buffer::sub_buffers;
use netmortem_formats::{Bytes, Locus, StreamItem, open_bytes};
use netmortem_tests::{SAMPLES, sample};
use std::collections::BTreeMap;

/// (timestamp, event id) of every record, by ring buffer (instance and CPU).
type Events = BTreeMap<(String, u32), Vec<(u64, u16)>>;

fn events(bytes: &[u8]) -> Option<Events> {
    let capture = open_bytes("prefix", Bytes::Owned(bytes.to_vec())).ok()?;
    let mut out = BTreeMap::new();
    for stream in &capture.streams {
        let of: &mut Vec<(u64, u16)> = out.entry((stream.instance.clone(), stream.cpu)).or_default();
        'stream: for chunk in &stream.chunks {
            let Ok(data) = capture.chunk_bytes(chunk) else { break };
            for sub in sub_buffers(stream.page, &data, Locus::default()) {
                let Ok(sub) = sub else { break 'stream };
                for item in sub.records(stream.page, Locus::default()) {
                    match item {
                        Ok(StreamItem::Record(r)) => of.push((r.ts, capture.endian.u16(r.payload, 0).unwrap())),
                        Ok(StreamItem::Lost(_)) => {}
                        Err(_) => break 'stream,
                    }
                }
            }
        }
    }
    Some(out)
}

#[test]
fn every_cut_yields_a_prefix() {
    for path in SAMPLES {
        let whole = std::fs::read(sample(path)).unwrap();
        let all = events(&whole).unwrap();
        let cuts = if cfg!(debug_assertions) { 40 } else { 200 };
        let mut most = 0;
        for k in 0..cuts {
            // odd distances, so that cuts fall inside headers, frames and texts alike
            let at = whole.len() * k / cuts + k % 7;
            // the analysis must stand any of it
            if k % 10 == 0
                && let Ok(c) = open_bytes("prefix", Bytes::Owned(whole[..at].to_vec()))
            {
                analyses::answer(&analyze(&c, &ingest::Options::default()));
            }
            let Some(part) = events(&whole[..at.min(whole.len() - 1)]) else {
                continue;
            };
            for (stream, of) in &part {
                assert!(
                    all[stream].get(..of.len()) == Some(&of[..]),
                    "{path} cut at {at}: {stream:?} is no prefix"
                );
            }
            most = most.max(part.values().map(Vec::len).sum::<usize>());
        }
        let total: usize = all.values().map(Vec::len).sum();
        assert!(
            path.ends_with(".dat") || most * 100 > total * 90,
            "{path}: the latest cut gave {most} of {total} events"
        );
    }
}

#[test]
fn a_cut_bundle_says_so_in_every_answer() {
    let whole = std::fs::read(sample("rpc/rpc.nmb")).unwrap();
    for share in [60, 80, 95] {
        let part = whole[..whole.len() * share / 100].to_vec();
        let capture = open_bytes("cut", Bytes::Owned(part)).unwrap();
        let facts = analyze(&capture, &ingest::Options::default());
        assert!(!facts.capture.complete && !facts.capture.problems.is_empty());
        // Every CPU's story ends in a gap, and what was not read before the cut is not called queued with certainty.
        let cut = facts.gaps.iter().filter(|g| g.cause == "cut" && g.end_ns.is_none());
        assert_eq!(cut.count(), facts.capture.streams.len());
        let queued = facts.rx.iter().filter(|r| r.end == RxEnd::Queued);
        assert!(queued.clone().all(|r| !r.confidence.is_solid()), "{queued:?}");
        let answers = analyses::answer(&facts);
        assert_eq!(answers.quality.level, analyses::quality::Level::Bad);
        assert!(
            answers.verdict[0].sentence.contains("cut"),
            "{}",
            answers.verdict[0].sentence
        );
    }
}
