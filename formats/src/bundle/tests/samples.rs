//! The recorded samples: counts against what trace-cmd printed for the same sub-buffers, and every kind of prefix.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::*;
use crate::bundle::verify;

const SAMPLES: [&str; 2] = ["sawtooth", "rpc"];

fn folder(sample: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../sample-data")
        .join(sample)
}

fn bytes_of(sample: &str) -> Vec<u8> {
    std::fs::read(folder(sample).join(sample).with_extension("nmb")).unwrap()
}

#[test]
fn counts_equal_those_of_trace_cmd_and_of_the_kernel() {
    for sample in SAMPLES {
        let c = open(bytes_of(sample));
        assert!(c.complete && c.problems.is_empty(), "{sample}: {}", messages(&c));
        assert_eq!(verify(&c), [], "{sample}");
        let names: BTreeMap<u16, &str> = c.event_formats.iter().map(|f| (f.id, f.name.as_str())).collect();
        let (mut counts, mut per_cpu) = (BTreeMap::new(), BTreeMap::new());
        for s in &c.streams {
            for chunk in &s.chunks {
                let locus = Locus {
                    member: chunk.member,
                    stream: s.cpu,
                    offset: 0,
                };
                let data = c.chunk_bytes(chunk).unwrap();
                for page in sub_buffers(s.page, &data, locus) {
                    for item in page.unwrap().records(s.page, locus) {
                        let StreamItem::Record(r) = item.unwrap() else {
                            panic!("{sample}: events lost")
                        };
                        *counts
                            .entry(names[&c.endian.u16(r.payload, 0).unwrap()].to_owned())
                            .or_insert(0u64) += 1;
                        *per_cpu.entry(s.cpu).or_insert(0u64) += 1;
                    }
                }
            }
        }
        let total = counts.values().sum();
        counts.insert("total".into(), total);
        let oracle = std::fs::read_to_string(folder(sample).join("counts.txt")).unwrap();
        let oracle = oracle.lines().map(|l| l.split_once(' ').unwrap());
        let oracle: BTreeMap<String, u64> = oracle.map(|(n, k)| (n.to_owned(), k.parse().unwrap())).collect();
        assert_eq!(counts, oracle, "{sample}");
        let kernel: BTreeMap<u32, u64> = c.cpu_stats.iter().map(|s| (s.cpu, s.read_events)).collect();
        assert_eq!(per_cpu, kernel, "{sample}");
    }
}

#[test]
fn every_prefix_of_a_sample_opens_and_reads_a_prefix() {
    for sample in SAMPLES {
        let bytes = bytes_of(sample);
        let whole = open(bytes.clone());
        let mut points: Vec<usize> = (0..bytes.len()).step_by(bytes.len() / 100).collect();
        for m in whole.members.iter().filter(|m| !m.name.starts_with("events/")) {
            let end = usize::try_from(m.range.end).unwrap();
            points.extend([end - 1, end, end + 1, end.next_multiple_of(512)]);
        }
        points.retain(|p| (512..bytes.len()).contains(p));
        for at in points {
            let c = open(bytes[..at].to_vec());
            assert!(!c.complete && !c.problems.is_empty(), "{sample} cut at {at}");
            for s in &c.streams {
                let all = &whole.streams.iter().find(|w| w.cpu == s.cpu).unwrap().chunks;
                for (have, want) in s.chunks.iter().zip(all) {
                    if have == want {
                        continue;
                    }
                    // The one that was cut: decoded, it is a prefix of the whole sub-buffers of the original.
                    assert_eq!(
                        (have.range.start, have.range.end),
                        (want.range.start, at as u64),
                        "{sample}"
                    );
                    let (have, want) = (c.chunk_bytes(have).unwrap(), whole.chunk_bytes(want).unwrap());
                    assert!(
                        want.starts_with(&have) && have.len() % SUB_BUFFER == 0,
                        "{sample} cut at {at}"
                    );
                }
                let before = all.iter().filter(|k| k.range.end <= at as u64).count();
                assert!(s.chunks.len() >= before, "{sample} cut at {at}");
            }
        }
    }
}
