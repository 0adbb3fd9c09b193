//! A small file that claims to hold much.

use netmortem_formats::capture::Coding;
use netmortem_formats::{Bytes, open_bytes};

use super::open;
use crate::export::bundle::{Change, rewrite};
use crate::ingest::check;

/// What the analysis does not decode is not decoded when a bundle is written anew either: it is a loss in both.
#[test]
fn a_hostile_bundle_is_not_blown_up() {
    let mut capture = open("rpc/rpc.nmb");
    let mut stream = capture.streams[0].clone();
    let bytes = capture.chunk_bytes(&stream.chunks[0]).unwrap().into_owned();
    // A frame, and behind it so much that it counts as 256 MiB: four of them are within 1 GiB.
    let mut frame = zstd::bulk::compress(&bytes, 1).unwrap();
    frame.resize(600 << 10, 0);
    let file = capture.bytes.len() as u64;
    let mut chunk = stream.chunks[0].clone();
    chunk.range = file..file + frame.len() as u64;
    chunk.coding = Coding::ZstdPrefix { unit: stream.page.size };
    capture.bytes = Bytes::Owned([&capture.bytes[..], &frame].concat());
    stream.chunks = vec![chunk; 400];
    capture.streams = vec![stream];
    capture.cpu_stats.clear();
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
