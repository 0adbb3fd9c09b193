//! A small file that claims to hold much.

use netmortem_formats::{Bytes, open_bytes};

use super::{claims_too_much, open};
use crate::export::bundle::{Change, rewrite};
use crate::ingest::check;

/// What the analysis does not decode is not decoded when a bundle is written anew either: it is a loss in both.
#[test]
fn a_hostile_bundle_is_not_blown_up() {
    let mut capture = open("rpc/rpc.nmb");
    claims_too_much(&mut capture, 0, 400);
    let before = check(&capture, &Default::default());
    assert_eq!(before.losses_of_unknown_size, 396);
    assert_eq!(before.total_events % 4, 0);
    assert!(before.total_events > 100);
    let (new, done) = rewrite(&capture, &Change::default(), vec![]).unwrap();
    assert_eq!(done.events, before.total_events);
    let after = check(&open_bytes("new.nmb", Bytes::Owned(new)).unwrap(), &Default::default());
    assert_eq!(after.total_events, before.total_events);
    // That the rest is lost is said at its place: the end of this CPU.
    let cpu = capture.streams[0].cpu;
    let mut gaps = after.gaps.iter().filter(|g| g.cpu == cpu && g.end_ns.is_none());
    assert!(gaps.any(|g| g.lost_events.is_none()), "{:?}", after.gaps);
}
