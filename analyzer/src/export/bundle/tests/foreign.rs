//! A trace.dat and a perf.data made bundles: read, they say what they said.

use netmortem_formats::{Bytes, Capture, open_bytes};

use super::super::{RewriteError, import};
use super::{changed, difference, facts, open};
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
    assert!(matches!(why(&capture), RewriteError::Empty));
}
