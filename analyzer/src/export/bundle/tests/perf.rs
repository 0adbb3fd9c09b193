//! Bundles of the perf backend: written anew as sub-buffers, they say what they said.

use netmortem_formats::bundle::{
    BundleWriter, End, FORMAT_VERSION, HEADER_PAGE, Manifest, PagesEncoder, PagesName, PlannedPerf, records_name,
};
use netmortem_formats::{Bytes, CpuStats};

use super::super::notes;
use super::*;
use crate::ingest::{CaptureInfo, GapRow, check};
use crate::tests::sample;

const SAMPLES: [&str; 2] = ["perf-rings/flows.nmb.zst", "perf-rings/lossy.nmb.zst"];

/// Time of the record before each loss, and how many were lost.
fn losses(c: &Capture) -> Vec<Vec<(u64, Option<u64>)>> {
    let of = |s: &netmortem_formats::Stream| {
        let (mut out, mut latest) = (vec![], 0);
        for chunk in &s.chunks {
            s.for_each(&c.chunk_bytes(chunk).unwrap(), Locus::default(), |item| {
                match item.unwrap() {
                    StreamItem::Record(r) => latest = r.ts.max(latest),
                    StreamItem::Lost(l) => out.push((latest, l.count)),
                }
            });
        }
        out
    };
    c.streams.iter().map(of).collect()
}

/// What is counted of a recording.
fn counts(i: &CaptureInfo) -> (u64, u64, u64, &BTreeMap<String, u64>, &[GapRow]) {
    (
        i.total_events,
        i.lost_events,
        i.losses_of_unknown_size,
        &i.events,
        &i.gaps,
    )
}

fn oracle(file: &str) -> Vec<(String, u64)> {
    let path = format!("{}/../sample-data/perf-rings/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let words = text.lines().map(|l| l.split_once(' ').unwrap());
    words.map(|(name, n)| (name.to_owned(), n.parse().unwrap())).collect()
}

/// No member, no plan and no stream of perf is left.
fn is_of_sub_buffers(c: &Capture) {
    assert!(c.complete && c.problems.is_empty(), "{:?}", c.problems);
    assert!(netmortem_formats::bundle::verify(c).is_empty());
    assert!(c.streams.iter().all(|s| s.perf.is_none() && s.page.size == 4096));
    assert!(c.members.iter().all(|m| !m.name.starts_with("perf/")));
    assert_eq!(c.members.iter().filter(|m| m.name == HEADER_PAGE).count(), 1);
    assert_eq!(c.manifest.as_ref().unwrap()["plan"].get("perf"), None);
    let notes = &crate::Told::sentences(c).notes;
    assert!(
        notes.iter().any(|n| n.contains("was recorded with perf events")),
        "{notes:?}"
    );
}

/// Nothing asked: every record, every loss at its place, every table.
#[test]
fn records_of_perf_become_sub_buffers() {
    for path in SAMPLES {
        let capture = sample(path);
        assert!(capture.streams.iter().all(|s| s.perf.is_some()));
        let (new, done, _) = changed(&capture, &Change::default());
        is_of_sub_buffers(&new);
        assert_eq!(records(&new), records(&capture), "{path}");
        assert_eq!(losses(&new), losses(&capture), "{path}");
        assert_eq!(done.left_out, [] as [&str; 0]);
        assert_eq!(new.cpu_stats, capture.cpu_stats);
        assert_eq!(new.snapshots, capture.snapshots);
        let (before, after) = (facts(&capture), facts(&new));
        assert_eq!(difference(&before, &after), Ok(()), "{path}");
        assert_eq!(counts(&before.capture), counts(&after.capture), "{path}");
        assert_eq!((before.gaps, before.unknown), (after.gaps, after.unknown), "{path}");
        // Sub-buffers like any other now.
        let (again, _, _) = changed(&new, &Change::default());
        is_of_sub_buffers(&again);
        assert_eq!((records(&again), losses(&again)), (records(&new), losses(&new)));
    }
}

/// What a script without our code counts in the rings is in the sub-buffers.
#[test]
fn sub_buffers_hold_what_is_counted_in_the_rings() {
    for name in ["flows", "lossy"] {
        let new = changed(&sample(&format!("perf-rings/{name}.nmb.zst")), &Change::default()).0;
        let info = check(&new, &Default::default());
        let mut want = BTreeMap::new();
        for (event, n) in oracle(&format!("{name}.counts.txt")) {
            want.insert(event, n);
        }
        assert_eq!(want.remove("total"), Some(info.total_events));
        let bare = |(key, n): (&String, &u64)| (key.rsplit(':').next().unwrap().to_owned(), *n);
        assert_eq!(info.events.iter().map(bare).collect::<BTreeMap<_, _>>(), want);
        let lost: Vec<(String, u64)> = new
            .streams
            .iter()
            .zip(losses(&new))
            .filter(|(_, l)| !l.is_empty())
            .map(|(s, l)| (s.cpu.to_string(), l.iter().map(|l| l.1.unwrap()).sum()))
            .collect();
        assert_eq!(lost, oracle(&format!("{name}.lost.txt")), "{name}");
        assert_eq!(lost.is_empty(), name == "flows");
    }
}

/// Windows that begin and end at any record, also beside a loss: the records of the window and no other, and the losses that may
/// reach into it.
#[test]
fn a_cut_of_perf_holds_its_window() {
    for path in SAMPLES {
        let capture = sample(path);
        let (all, lost) = (records(&capture), losses(&capture));
        let mut times: Vec<u64> = all.iter().flatten().map(|r| r.0).collect();
        times.sort_unstable();
        let (first, last) = (times[0], times[times.len() - 1]);
        let third = (last - first) / 3;
        let mut windows = vec![
            (first + third, last - third),
            (0, times[times.len() / 2]),
            (last - third, u64::MAX),
        ];
        for (at, _) in lost.iter().flatten().filter(|l| l.0 > 0) {
            windows.extend([(*at, *at), (at + 1, last), (first, *at), (first, at - 1)]);
        }
        for window in windows {
            let (from, to) = window;
            let change = Change {
                window: Some(window),
                ..Change::default()
            };
            let (new, done, _) = changed(&capture, &change);
            is_of_sub_buffers(&new);
            let inside: Vec<Vec<_>> = (all
                .iter()
                .map(|cpu| cpu.iter().filter(|r| (from..=to).contains(&r.0)).cloned().collect()))
            .collect();
            assert_eq!(records(&new), inside, "{path} {window:?}");
            assert_eq!(done.events as usize, inside.iter().map(Vec::len).sum::<usize>());
            assert_eq!(done.all() as usize, times.len());
            // A loss reaches from the record before it to the one behind it.
            for (((cpu, losses), records), s) in lost.iter().enumerate().zip(&all).zip(&capture.streams) {
                let reaches = |at: u64| {
                    let next = records.iter().map(|r| r.0).find(|t| *t > at);
                    at <= to && next.is_none_or(|t| t >= from)
                };
                let mut want: u64 = losses.iter().filter(|l| reaches(l.0)).map(|l| l.1.unwrap()).sum();
                if records.last().is_none_or(|r| r.0 <= to) {
                    let told: u64 = losses.iter().map(|l| l.1.unwrap()).sum();
                    let of = capture.cpu_stats.iter().find(|c| c.cpu == s.cpu).unwrap();
                    want += of.overrun.saturating_sub(told);
                }
                let have = new.cpu_stats.iter().find(|c| c.cpu == s.cpu).unwrap();
                assert_eq!(
                    (have.overrun, have.read_events),
                    (want, inside[cpu].len() as u64),
                    "{path} {window:?}"
                );
            }
            let info = check(&new, &Default::default());
            let overrun: u64 = new.cpu_stats.iter().map(|s| s.overrun).sum();
            assert_eq!(
                (info.lost_events, info.losses_of_unknown_size),
                (overrun, 0),
                "{path} {window:?}"
            );
            // What the kernel neither wrote nor called lost may be of any time.
            let missing: u64 = capture.cpu_stats.iter().map(|s| s.dropped_events).sum();
            assert_eq!(info.lost_at_unknown_time, missing, "{path} {window:?}");
        }
    }
}

/// TIME, CPU and RAW, as the recorder asks for.
const SAMPLE_TYPE: u64 = 1 << 2 | 1 << 7 | 1 << 10;

fn record(kind: u32, body: &[u8]) -> Vec<u8> {
    let size = u16::try_from(body.len() + 8).unwrap();
    [&kind.to_le_bytes()[..], &[0, 0], &size.to_le_bytes(), body].concat()
}

/// An event of so many bytes with its time in it.
fn event(ts: u64, len: u32) -> Vec<u8> {
    let mut raw = [&77u16.to_le_bytes()[..], &[0; 6], &ts.to_le_bytes()].concat();
    raw.resize(len as usize, 0);
    record(9, &[&ts.to_le_bytes()[..], &[0; 8], &len.to_le_bytes(), &raw].concat())
}

fn loss(n: u64, ts: u64) -> Vec<u8> {
    record(
        2,
        &[&5u64.to_le_bytes()[..], &n.to_le_bytes(), &ts.to_le_bytes(), &[0; 8]].concat(),
    )
}

/// CPU 0 with these members; CPU 1 was recorded and silent.
fn bundle(members: &[Vec<Vec<u8>>], overrun: u64) -> Capture {
    let mut m = Manifest {
        format_version: FORMAT_VERSION,
        ..Manifest::default()
    };
    m.clocks.trace_clock = "mono".into();
    m.plan.cpus = vec![0, 1];
    // What no kernel has: of no meaning for records of perf.
    m.plan.sub_buffer_bytes = 333;
    m.plan.perf = Some(PlannedPerf {
        sample_type: SAMPLE_TYPE,
        ..PlannedPerf::default()
    });
    let mut w = BundleWriter::new(vec![], &m).unwrap();
    w.append(HEADER_PAGE, b"of the kernel").unwrap();
    for (of, sequence) in members.iter().zip(1..) {
        let frame = PagesEncoder::new(1).unwrap().encode(&of.concat()).unwrap();
        w.append(&records_name(PagesName { cpu: 0, sequence }), &frame).unwrap();
    }
    let of = |cpu: u32, overrun: u64| CpuStats {
        cpu,
        overrun,
        ..CpuStats::default()
    };
    let end = End {
        cpu_stats: vec![of(0, overrun), of(1, 0)],
        ..End::default()
    };
    open_bytes("perf.nmb", Bytes::Owned(w.finish(end).unwrap().0)).unwrap()
}

/// An interrupt's record can find room before an older one, also in another member; losses stay behind what came before them.
#[test]
fn records_that_were_overtaken_are_in_order() {
    let mut capture = bundle(
        &[
            vec![
                event(100, 20),
                event(130, 20),
                event(120, 20),
                event(140, 20),
                loss(5, 150),
                event(135, 20),
                event(160, 20),
            ],
            vec![
                event(155, 28),
                loss(7, 170),
                event(200, 20),
                event(200, 28),
                event(210, 20),
            ],
        ],
        5 + 7 + 3,
    );
    let (new, done, _) = changed(&capture, &Change::default());
    is_of_sub_buffers(&new);
    let times: Vec<u64> = records(&new)[0].iter().map(|r| r.0).collect();
    assert_eq!(times, [100, 120, 130, 135, 140, 155, 160, 200, 200, 210]);
    assert_eq!(records(&new), records(&capture));
    assert_eq!(done.events, 10);
    assert_eq!(losses(&new), [vec![(140, Some(5)), (160, Some(7))], vec![]]);
    let (before, after) = (check(&capture, &Default::default()), check(&new, &Default::default()));
    let gaps: Vec<_> = after
        .gaps
        .iter()
        .map(|g| (g.start_ns, g.end_ns, g.lost_events))
        .collect();
    let want = [
        (Some(140), Some(155), Some(5)),
        (Some(160), Some(200), Some(7)),
        // By end.json alone.
        (Some(210), None, Some(3)),
    ];
    assert_eq!(gaps, want);
    // As of the original, where the end of the first is the next record of the same member.
    let gaps: Vec<_> = before
        .gaps
        .iter()
        .map(|g| (g.start_ns, g.end_ns, g.lost_events))
        .collect();
    assert_eq!(gaps, [(Some(140), Some(160), Some(5)), want[1], want[2]]);
    assert_eq!((before.lost_events, after.lost_events), (15, 15));
    // A cut has no counts of the kernel: what only these tell is a loss at its end.
    let cut = |from, to| {
        changed(
            &capture,
            &Change {
                window: Some((from, to)),
                ..Change::default()
            },
        )
        .0
    };
    assert_eq!(
        losses(&cut(150, 250)),
        [vec![(0, Some(5)), (160, Some(7)), (210, Some(3))], vec![]]
    );
    assert_eq!(losses(&cut(156, 160)), [vec![(160, Some(7))], vec![]]);
    assert_eq!(losses(&cut(100, 135)), [vec![], vec![]]);
    assert_eq!(check(&cut(150, 250), &Default::default()).lost_events, 15);
    // What the rings tell of is not missing as well.
    (capture.cpu_stats[0].overrun, capture.cpu_stats[0].dropped_events) = (3, 13);
    let window = Change {
        window: Some((100, 155)),
        ..Change::default()
    };
    let info = check(&changed(&capture, &window).0, &Default::default());
    assert_eq!((info.lost_events, info.lost_at_unknown_time), (5, 16 - 12));
}

/// What no sub-buffer can hold, and bytes that are no record, are losses.
#[test]
fn what_is_no_record_is_a_loss() {
    let capture = bundle(
        &[
            vec![event(1, 20), event(2, 5000), event(3, 20), vec![9, 0, 0, 0, 0, 0, 3, 0]],
            vec![event(4, 20)],
        ],
        0,
    );
    let (new, done, _) = changed(&capture, &Change::default());
    assert_eq!(done.events, 3);
    assert_eq!(losses(&new)[0], [(1, Some(1)), (3, None)]);
    assert_eq!(records(&new)[0].iter().map(|r| r.0).collect::<Vec<_>>(), [1, 3, 4]);
}

/// That only some tasks were recorded stays told; which, not in a redacted bundle.
#[test]
fn whose_events_perf_recorded_is_told() {
    let of = |cgroup: &str, pids: &[u32]| PlannedPerf {
        cgroup: cgroup.into(),
        pids: pids.into(),
        because: "tracefs of shop".into(),
        ..PlannedPerf::default()
    };
    let shop = notes::of_perf(&of("/sys/fs/cgroup/shop.slice", &[]));
    assert!(
        shop.contains("the tasks of cgroup /sys/fs/cgroup/shop.slice ran"),
        "{shop}"
    );
    let pids = notes::of_perf(&of("", &[4711, 4712]));
    assert!(pids.contains("the tasks of processes 4711, 4712 ran"), "{pids}");
    let all = notes::of_perf(&of("", &[]));
    assert!(!all.contains("tasks"), "{all}");
    for said in [shop, pids] {
        let redacted = notes::redacted(&[said], None);
        assert!(
            redacted[0].contains("the tasks of some processes or a cgroup ran"),
            "{redacted:?}"
        );
        assert!(
            !redacted[0].contains("4711") && !redacted[0].contains("shop"),
            "{redacted:?}"
        );
        assert_eq!(notes::redacted(&redacted, None), redacted);
    }
    assert_eq!(notes::redacted(std::slice::from_ref(&all), None), [all]);
    let mut capture = sample(SAMPLES[0]);
    capture.manifest.as_mut().unwrap()["plan"]["perf"]["cgroup"] = "shop.slice".into();
    let redact = Change {
        redact: true,
        ..Change::default()
    };
    let cut = changed(&capture, &Change::default()).0;
    for new in [changed(&capture, &redact).0, changed(&cut, &redact).0] {
        let manifest = new.manifest.as_ref().unwrap().to_string();
        assert!(
            manifest.contains("some processes or a cgroup") && !manifest.contains("shop.slice"),
            "{manifest}"
        );
    }
}
