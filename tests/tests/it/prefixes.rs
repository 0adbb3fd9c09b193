//! A capture cut anywhere opens without panic and yields a prefix of its events, and says that it is cut.

use netmortem_analyzer::{analyses, analyze, ingest};
use netmortem_formats::{Bytes, open_bytes};
use netmortem_tests::{SAMPLES, sample};

/// (CPU, time, event id) of every record, by stream.
fn events(bytes: &[u8]) -> Option<Vec<Vec<(i64, u16)>>> {
    let capture = open_bytes("prefix", Bytes::Owned(bytes.to_vec())).ok()?;
    let trace = ingest::Trace::read(&capture, &ingest::Options::default());
    let mut by_cpu: Vec<Vec<(i64, u16)>> = vec![];
    for r in &trace.recs {
        let cpu = usize::from(r.cpu);
        if by_cpu.len() <= cpu {
            by_cpu.resize(cpu + 1, vec![]);
        }
        by_cpu[cpu].push((r.ts, r.kind));
    }
    Some(by_cpu)
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
            let Some(part) = events(&whole[..at.min(whole.len() - 1)]) else {
                continue;
            };
            for (cpu, of) in part.iter().enumerate() {
                assert_eq!(all[cpu].get(..of.len()), Some(&of[..]), "{path} cut at {at}, CPU {cpu}");
            }
            most = most.max(part.iter().map(Vec::len).sum::<usize>());
        }
        let total: usize = all.iter().map(Vec::len).sum();
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
        let answers = analyses::answer(&facts);
        assert_eq!(answers.quality.level, analyses::quality::Level::Bad);
        assert!(
            answers.verdict[0].sentence.contains("cut"),
            "{}",
            answers.verdict[0].sentence
        );
    }
}
