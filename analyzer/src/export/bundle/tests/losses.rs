//! Losses in cuts: each stays where it is known to be, and what is not known to be there is not told as if it were.

use netmortem_formats::CpuStats;

use super::*;
use crate::analyses::quality::{Level, answer};
use crate::ingest::{CaptureInfo, check};
use crate::told::Part;

fn info(c: &Capture) -> CaptureInfo {
    check(c, &Default::default())
}

fn within(c: &Capture, window: (u64, u64)) -> Capture {
    let change = Change {
        window: Some(window),
        ..Change::default()
    };
    changed(c, &change).0
}

/// Begin, middle and end.
fn span(c: &Capture) -> (u64, u64, u64) {
    let i = info(c);
    let (start, end) = (i.start_ns.unwrap() as u64, i.end_ns.unwrap() as u64);
    (start, start.midpoint(end), end)
}

/// What a slice tells of losses: with a number, without one, of a time that nothing tells; and how many gaps it has.
fn lost(c: &Capture) -> (u64, u64, u64, usize) {
    let i = info(c);
    (
        i.lost_events,
        i.losses_of_unknown_size,
        i.lost_at_unknown_time,
        i.gaps.len(),
    )
}

/// MISSED_EVENTS without a number on these sub-buffers of the first chunk of a CPU, as where a page has no room for one.
fn missed(c: &mut Capture, stream: usize, pages: &[usize]) {
    let chunk = c.streams[stream].chunks[0].clone();
    let (page, mut bytes) = (c.streams[stream].page, c.chunk_bytes(&chunk).unwrap().into_owned());
    assert!(bytes.len() / page.size as usize > pages.iter().copied().max().unwrap());
    for of in pages {
        let at = of * page.size as usize + page.commit_offset as usize;
        let commit = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) | 1 << 31;
        bytes[at..at + 4].copy_from_slice(&commit.to_le_bytes());
    }
    let frame = zstd::bulk::compress(&bytes, 1).unwrap();
    let from = c.bytes.len() as u64;
    c.streams[stream].chunks[0].range = from..from + frame.len() as u64;
    c.bytes = Bytes::Owned([&c.bytes[..], &frame].concat());
}

/// What no sub-buffer marks and the kernel calls overwritten is at the end of its CPU, in a cut that reaches there, too, and
/// counted once.
#[test]
fn losses_that_only_the_kernel_counted_stay() {
    let mut capture = open("rpc/rpc.nmb");
    assert!(!capture.streams[0].instance.is_empty());
    capture.cpu_stats[0].overrun = 8;
    let (start, middle, end) = span(&capture);
    let before = info(&capture);
    assert_eq!(lost(&capture), (8, 0, 0, 1));
    for window in [(start, end), (middle, end), (0, u64::MAX)] {
        let after = info(&within(&capture, window));
        assert_eq!((after.lost_events, &after.gaps), (8, &before.gaps));
    }
    let first = within(&capture, (start, middle));
    assert_eq!(lost(&first), (0, 0, 0, 0));
    assert!(Part::of(&first).slice.unwrap().lost_at_unknown_time.is_none());
    assert!(answer(&facts(&first)).sentence.starts_with("Complete"));
}

/// Of what a full ring refused nothing tells when it was: no cut in time says that it lost it, or that it did not.
#[test]
fn losses_without_a_time_are_not_known_to_be_of_a_window() {
    let refuse: [fn(&mut CpuStats); 2] = [|s| s.dropped_events = 5_000, |s| s.commit_overrun = 5_000];
    for refuse in refuse {
        let mut capture = open("rpc/rpc.nmb");
        refuse(&mut capture.cpu_stats[0]);
        let (start, middle, end) = span(&capture);
        for window in [(start, middle), (middle, end), (0, u64::MAX)] {
            let slice = within(&capture, window);
            assert_eq!(lost(&slice), (0, 0, 5_000, 0), "{window:?}");
            let told = crate::Told::sentences(&slice).slice;
            let note =
                "The kernel counted 5000 events that the original does not have, and nothing tells when they were";
            assert!(told[1].starts_with(note), "{told:?}");
            let quality = answer(&facts(&slice));
            assert_eq!(quality.level, Level::Degraded);
            assert!(!quality.sentence.contains("no event was lost"), "{}", quality.sentence);
            assert!(
                quality.sentence.contains("of 5000 events that the kernel counted"),
                "{}",
                quality.sentence
            );
        }
        // Not a cut in time: all of it is there, where the analysis sees it in the original.
        let cut = Change {
            cut: Some(super::super::Cut::default()),
            ..Change::default()
        };
        let whole = changed(&capture, &cut).0;
        assert_eq!(info(&whole).gaps, info(&capture).gaps);
        assert_eq!(lost(&whole), (5_000, 0, 0, 1));
    }
}

/// It stays so in a slice of the slice, and in one whose names are left out; an older writer's note says it, too.
#[test]
fn losses_without_a_time_stay_told() {
    let mut capture = open("rpc/rpc.nmb");
    (capture.cpu_stats[0].dropped_events, capture.cpu_stats[0].commit_overrun) = (30, 4);
    let (start, middle, _) = span(&capture);
    let slice = within(&capture, (start, middle));
    let redact = Change {
        redact: true,
        ..Change::default()
    };
    let older = |field: bool| {
        let mut of = within(&capture, (start, middle));
        let manifest = of.manifest.as_mut().unwrap().as_object_mut().unwrap();
        let of_field = manifest["slice"].as_object_mut().unwrap();
        assert_eq!(of_field.remove("lost_at_unknown_time"), Some(34.into()));
        if !field {
            manifest.remove("slice");
        }
        of
    };
    for of in [&slice, &older(true), &older(false)] {
        assert_eq!(lost(of), (0, 0, 34, 0));
        let again = within(of, (start, start.midpoint(middle)));
        assert_eq!(lost(&again), (0, 0, 34, 0));
        let redacted = changed(of, &redact).0;
        assert_eq!(lost(&redacted), (0, 0, 34, 0));
        let told = crate::Told::sentences(&redacted).slice;
        let notes = told.iter().filter(|n| n.starts_with("The kernel counted 34 events"));
        assert_eq!(notes.count(), 1, "{told:?}");
        assert_eq!(lost(&changed(&redacted, &redact).0), (0, 0, 34, 0));
    }
}

/// A loss without a number that is before the window is not in the slice, and neither is its number.
#[test]
fn a_loss_before_the_window_is_not_at_its_end() {
    let mut capture = open("rpc/rpc.nmb");
    missed(&mut capture, 0, &[1]);
    capture.cpu_stats[0].overrun = 50;
    assert_eq!(lost(&capture), (50, 1, 0, 1));
    let (start, _, end) = span(&capture);
    let behind = info(&capture).gaps[0].end_ns.unwrap() as u64;
    assert!(behind < end, "{behind} {end}");
    let slice = within(&capture, (behind + 1, end));
    assert_eq!(lost(&slice), (0, 0, 0, 0));
    assert!(answer(&facts(&slice)).sentence.contains("Complete"));
    assert_eq!(lost(&within(&capture, (start, behind))), (50, 1, 0, 1));
}

/// Of two such losses the window holds one: that it lost events is known, how many of the number are its own is not.
#[test]
fn a_number_of_several_losses_is_of_no_one_of_them() {
    let mut capture = open("rpc/rpc.nmb");
    missed(&mut capture, 0, &[1, 5]);
    capture.cpu_stats[0].overrun = 50;
    let gaps = info(&capture).gaps;
    let (first, second) = (gaps[0].end_ns.unwrap() as u64, gaps[1].start_ns.unwrap() as u64);
    assert!(first < second && gaps.len() == 2, "{gaps:?}");
    let (start, _, end) = span(&capture);
    for window in [(start, second - 1), (first + 1, end)] {
        let slice = within(&capture, window);
        assert_eq!(lost(&slice), (0, 1, 50, 1), "{window:?}");
        assert_eq!(slice.cpu_stats[0].overrun, 0);
    }
    assert_eq!(lost(&within(&capture, (start, end))), (50, 2, 0, 2));
}

/// What was lost on a CPU without a ring buffer is not lost from sight.
#[test]
fn losses_of_a_cpu_without_records_stay_told() {
    let mut capture = open("rpc/rpc.nmb");
    capture.cpu_stats.push(CpuStats {
        cpu: 77,
        overrun: 3,
        commit_overrun: 4,
        ..CpuStats::default()
    });
    let (start, middle, _) = span(&capture);
    assert_eq!(lost(&capture), (7, 0, 0, 0));
    assert_eq!(lost(&within(&capture, (start, middle))), (0, 0, 7, 0));
}

/// Damage that only decoding finds: bytes inside a compressed member.
#[test]
fn what_is_made_of_a_damaged_recording_is_not_whole() {
    let whole = open("rpc/rpc.nmb");
    let mut bytes = whole.bytes.to_vec();
    let range = whole
        .streams
        .iter()
        .flat_map(|s| &s.chunks)
        .map(|c| c.range.clone())
        .next()
        .unwrap();
    for b in &mut bytes[range.start as usize + 200..range.start as usize + 260] {
        *b ^= 0x5a;
    }
    let damaged = netmortem_formats::open_bytes("part.nmb", Bytes::Owned(bytes)).unwrap();
    assert!(damaged.complete, "opening does not decode");
    assert!(!info(&damaged).complete);
    let redact = Change {
        redact: true,
        ..Change::default()
    };
    let (_, middle, end) = span(&damaged);
    for c in [changed(&damaged, &redact).0, within(&damaged, (middle, end))] {
        let i = info(&c);
        assert!(!i.complete && !i.problems.is_empty());
        assert_eq!(answer(&facts(&c)).level, Level::Bad);
    }
}

/// A recording that was cut is cut in all that is made of it: a slice, a redacted one, and a slice of the slice. A whole one is whole in them.
#[test]
fn what_is_made_of_a_cut_recording_is_not_whole() {
    let whole = open("rpc/rpc.nmb");
    let bytes = whole.bytes.to_vec();
    // In the middle of the events of its last CPU.
    let pages = whole.streams.iter().flat_map(|s| &s.chunks).map(|c| c.range.clone());
    let last = pages.max_by_key(|r| r.end).unwrap();
    let part = bytes[..last.start.midpoint(last.end) as usize].to_vec();
    let cut = netmortem_formats::open_bytes("part.nmb", Bytes::Owned(part)).unwrap();
    assert!(whole.complete && !cut.complete);
    let (start, middle, end) = span(&cut);
    for (capture, complete) in [(&whole, true), (&cut, false)] {
        let slice = within(capture, (start, middle));
        let again = within(&slice, (start, middle - (middle - start) / 2));
        let redact = Change {
            redact: true,
            ..Change::default()
        };
        let redacted = changed(capture, &redact).0;
        let till_the_end = within(capture, (middle, end));
        for c in [&slice, &again, &redacted, &till_the_end] {
            let i = info(c);
            assert_eq!(
                (c.complete, i.complete, i.problems.is_empty()),
                (complete, complete, complete)
            );
            let level = answer(&facts(c)).level;
            assert_eq!(level != Level::Bad, complete, "{level:?}");
        }
        // Said once, however often it is cut.
        let said = again
            .problems
            .iter()
            .filter(|p| p.message.contains("was made of"))
            .count();
        assert_eq!(said, usize::from(!complete));
    }
}
