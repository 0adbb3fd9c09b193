//! Every sample against what trace-cmd printed for the same bytes.

use std::collections::BTreeMap;

use netmortem_analyzer::ingest;
use netmortem_analyzer::reconstruct::skb::tables::SkbClass;
use netmortem_tests::{SAMPLES, facts, open, sample};

/// `counts.txt`: `[instance] name count` lines by trace-cmd, the last `total n` in the bundles' ones.
fn oracle(path: &str) -> (BTreeMap<String, u64>, u64) {
    let text = std::fs::read_to_string(sample(path).with_file_name("counts.txt")).unwrap();
    let mut by_name = BTreeMap::new();
    let mut total = None;
    for line in text.lines().filter(|l| !l.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let n: u64 = words[words.len() - 1].parse().unwrap();
        match words[words.len() - 2] {
            "total" => total = Some(n),
            name => *by_name.entry(name.to_string()).or_insert(0) += n,
        }
    }
    let sum = by_name.values().sum();
    assert!(
        total.is_none_or(|t| t == sum),
        "{path}: the oracle's total is not its sum"
    );
    (by_name, sum)
}

#[test]
fn event_counts_equal_trace_cmd() {
    for path in SAMPLES {
        let (expect, total) = oracle(path);
        let info = ingest::check(&open(&sample(path)).unwrap(), &ingest::Options::default());
        let mut got = BTreeMap::new();
        for (key, n) in &info.events {
            let name = key.split_once(':').map_or(key.as_str(), |k| k.1);
            *got.entry(name.to_string()).or_insert(0) += n;
        }
        assert_eq!(got, expect, "{path}");
        assert_eq!(info.total_events, total, "{path}");
        assert_eq!(info.streams.iter().map(|s| s.events).sum::<u64>(), total, "{path}");
    }
}

/// The bundles end with the kernel's own per-CPU statistics: what it wrote is what we read, and nothing was lost.
#[test]
fn bundles_are_complete_by_the_kernels_own_statistics() {
    for path in SAMPLES.iter().filter(|p| p.ends_with(".nmb")) {
        let capture = open(&sample(path)).unwrap();
        let info = ingest::check(&capture, &ingest::Options::default());
        assert!(info.complete && info.problems.is_empty(), "{path}: {:?}", info.problems);
        assert_eq!(info.lost_events, 0, "{path}");
        assert_eq!(info.gaps, [], "{path}");
        assert_eq!(capture.cpu_stats.len(), info.streams.len(), "{path}");
        for st in &capture.cpu_stats {
            let stream = info.streams.iter().find(|s| s.cpu == st.cpu).unwrap();
            assert_eq!(stream.events, st.read_events, "{path} CPU {}", st.cpu);
        }
    }
}

#[test]
fn every_ledger_sums_and_no_life_is_negative() {
    for path in SAMPLES {
        let f = facts(path).unwrap();
        for r in &f.rx {
            assert_eq!(r.stages.sum() + r.unattributed_ns, r.total_ns, "{path} {r:?}");
            assert!(r.total_ns >= 0, "{path} {r:?}");
        }
        for s in &f.skbs {
            assert!(s.life_ns().is_none_or(|v| v >= 0), "{path} {s:?}");
        }
        // an address is never alive twice at one time
        let mut last: BTreeMap<u64, i64> = BTreeMap::new();
        for s in &f.skbs {
            let before = last.insert(s.skbaddr, s.last_ns);
            assert!(
                before.is_none_or(|t| t <= s.birth_ns),
                "{path}: lives of {:#x} overlap",
                s.skbaddr
            );
        }
    }
}

/// The peers print frees of 629 ms that never were. Here the longest life must be one that the recording explains: no
/// received packet outlives its read, and no packet waits in a queue longer than the rig can make it wait.
#[test]
fn no_false_long_life() {
    let longest = |path: &str| {
        let f = facts(path).unwrap();
        // A TCP original lives until its bytes are acknowledged, however long the network takes.
        let lives = f.skbs.iter().filter(|s| s.class != SkbClass::TxOriginal);
        lives.filter_map(|s| s.life_ns()).max().unwrap()
    };
    // rpc: the longest planned sleep is 30 ms; 10 ms for the scheduler.
    assert!(longest("rpc/rpc.nmb") < 40_000_000, "{}", longest("rpc/rpc.nmb"));
    // sawtooth: 60,000 bytes at 20 Mbit/s are 24 ms in the queue; 16 ms for a receiver that is late to read.
    assert!(
        longest("sawtooth/sawtooth.nmb") < 40_000_000,
        "{}",
        longest("sawtooth/sawtooth.nmb")
    );
}
