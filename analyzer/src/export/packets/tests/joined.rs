//! What tcpdump captured beside the recording, joined to it: TCP's own sequence numbers say which segment each packet is.

use std::collections::BTreeMap;

use netmortem_formats::bytes_decode::decode;
use netmortem_formats::join::join;
use netmortem_formats::{Bytes, Capture, Coding, Locus, open_bytes};

use crate::export::packets::write;
use crate::facts::Facts;
use crate::reconstruct::transmit::tables::TxKind;

fn sample(path: &str) -> String {
    format!("{}/../sample-data/{path}", env!("CARGO_MANIFEST_DIR"))
}

/// The bundle with the sender's packets, which a pcap gives neither a device nor a direction.
fn joined() -> (Capture, Vec<u8>) {
    let bundle = netmortem_formats::open_path(sample("sawtooth/sawtooth.nmb").as_ref())
        .unwrap()
        .unwrap();
    let coded = std::fs::read(sample("sawtooth/sender.pcap.zst")).unwrap();
    let pcap = decode(&coded, Coding::Zstd { size: None }, Locus::default())
        .unwrap()
        .into_owned();
    let packets = open_bytes("sender.pcap", Bytes::Owned(pcap.clone())).unwrap();
    (join(bundle, &packets, Some("va")).unwrap(), pcap)
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
    println!("{right} of {data} data packets, {w:?}");
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
