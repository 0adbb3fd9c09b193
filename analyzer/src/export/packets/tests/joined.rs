//! What tcpdump captured beside the recording, joined to it: TCP's own sequence numbers say which segment each packet is.

use std::collections::BTreeMap;

use netmortem_formats::bytes_decode::decode;
use netmortem_formats::join::join;
use netmortem_formats::pcapng::{AnnotatedInterface, RawPacket, annotated_head, annotated_packet, packet_block};
use netmortem_formats::{Bytes, Capture, Coding, Locus, Member, open_bytes};

use crate::export::packets::{devices, write};
use crate::facts::Facts;
use crate::reconstruct::transmit::tables::TxKind;

fn sample(path: &str) -> String {
    format!("{}/../sample-data/{path}", env!("CARGO_MANIFEST_DIR"))
}

/// The bundle, and the sender's packets.
fn bundle() -> (Capture, Vec<u8>) {
    let bundle = netmortem_formats::open_path(sample("sawtooth/sawtooth.nmb").as_ref())
        .unwrap()
        .unwrap();
    let coded = std::fs::read(sample("sawtooth/sender.pcap.zst")).unwrap();
    let pcap = decode(&coded, Coding::Zstd { size: None }, Locus::default())
        .unwrap()
        .into_owned();
    (bundle, pcap)
}

/// Both, the packets as those of a device: a pcap names neither a device nor a direction.
fn named(device: &str) -> (Capture, Vec<u8>) {
    let (bundle, pcap) = bundle();
    let packets = open_bytes("sender.pcap", Bytes::Owned(pcap.clone())).unwrap();
    (join(bundle, &packets, Some(device)).unwrap(), pcap)
}

fn joined() -> (Capture, Vec<u8>) {
    named("va")
}

fn u32_at(b: &[u8], at: usize) -> usize {
    u32::from_le_bytes(b[at..at + 4].try_into().unwrap()) as usize
}

/// Data of every packet with its comment, by the pcapng specification alone.
fn commented(b: &[u8]) -> Vec<(Vec<u8>, String)> {
    let (mut at, mut out) = (0, vec![]);
    while at < b.len() {
        let (kind, len) = (u32_at(b, at), u32_at(b, at + 4));
        if kind == 6 {
            let captured = u32_at(b, at + 20);
            let mut option = at + 28 + captured.next_multiple_of(4);
            let data = b[at + 28..at + 28 + captured].to_vec();
            let mut comment = String::new();
            while u32_at(b, option) & 0xffff != 0 {
                let (code, n) = (u32_at(b, option) & 0xffff, u32_at(b, option) >> 16);
                if code == 1 {
                    comment = String::from_utf8(b[option + 4..option + 4 + n].to_vec()).unwrap();
                }
                option += 4 + n.next_multiple_of(4);
            }
            out.push((data, comment));
        }
        at += len;
    }
    out
}

/// Source port, sequence number and payload of an Ethernet frame with IPv4 and TCP.
fn tcp(frame: &[u8]) -> (u16, u32, u32) {
    let ip = &frame[14..];
    let (header, total) = (
        usize::from(ip[0] & 15) * 4,
        u32::from(u16::from_be_bytes([ip[2], ip[3]])),
    );
    let tcp = &ip[header..];
    let seq = u32::from_be_bytes(tcp[4..8].try_into().unwrap());
    let payload = total - header as u32 - u32::from(tcp[12] >> 4) * 4;
    (u16::from_be_bytes([tcp[0], tcp[1]]), seq, payload)
}

/// Where in its stream each row of `tx` of a connection begins, by `skb_id`: the payloads sent first before it.
fn offsets(facts: &Facts, sport: u16) -> BTreeMap<u32, (u32, u32)> {
    let of = facts.connections.iter().find(|c| c.sport == sport).unwrap().connection;
    let own = facts
        .tx
        .iter()
        .filter(|r| r.connection == Some(of) && r.kind == TxKind::Tcp);
    let mut rows: Vec<_> = own.collect();
    rows.sort_by_key(|r| r.t_sched_ns);
    let mut at = 0;
    let rows = rows.iter().map(|r| {
        let bytes = r.bytes.unwrap();
        at += bytes;
        (r.skb_id.0, (at - bytes, bytes))
    });
    rows.collect()
}

#[test]
fn what_tcpdump_captured_is_matched_as_its_sequence_numbers_say() {
    let (capture, pcap) = joined();
    let facts = crate::analyze(&capture, &Default::default());
    let mut out = vec![];
    let w = write(&facts, &capture, &mut out).unwrap();
    let packets = commented(&out);
    // Every packet of the file is there, in its order.
    let (mut at, mut given) = (24, vec![]);
    while at < pcap.len() {
        let n = u32_at(&pcap, at + 8);
        given.push(pcap[at + 16..at + 16 + n].to_vec());
        at += 16 + n;
    }
    assert!(packets.iter().map(|p| &p.0).eq(given.iter()));
    assert_eq!(w.packets, given.len() as u64);
    let offsets = offsets(&facts, 35914);
    let syn = packets.iter().map(|p| tcp(&p.0)).find(|t| t.0 == 35914).unwrap();
    let (mut right, mut data) = (0, 0);
    for (frame, comment) in &packets {
        let (port, seq, payload) = tcp(frame);
        if port != 35914 || payload == 0 {
            continue;
        }
        data += 1;
        let row = comment.strip_prefix("netmortem tx:").and_then(|c| c.split(' ').next());
        let Some(row) = row.map(|n| n.parse::<u32>().unwrap()) else {
            continue;
        };
        // Of what was sent again, the row is that of the first time: its place is the same.
        let (from, bytes) = offsets[&row];
        assert_eq!((seq.wrapping_sub(syn.1 + 1), payload), (from, bytes), "{comment}");
        right += 1;
    }
    assert!(data > 1_000 && right * 100 >= data * 95, "{right} of {data}, {w:?}");
    assert!((w.certain + w.strong) * 100 >= w.packets * 90, "{w:?}");
}

/// All facts are those of the bundle alone.
#[test]
fn packets_beside_change_no_fact() {
    let (capture, _) = joined();
    let alone = netmortem_formats::open_path(sample("sawtooth/sawtooth.nmb").as_ref())
        .unwrap()
        .unwrap();
    let (a, b) = (
        crate::analyze(&alone, &Default::default()),
        crate::analyze(&capture, &Default::default()),
    );
    assert_eq!((a.rx, a.tx, a.skbs), (b.rx, b.tx, b.skbs));
    assert_eq!(a.capture, b.capture);
}

/// One line for the file, and its counts are those of the comments.
#[test]
fn what_became_of_a_joined_file_is_told() {
    let (capture, _) = joined();
    let facts = crate::analyze(&capture, &Default::default());
    let w = write(&facts, &capture, std::io::sink()).unwrap();
    let told = crate::Told::of(&capture, &facts);
    let [file] = &told.packets[..] else { panic!("{told:?}") };
    assert_eq!((file.file.as_str(), file.device.as_str()), ("sender.pcap", "va"));
    assert_eq!(
        (file.packets, file.matched, file.ambiguous, file.unmatched, file.errors),
        (w.packets, w.certain + w.strong, w.ambiguous, w.unmatched, 0)
    );
    assert!(file.matched > 0 && file.warning().is_none());
    // Under a name that no packet passed, nothing matches, and that is said.
    let (wrong, _) = named("lo0");
    let told = crate::Told::of(&wrong, &facts);
    assert_eq!((told.packets[0].matched, told.packets[0].unmatched), (0, w.packets));
    let warning = told.packets[0].warning().unwrap();
    assert!(
        warning.starts_with(&format!("None of the {} packets of sender.pcap", w.packets)),
        "{warning}"
    );
    assert!(warning.contains("of another device"), "{warning}");
}

/// A pcap names no device; a pcapng may name one, of this recording or of none.
#[test]
fn a_file_that_names_no_device_is_to_be_given_one() {
    let (base, pcap) = bundle();
    let facts = crate::analyze(&base, &Default::default());
    let nameless = open_bytes("/tmp/s.pcap", Bytes::Owned(pcap)).unwrap();
    let of = |name: &str| {
        let interface = AnnotatedInterface {
            name: name.into(),
            link_type: 1,
            ..AnnotatedInterface::default()
        };
        let ns = base.clock_pairs[0].realtime_ns.unwrap().cast_unsigned();
        let raw = RawPacket {
            interface: 0,
            ts: None,
            data: &[1, 2, 3, 4],
            original_bytes: 4,
            flags: None,
            dropped_before: None,
            offset: 0,
        };
        let packet = annotated_packet(0, ns, &raw, "");
        let file = [annotated_head("", "", "", &[interface]), packet].concat();
        open_bytes("/tmp/s.pcapng", Bytes::Owned(file)).unwrap()
    };
    let asks = "the file names no device of this recording: give it as DEVICE=FILE.";
    let other = "it may be of another device, another network namespace or another host.";
    for (file, why) in [(nameless, asks), (of("lo0"), asks), (of("va"), other)] {
        let told = crate::Told::of(&join(bundle().0, &file, None).unwrap(), &facts);
        assert_eq!(told.packets[0].matched, 0);
        let warning = told.packets[0].warning().unwrap();
        assert!(warning.ends_with(why), "{warning}");
    }
}

/// Devices of the recording, of its snapshots and its events.
#[test]
fn devices_that_a_recording_knows() {
    let (capture, _) = joined();
    let known = devices(&capture);
    assert!(known.contains("va") && known.contains("rb"), "{known:?}");
    assert!(!known.contains("lo0") && !known.contains(""), "{known:?}");
    let mut silent = capture;
    silent.snapshots.clear();
    assert!(devices(&silent).contains("va"));
}

/// What cannot be read of packets is counted: a member, a block, a packet without an interface.
#[test]
fn what_cannot_be_read_is_counted() {
    let (mut capture, pcap) = joined();
    let facts = crate::analyze(&capture, &Default::default());
    let good = write(&facts, &capture, std::io::sink()).unwrap();
    assert_eq!(good.errors, 0);
    let member = |bytes: &[u8]| zstd::bulk::compress(bytes, 1).unwrap();
    let head = annotated_head("", "", "", &[]);
    let packet = RawPacket {
        interface: 5,
        ts: Some(1),
        data: &[1, 2, 3, 4],
        original_bytes: 4,
        flags: None,
        dropped_before: None,
        offset: 0,
    };
    let homeless = [&head[..], &packet_block(&packet)].concat();
    let cut = [&head[..], &packet_block(&packet)[..9]].concat();
    for bad in [b"no zstd".to_vec(), member(&homeless), member(&cut)] {
        let n = capture.members.len();
        let from = capture.bytes.len() as u64;
        capture.bytes = Bytes::Owned([&capture.bytes[..], &bad].concat());
        capture.members.push(Member {
            name: format!("packets/0/{n:06}.pcapng.zst"),
            range: from..from + bad.len() as u64,
        });
    }
    let w = write(&facts, &capture, std::io::sink()).unwrap();
    assert_eq!((w.packets, w.errors), (good.packets, 3));
    let told = crate::Told::of(&capture, &facts);
    assert_eq!(told.packets[0].errors, 3);
    assert!(told.packets[0].sentence().ends_with("3 parts of it could not be read."));
    // A file that is cut: its own error, told by the join.
    let cut = open_bytes("cut.pcap", Bytes::Owned(pcap[..pcap.len() - 7].to_vec())).unwrap();
    let (base, _) = bundle();
    let capture = join(base, &cut, Some("va")).unwrap();
    let told = crate::Told::of(&capture, &facts);
    assert_eq!((told.packets[0].packets, told.packets[0].errors), (good.packets - 1, 1));
}
