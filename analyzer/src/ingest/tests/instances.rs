use super::{poll, script};
use crate::ingest::{CaptureInfo, Trace};
use crate::testing::{Ctx, N, Script};
use netmortem_formats::Capture;

/// Events of the second script as those of another tracing instance.
fn joined(a: &Script, b: &Script) -> Capture {
    let mut c = a.capture();
    let other = b.capture();
    let at = c.bytes.len() as u64;
    let mut bytes = c.bytes.to_vec();
    bytes.extend_from_slice(&other.bytes);
    c.bytes = netmortem_formats::Bytes::Owned(bytes);
    for mut s in other.streams {
        s.instance = "second".into();
        for k in &mut s.chunks {
            k.range = k.range.start + at..k.range.end + at;
        }
        c.streams.push(s);
    }
    c
}
fn used(i: &CaptureInfo) -> Vec<(&str, bool)> {
    i.streams.iter().map(|s| (s.instance.as_str(), s.used)).collect()
}

/// A packet recorded by two instances must not become two packets: the fuller instance is used.
#[test]
fn overlapping_instances_are_not_merged() {
    let (mut a, mut b) = (script(), script());
    poll(&mut a, 10, 0, 1);
    poll(&mut b, 10, 0, 1);
    poll(&mut b, 20, 0, 2);
    let c = joined(&a, &b);
    let t = Trace::read(&c, &Default::default());
    assert_eq!(used(&t.info), [("", false), ("second", true)]);
    assert_eq!((t.recs.len(), t.info.total_events), (2, 3));
    assert_eq!(t.info.start_ns, Some(10));
}

/// Instances that record different events are one recording.
#[test]
fn instances_of_different_events_are_merged() {
    let (mut a, mut b) = (script(), script());
    poll(&mut a, 10, 0, 1);
    b.ev(5, 0, Ctx::Task(1), "skb:consume_skb", &[("skbaddr", N(1))]);
    let c = joined(&a, &b);
    let t = Trace::read(&c, &Default::default());
    assert_eq!(used(&t.info), [("", true), ("second", true)]);
    assert_eq!(t.recs.iter().map(|r| r.ts).collect::<Vec<_>>(), [5, 10]);
}

/// An instance left out leaves its losses out of the reconstruction, not out of `check`.
#[test]
fn losses_of_an_unused_instance_are_told_but_weaken_nothing() {
    let (mut a, mut b) = (script(), script());
    poll(&mut a, 10, 0, 1);
    a.lost(0, Some(3));
    poll(&mut b, 10, 0, 1);
    poll(&mut b, 20, 0, 2);
    let c = joined(&a, &b);
    let t = Trace::read(&c, &Default::default());
    assert!(t.gaps.is_empty());
    assert_eq!((t.info.gaps.len(), t.info.lost_events), (1, 3));
}
