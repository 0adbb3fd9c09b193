//! A trace.dat and a perf.data made bundles: read, they say what they said.

use netmortem_formats::{Bytes, Capture, open_bytes};

use super::super::{RewriteError, import};
use super::{changed, claims_too_much, difference, facts, open};
use crate::export::bundle::Change;

fn imported(capture: &Capture) -> Capture {
    let (bytes, done) = import(capture, vec![]).unwrap();
    assert_eq!(bytes.len() as u64, done.bytes);
    let new = open_bytes("made.nmb", Bytes::Owned(bytes)).unwrap();
    assert!(netmortem_formats::bundle::verify(&new).is_empty());
    assert_eq!(new.problems, []);
    // What could not be read of the original is told in the bundle.
    let told = new.end.as_ref().unwrap()["problems"].as_array().unwrap().clone();
    assert!(told.iter().eq(capture.problems.iter().map(|p| p.message.as_str())));
    new
}

/// Every table, every gap, and what is said of the recording: equal.
fn says_the_same(path: &str) {
    let capture = open(path);
    let new = imported(&capture);
    let (before, after) = (facts(&capture), facts(&new));
    assert_eq!(difference(&before, &after), Ok(()), "{path}");
    let (a, b) = (&before.capture, &after.capture);
    // What is counted, of the instances that are read.
    let read = a.streams.iter().filter(|s| s.used).map(|s| s.events);
    assert_eq!(read.sum::<u64>(), b.total_events, "{path}");
    assert_eq!(
        (&a.clock, a.start_ns, a.end_ns),
        (&b.clock, b.start_ns, b.end_ns),
        "{path}"
    );
    assert_eq!(
        (&a.kernel_release, &a.hostname, a.cpus),
        (&b.kernel_release, &b.hostname, b.cpus),
        "{path}"
    );
    assert_eq!(
        (a.realtime_offset_ns, &a.enabled_events),
        (b.realtime_offset_ns, &b.enabled_events),
        "{path}"
    );
    assert_eq!((&a.command, a.complete), (&b.command, b.complete), "{path}");
    assert_eq!(before.unknown, after.unknown, "{path}");
    assert_eq!(capture.comms.len(), new.comms.len(), "{path}");
    let notes = new.manifest.as_ref().unwrap()["notes"].to_string();
    let name = path.rsplit('/').next().unwrap();
    assert!(
        notes.contains(&format!("made of {name} ({} ", capture.format)),
        "{notes}"
    );
    assert!(b.total_events > 100, "{path}");
}

#[test]
fn a_bundle_of_a_trace_dat_says_the_same() {
    says_the_same("tracedat-loopback/trace.dat");
}

#[test]
fn a_bundle_of_a_perf_data_says_the_same() {
    says_the_same("perf-loopback/perf.data");
}

/// It can be cut and redacted like any other.
#[test]
fn a_bundle_of_a_trace_dat_can_be_redacted() {
    let made = imported(&open("tracedat-loopback/trace.dat"));
    let redact = Change {
        redact: true,
        ..Change::default()
    };
    let (new, done, _) = changed(&made, &redact);
    assert!(done.names > 1, "{done:?}");
    assert_eq!(difference(&facts(&made), &facts(&new)), Ok(()));
}

#[test]
fn what_cannot_be_made_a_bundle_is_told() {
    let why = |c: &Capture| import(c, vec![]).unwrap_err();
    let told = why(&open("rpc/rpc.nmb"));
    assert!(matches!(told, RewriteError::NoEvents("bundle")), "{told}");
    let mut capture = open("tracedat-loopback/trace.dat");
    let cycles = netmortem_formats::capture::ClockConversion::Tsc2Nsec {
        mult: 1,
        shift: 0,
        offset: 0,
    };
    capture.clock_conversions.push(cycles);
    assert!(matches!(why(&capture), RewriteError::Cycles));
    capture.clock_conversions.clear();
    capture.streams.clear();
    let told = why(&capture);
    assert!(matches!(told, RewriteError::NoneRead), "{told}");
}

/// Of a file that claims to hold too much, the bundle has what the analysis reads, and the rest is a loss in both.
#[test]
fn what_is_not_decoded_is_lost_in_both() {
    let mut capture = open("tracedat-loopback/trace.dat");
    let sizes = capture.streams.iter().map(|s| size(&capture, s)).enumerate();
    let most = sizes.max_by_key(|s| s.1).unwrap().0;
    let bytes = claims_too_much(&mut capture, most, 6);
    let cpu = capture.streams[0].cpu;
    let before = crate::ingest::check(&capture, &Default::default());
    let mut records = 0;
    capture.streams[0].for_each(&bytes, Default::default(), |i| {
        records += u64::from(matches!(i, Ok(netmortem_formats::StreamItem::Record(_))));
    });
    assert!(records > 50, "{records}");
    assert_eq!((before.total_events, before.losses_of_unknown_size), (4 * records, 2));
    let (made, done) = import(&capture, vec![]).unwrap();
    assert_eq!((done.events, done.left_out), (4 * records, 0));
    let new = open_bytes("made.nmb", Bytes::Owned(made)).unwrap();
    let after = crate::ingest::check(&new, &Default::default());
    assert_eq!(
        (after.total_events, after.lost_events),
        (4 * records, before.lost_events)
    );
    let open_end = |i: &crate::ingest::CaptureInfo| {
        let mut gaps = i.gaps.iter().filter(|g| g.cpu == cpu && g.end_ns.is_none());
        gaps.any(|g| g.lost_events.is_none())
    };
    assert!(open_end(&before) && open_end(&after), "{:?}", after.gaps);
}

/// Losses of ring buffers that no answer uses stay told.
#[test]
fn losses_of_unused_instances_are_told_in_the_notes() {
    let capture = open("tracedat-loopback/trace.dat");
    let before = crate::ingest::check(&capture, &Default::default());
    let unused = || before.streams.iter().filter(|s| !s.used);
    let lost: u64 = unused().map(|s| s.lost_events).sum();
    let unknown: u64 = unused().map(|s| s.losses_of_unknown_size).sum();
    assert!(lost > 0 && unknown > 0, "the sample has an instance that overflowed");
    let (made, _) = import(&capture, vec![]).unwrap();
    let new = open_bytes("made.nmb", Bytes::Owned(made)).unwrap();
    let told = crate::Told::sentences(&new);
    let said = format!(
        "The ring buffers of these other instances lost {lost} events and had {unknown} losses of unknown size"
    );
    assert!(told.notes.iter().any(|n| n.starts_with(&said)), "{:?}", told.notes);
}

/// Decoded bytes of a stream.
fn size(capture: &Capture, stream: &netmortem_formats::Stream) -> usize {
    let of = stream.chunks.iter().map(|c| capture.chunk_bytes(c).unwrap().len());
    of.sum()
}
