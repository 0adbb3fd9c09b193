#![allow(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use super::*;
use crate::{StreamItem, open_bytes, open_path};

fn sample(path: &str) -> Capture {
    let file = format!("{}/../sample-data/{path}", env!("CARGO_MANIFEST_DIR"));
    open_path(file.as_ref()).unwrap().unwrap()
}

/// A pcap in ns of one packet for each time.
fn pcap(times: &[u64]) -> Capture {
    let mut b = 0xa1b2_3c4d_u32.to_le_bytes().to_vec();
    b.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    for n in [96u32, 1] {
        b.extend(n.to_le_bytes());
    }
    for t in times {
        for n in [(t / 1_000_000_000) as u32, (t % 1_000_000_000) as u32, 3, 60] {
            b.extend(n.to_le_bytes());
        }
        b.extend([7, 8, 9]);
    }
    open_bytes("dump.pcap", Bytes::Owned(b)).unwrap()
}

fn realtime(c: &Capture) -> u64 {
    c.clock_pairs[0].realtime_ns.unwrap().cast_unsigned()
}

#[test]
fn packets_become_a_member() {
    let base = sample("rpc/rpc.nmb");
    let (at, members, streams) = (realtime(&base), base.members.len(), base.streams.clone());
    let joined = join(base, &pcap(&[at + 5, at + 9]), Some("eth7")).unwrap();
    assert_eq!((joined.members.len(), &joined.streams), (members + 1, &streams));
    let taps = pcapng::taps(&joined);
    assert_eq!(taps.len(), 1);
    let t = &taps[0];
    assert_eq!((t.name.as_str(), t.link_type, t.packets, t.outbound), ("eth7", 1, 2, 0));
    assert_eq!((t.captured_bytes, t.original_bytes), (6, 120));
    assert_eq!(t.first_last_ns, Some(((at + 5).cast_signed(), (at + 9).cast_signed())));
    assert!(t.problems.is_empty(), "{:?}", t.problems);
    // And a second one.
    let joined = join(joined, &pcap(&[at]), None).unwrap();
    let names: Vec<(String, u64)> = pcapng::taps(&joined).into_iter().map(|t| (t.name, t.packets)).collect();
    assert_eq!(names, [("eth7".to_owned(), 2), (String::new(), 1)]);
}

/// A bundle's own chunks are read as before.
#[test]
fn events_stay_where_they_are() {
    let count = |c: &Capture| -> usize {
        let chunks = c.streams.iter().flat_map(|s| s.chunks.iter().map(move |k| (s, k)));
        let events = chunks.map(|(s, k)| {
            let bytes = c.chunk_bytes(k).unwrap();
            let items = s.items(&bytes, Locus::default());
            items.filter(|i| matches!(i, Ok(StreamItem::Record(_)))).count()
        });
        events.sum()
    };
    let base = sample("rpc/rpc.nmb");
    let (at, n) = (realtime(&base), count(&base));
    assert_eq!(n, 29_117);
    let joined = join(base, &pcap(&[at]), None).unwrap();
    assert_eq!(count(&joined), n);
    let mut other = sample("rpc/rpc.nmb");
    other.source = "b.nmb".into();
    other.streams.iter_mut().for_each(|s| s.instance = "second".into());
    let joined = join(joined, &other, None).unwrap();
    assert_eq!(count(&joined), 2 * n);
    let last = joined.streams.last().unwrap();
    let member = &joined.members[last.chunks[0].member.0 as usize];
    assert!(member.name.starts_with("b.nmb: trace/cpu") && member.range == last.chunks[0].range);
}

#[test]
fn what_is_not_of_one_time_and_host_is_refused() {
    let rpc = || sample("rpc/rpc.nmb");
    let at = realtime(&rpc());
    let why = |a: Capture, b: &Capture| join(a, b, None).unwrap_err().to_string();
    let early = why(rpc(), &pcap(&[at - 60_000_000_000]));
    assert_eq!(early, "dump.pcap is of another time: 60 s before the recording");
    assert!(why(rpc(), &pcap(&[at + 3_600_000_000_000])).contains(" s after the recording"));
    let boots = why(rpc(), &sample("kernel-6.1/netem.nmb"));
    assert!(boots.contains("different boots"), "{boots}");
    assert!(why(rpc(), &rpc()).contains("the same recording"));
    // Of one boot, 47 s later.
    let later = why(rpc(), &sample("sawtooth/sawtooth.nmb"));
    assert!(
        later.contains("is of another time: 4") && later.ends_with(" s after the recording"),
        "{later}"
    );
    let first = why(sample("tracedat-loopback/trace.dat"), &pcap(&[at]));
    assert!(first.starts_with("only a bundle can be joined with others: ") && first.ends_with(" is a trace.dat"));
    assert!(why(rpc(), &sample("tracedat-loopback/trace.dat")).contains("only packets (pcap, pcapng) and bundles"));
    let mut clock = rpc();
    clock.streams.iter_mut().for_each(|s| s.instance = "second".into());
    clock.manifest.as_mut().unwrap()["clocks"]["trace_clock"] = "boot".into();
    assert!(why(rpc(), &clock).ends_with("have different trace clocks (mono, boot)"));
    let mut blind = rpc();
    blind.clock_pairs.clear();
    assert!(why(blind, &pcap(&[at])).contains("no readings of CLOCK_REALTIME"));
}
