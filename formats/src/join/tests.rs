#![allow(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use super::*;
use crate::{Locus, StreamItem, open_bytes, open_path};

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

/// What `check` says of a file of packets that is cut stays said of the bundle it is joined to.
#[test]
fn what_is_lost_of_packets_is_said() {
    let base = sample("rpc/rpc.nmb");
    let at = realtime(&base);
    let whole = pcap(&[at, at + 5, at + 9]);
    // 24 bytes of the file's head, then 16 and 3 of each packet.
    assert_eq!(whole.bytes.len(), 24 + 3 * 19);
    let cut = open_bytes("/tmp/cut.pcap", Bytes::Owned(whole.bytes[..24 + 2 * 19 + 7].to_vec())).unwrap();
    assert!(
        cut.problems[0]
            .message
            .starts_with("pcap: packets after byte 62 are lost")
    );
    let (problems, complete) = (base.problems.len(), base.complete);
    assert!(complete);
    let joined = join(base, &cut, Some("eth7")).unwrap();
    assert!(!joined.complete);
    assert_eq!(joined.problems.len(), problems + 1);
    let said = &joined.problems[problems].message;
    assert!(said.starts_with("cut.pcap: packets after byte 62 are lost"), "{said}");
    assert_eq!(pcapng::taps(&joined)[0].packets, 2);
    let joined = join(sample("rpc/rpc.nmb"), &whole, Some("eth7")).unwrap();
    assert!(joined.complete && joined.problems.len() == problems);
}

/// A pcapng of two sections with counters, an interface in units of 2^-20 s, a packet without time, and one of an interface that
/// is not described.
fn sections(from: u64) -> Capture {
    let mut b = vec![];
    let interface = |bits| pcapng::Interface {
        section: 0,
        index: 0,
        link_type: 1,
        snaplen: 0,
        name: "x".into(),
        description: "d".into(),
        resolution: pcapng::Resolution::of(bits),
        ts_offset_s: (from / 1_000_000_000).cast_signed(),
    };
    for n in 0..2u64 {
        b.extend(pcapng::annotated_head("", "", "", &[]));
        b.extend(pcapng::interface_block(&interface(0x80 | 20), "x"));
        b.extend(pcapng::interface_block(&interface(9), "y"));
        for (interface, ts) in [(0, Some(1 << 20)), (1, Some(2_000_000_000)), (0, None), (7, Some(1))] {
            b.extend(pcapng::packet_block(&pcapng::RawPacket {
                interface,
                ts,
                data: &[1, 2, 3, 4, 5],
                original_bytes: 5,
                flags: ts.map(|_| 2),
                dropped_before: Some(n),
                offset: 0,
            }));
        }
        for received in [7, 9] {
            b.extend(pcapng::statistics_block(&pcapng::Statistics {
                interface: 1,
                ts: 0,
                received: Some(received + n),
                interface_dropped: Some(1),
                os_dropped: Some(3),
                delivered: None,
            }));
        }
    }
    open_bytes("two.pcapng", Bytes::Owned(b)).unwrap()
}

/// Written again and cut after every packet, or not, a file says of its interfaces what it said.
#[test]
fn packets_cut_into_members_are_the_same() {
    let two = sections(1_700_000_000_000_000_000);
    let told = pcapng::taps(&two);
    assert_eq!((told[1].received, told[1].dropped), (Some(9 + 10), Some(2 * 4)));
    let facts = |taps: &[pcapng::Tap]| {
        let of = |t: &pcapng::Tap| {
            let bytes = (t.captured_bytes, t.original_bytes);
            (
                t.name.clone(),
                t.packets,
                t.outbound,
                bytes,
                t.first_last_ns,
                t.received,
                t.dropped,
            )
        };
        taps.iter().map(of).collect::<Vec<_>>()
    };
    // The head with its interfaces is 168 bytes, a packet 64, one without time 24: each section is 1 packet, and the other 3.
    assert_eq!(packets::members(&two, Some("x"), 167, |_| Some(())), None);
    for (limit, expected) in [(1 << 20, 1), (170, 4)] {
        let mut joined = sample("rpc/rpc.nmb");
        let mut frames = vec![];
        // A name makes the small file be written again, too.
        packets::members(&two, Some("x"), limit, |bytes| {
            let frame = PagesEncoder::new(1).unwrap().encode(bytes).unwrap();
            frames.push((
                bundle::packets_name(PacketsName {
                    tap: 0,
                    sequence: frames.len() as u64 + 1,
                }),
                frame,
            ));
            Some(())
        })
        .unwrap();
        assert_eq!(frames.len(), expected);
        append(&mut joined, frames);
        let again = pcapng::taps(&joined);
        let mut expected = facts(&told);
        expected[1].0 = "x".into();
        assert_eq!(facts(&again), expected, "limit {limit}");
    }
}

/// Two interfaces never get one number.
#[test]
fn numbers_of_interfaces_end() {
    let mut base = sample("rpc/rpc.nmb");
    let at = realtime(&base);
    base.members.push(Member {
        name: "packets/4294967295/000001.pcapng.zst".into(),
        range: 0..0,
    });
    let why = join(base, &pcap(&[at]), None).unwrap_err();
    assert_eq!(why, JoinError::TapNumbers(sample("rpc/rpc.nmb").source));
    let mut other = sample("rpc/rpc.nmb");
    other.streams.iter_mut().for_each(|s| s.instance = "second".into());
    other.members.push(Member {
        name: "packets/4294967295/000001.pcapng.zst".into(),
        range: 0..0,
    });
    let joined = join(sample("rpc/rpc.nmb"), &pcap(&[at]), None).unwrap();
    let why = join(joined, &other, None).unwrap_err();
    assert!(matches!(why, JoinError::TapNumbers(_)), "{why}");
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
    assert_eq!(joined.manifest.as_ref().unwrap()[JOINED], serde_json::json!(["b.nmb"]));
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
