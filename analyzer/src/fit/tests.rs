use std::path::Path;

use netmortem_formats::{Capture, open_path};

use super::*;
use crate::ingest::{ChunkSpan, Options, Trace};

fn sawtooth() -> Capture {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sample-data/sawtooth/sawtooth.nmb");
    open_path(&path).unwrap().unwrap()
}

/// Memory of half its bytes.
fn half(of: &Capture) -> u64 {
    BASE + (needed(of) - BASE) / 2
}

#[test]
fn what_memory_holds_is_left_as_it_is() {
    let whole = sawtooth();
    let bytes: u64 = spans(&whole).chunks.iter().map(|c| c.ring_bytes).sum();
    assert_eq!(needed(&whole), BASE + 6 * bytes);
    let events = whole.bytes.len();
    let (same, selected) = fit(whole, None, u64::MAX).unwrap();
    assert_eq!((same.bytes.len(), selected), (events, None));
    let enough = needed(&same);
    assert_eq!(fit(same, None, enough).unwrap().1, None);
}

/// The part is the recording's last: every event of the original since then, counted in the original itself.
#[test]
fn what_it_does_not_hold_is_cut_at_its_begin() {
    let whole = sawtooth();
    let all = Trace::read(&whole, &Options::default());
    let times: Vec<i64> = all.events(|_| true).map(|e| e.ts).collect();
    let memory = half(&whole);
    let (part, selected) = fit(whole, None, memory).unwrap();
    let selected = selected.unwrap();
    let (from, to) = selected.window;
    let from_ns = i64::try_from(from).unwrap();
    assert_eq!(to, u64::MAX);
    let kept = times.iter().filter(|t| **t >= from_ns).count();
    let read = Trace::read(&part, &Options::default());
    assert_eq!(read.events(|_| true).count(), kept);
    // As much as fits, but for the chunks at the edge: half a MiB each here, on two CPUs.
    assert!(needed(&part) <= memory, "{} {memory}", needed(&part));
    assert!(needed(&part) > memory - 6 * (2 << 20), "{} {memory}", needed(&part));
    // A whole number of ms that can be typed.
    let since = (from_ns - times[0]) as u64;
    assert_eq!(since % MS, 0);
    assert_eq!(
        selected.option,
        format!("--time {}.{:03}s..", since / 1_000_000_000, since / MS % 1000)
    );
    let said = selected.because.unwrap();
    let rest = (times[times.len() - 1] - from_ns) as f64 / 1e9;
    assert!(said.contains(&format!("{rest:.3} s are analyzed")), "{said}");
    // It says that it is a slice.
    let of = crate::told::Part::of(&part).slice.unwrap();
    assert_eq!(of.events_kept, Some(kept as u64));
    assert_eq!(of.events_cut, Some((times.len() - kept) as u64));
}

#[test]
fn what_was_asked_for_is_cut_only_where_memory_does_not_hold_it() {
    let memory = half(&sawtooth());
    let (_, few) = fit(sawtooth(), Some((Some(500_000_000), Some(700_000_000))), memory).unwrap();
    let few = few.unwrap();
    assert_eq!((few.option.as_str(), few.because), ("--time 0.500s..0.700s", None));
    // It ends where it was asked to end.
    let (_, most) = fit(sawtooth(), Some((None, Some(2_000_000_000))), memory).unwrap();
    let most = most.unwrap();
    assert!(most.option.ends_with("..2.000s"), "{}", most.option);
    assert!(most.window.0 > 0 && most.because.unwrap().contains("To analyze all 2.000 s"));
    // An exact time stays exact.
    let (_, exact) = fit(sawtooth(), Some((Some(500_000_001), None)), memory * 4).unwrap();
    assert_eq!(exact.unwrap().option, "--time 0.500000001s..");
    assert!(matches!(
        fit(sawtooth(), Some((Some(900_000_000_000), None)), u64::MAX),
        Err(FitError::Rewrite(RewriteError::Empty))
    ));
    assert!(matches!(fit(sawtooth(), None, BASE - 1), Err(FitError::TooLittle)));
}

/// A part of another tool's recording is of a bundle of all of it, in memory: refused before it is made where that has no room.
#[test]
fn what_another_tool_recorded_is_cut_only_where_memory_holds_all_of_it_as_a_bundle() {
    let tracedat = || {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sample-data/tracedat-loopback/trace.dat");
        open_path(&path).unwrap().unwrap()
    };
    let asked = Some((Some(0), Some(1_000_000_000)));
    let enough = BASE + ring_bytes(&tracedat()) / 2;
    let made = as_bundle(tracedat(), enough).unwrap();
    // The estimate is above what there is then.
    assert!(made.format == "bundle" && 2 * made.bytes.len() as u64 <= enough);
    for refused in [
        fit(tracedat(), asked, enough - 1).unwrap_err(),
        as_bundle(tracedat(), enough - 1).unwrap_err(),
    ] {
        let FitError::Import { format, needs, may } = &refused else {
            panic!("{refused}")
        };
        assert_eq!(
            (*format, needs.as_str(), may.as_str()),
            ("trace.dat", "48 MiB", "48 MiB")
        );
    }
}

/// A chunk of 1,000 bytes each second.
fn chunks(seconds: u64) -> Spans {
    let s = 1_000_000_000;
    let of = |i: u64| ChunkSpan {
        first: 1000 * s + i * s,
        last: 1000 * s + i * s + s - 1,
        ring_bytes: 1000,
    };
    Spans {
        chunks: (0..seconds).map(of).collect(),
    }
}

#[test]
fn a_flight_keeps_what_is_around_its_trigger() {
    let s = 1_000_000_000;
    let mut capture = sawtooth();
    let held = |capture: &Capture, room: u64| held(capture, &chunks(100), BASE + 6 * room, None).unwrap();
    let at = |t: u64| serde_json::json!({"flight": {"trigger": {"clock": {"monotonic_ns": 1000 * s + t * s}}}});
    capture.manifest = Some(at(50));
    // Three of nine chunks from the trigger on, the others before it.
    let around = held(&capture, 9_000);
    assert_eq!(around.option, "--time 44.000s..52.999s");
    assert!(
        around
            .because
            .unwrap()
            .contains("8.999 s are analyzed, from 44.000 s on")
    );
    // All that came after it is less than that.
    capture.manifest = Some(at(98));
    assert_eq!(held(&capture, 9_000).option, "--time 91.000s..");
    // Where not even its own chunk has room behind it, the part ends with the trigger, not with the ms before it.
    let tight = serde_json::json!({"flight": {"trigger": {"clock": {"monotonic_ns": 1050 * s + 700}}}});
    capture.manifest = Some(tight);
    assert_eq!(held(&capture, 2_000).window.1, 1050 * s + 700);
    // Of another time: as without.
    capture.manifest = Some(at(500));
    assert_eq!(held(&capture, 9_000).option, "--time 91.000s..");
    capture.manifest = None;
    assert_eq!(held(&capture, 9_000).option, "--time 91.000s..");
    // Room for nothing is the last chunk, and no time is no event's.
    assert_eq!(held(&capture, 0).option, "--time 99.000s..");
    assert!(super::held(&capture, &Spans::default(), 0, None).is_none());
}
