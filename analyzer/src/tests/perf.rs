//! A perf.data goes the same way as a bundle: order, losses and facts of the sample.

use crate::ingest::Trace;
use crate::reconstruct::receive::tables::RxEnd;

/// Rings of one page, 7,000 events lost, and an event that is no tracepoint: what perf script says of it is in the sample.
fn mixed() -> netmortem_formats::Capture {
    let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../sample-data/perf-loopback/mixed.pipe.zst");
    let bytes = zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap();
    netmortem_formats::open_bytes("mixed", netmortem_formats::Bytes::Owned(bytes)).unwrap()
}

#[test]
fn records_of_a_cpu_are_in_order_of_time() {
    for capture in [super::sample("perf-loopback/perf.data"), mixed()] {
        let trace = Trace::read(&capture, &Default::default());
        assert_eq!(trace.inversions, 0);
        let mut n = 0;
        for cpu in trace.recs.cpus() {
            let mut last = i64::MIN;
            for r in trace.of_cpu(cpu) {
                assert!(r.ts >= last);
                last = r.ts;
                n += 1;
            }
        }
        assert_eq!(n, trace.recs.len());
        assert_eq!(n as u64, trace.info.total_events);
    }
}

#[test]
fn losses_are_gaps_with_the_numbers_of_perf_script() {
    let capture = mixed();
    let facts = crate::analyze(&capture, &Default::default());
    let folder = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../sample-data/perf-loopback");
    let text = std::fs::read_to_string(folder.join("mixed.lost.txt")).unwrap();
    let mut total = 0;
    for (cpu, lost) in text.lines().map(|l| l.split_once(' ').unwrap()) {
        let (cpu, lost): (u32, u64) = (cpu.parse().unwrap(), lost.parse().unwrap());
        let gaps: Vec<_> = facts.gaps.iter().filter(|g| g.cpu == cpu).collect();
        assert_eq!(gaps.iter().map(|g| g.lost_events.unwrap()).sum::<u64>(), lost);
        assert!(gaps.iter().all(|g| g.cause == "overrun"), "{gaps:?}");
        total += lost;
    }
    assert_eq!(
        (facts.capture.lost_events, facts.capture.losses_of_unknown_size),
        (total, 0)
    );
    super::loss::check_invariants(&facts);
}

/// 25 requests of known size and answers of 50 bytes, each read whole by one call.
#[test]
fn reads_are_those_of_the_program() {
    let capture = super::sample("perf-loopback/perf.data");
    let facts = crate::analyze(&capture, &Default::default());
    super::loss::check_invariants(&facts);
    assert!(facts.capture.complete, "{:?}", facts.capture.problems);
    assert!(facts.capture.recorded("net:net_dev_xmit") && !facts.capture.recorded("qdisc:qdisc_enqueue"));
    assert_eq!(facts.capture.clock, "mono");
    assert!(facts.capture.realtime_offset_ns.is_some());
    let read: Vec<u32> = facts
        .rx
        .iter()
        .filter(|r| r.end == RxEnd::Read)
        .filter_map(|r| r.bytes)
        .collect();
    let want: Vec<u32> = (0..25).flat_map(|i| [100 + i * 37 % 2000, 50]).collect();
    assert_eq!(read, want);
}
