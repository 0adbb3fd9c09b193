//! Blocks decoded by hand, both byte orders, the traps of pcap-parser, every cut and every flipped byte, bundles.
#![allow(clippy::arithmetic_side_effects, clippy::indexing_slicing)]

use super::*;
use crate::bundle::{self, BundleWriter, End, Manifest, PacketsName, PagesEncoder, Plan, PlannedTap};
use crate::error::FormatErrorKind;
use crate::item::Locus;
use crate::open_bytes;

const DATA: [u8; 5] = [1, 2, 3, 4, 5];
/// 2026-11-21 16:51:33.763123020 UTC.
const NS: u64 = 1_795_279_893_763_123_020;

fn head() -> SectionHead {
    SectionHead {
        application: "us".into(),
        os: "6.18".into(),
        link_type: 1,
        snaplen: 256,
        name: "eth0".into(),
        description: "network namespace web (7)".into(),
        filter: "port 80".into(),
    }
}

fn section(packets: u64, received: u64, dropped: u64) -> Vec<u8> {
    let mut s = SectionWriter::new(&head());
    for i in 0..packets {
        let way = (Direction::Inbound, Reception::Multicast);
        s.packet(NS + i, &[&DATA[..2], &DATA[2..]], 1500, way);
    }
    s.finish(NS + 1_000, received, dropped)
}

fn all(bytes: &[u8]) -> Vec<Item<'_>> {
    items(bytes, Locus::default()).map(|i| i.unwrap()).collect()
}

fn count(bytes: &[u8]) -> usize {
    let packet = |i: &Result<Item<'_>, _>| matches!(i, Ok(Item::Packet(_)));
    items(bytes, Locus::default()).filter(packet).count()
}

#[test]
fn what_is_written_is_read() {
    let bytes = section(2, 12, 10);
    let [
        Item::Section,
        Item::Interface(i),
        Item::Packet(p),
        Item::Packet(q),
        Item::Statistics(s),
    ] = &all(&bytes)[..]
    else {
        panic!("{:?}", all(&bytes))
    };
    assert_eq!((i.name.as_str(), i.link_type, i.snaplen), ("eth0", 1, 256));
    assert_eq!(i.description, "network namespace web (7)");
    assert_eq!(i.resolution, Resolution::Decimal(9));
    assert_eq!((p.data, p.original_bytes, p.flags), (&DATA[..], 1500, Some(0b1001)));
    assert_eq!(i.realtime_ns(q.ts.unwrap()), Some(NS as i64 + 1));
    assert_eq!((s.received, s.os_dropped, s.delivered), (Some(12), Some(10), Some(2)));
    assert_eq!(s.ts, NS + 1_000);
}

#[test]
fn a_packet_block_has_the_bytes_of_the_specification() {
    let bytes = section(1, 0, 0);
    // Section 4.3 of the draft: type 6, length 52, interface 0, time, 5 of 1500 bytes, 3 of padding, epb_flags = 9, end.
    let time = [(NS >> 32) as u32, NS as u32].map(u32::to_le_bytes).concat();
    let mut want = vec![6, 0, 0, 0, 52, 0, 0, 0, 0, 0, 0, 0];
    want.extend(time);
    want.extend([5, 0, 0, 0, 0xdc, 5, 0, 0, 1, 2, 3, 4, 5, 0, 0, 0]);
    want.extend([2, 0, 4, 0, 9, 0, 0, 0, 0, 0, 0, 0, 52, 0, 0, 0]);
    assert!(bytes.windows(want.len()).any(|w| w == want));
}

/// A big-endian section: IDB with these options, one EPB at `ts`, an ISB with 3 packets dropped by the system.
fn big_endian(tsresol: u8, tsoffset: i64, ts: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let mut block = |kind: u32, body: &[u8]| {
        let length = (body.len() as u32 + 12).to_be_bytes();
        out.extend(kind.to_be_bytes());
        out.extend(length);
        out.extend(body);
        out.extend(length);
    };
    block(
        0x0a0d_0d0a,
        &[
            0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255,
        ],
    );
    let mut idb = vec![0, 101, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, tsresol, 0, 0, 0, 0, 14, 0, 8];
    idb.extend(tsoffset.to_be_bytes());
    idb.extend([0; 4]);
    block(1, &idb);
    let mut epb = vec![0; 4];
    epb.extend(ts.to_be_bytes());
    epb.extend([0, 0, 0, 2, 0, 0, 0, 9, 0x45, 0x00, 0, 0]);
    // epb_flags 2 (outbound), epb_dropcount 258.
    epb.extend([0, 2, 0, 4, 0, 0, 0, 2, 0, 4, 0, 8, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0]);
    block(6, &epb);
    let mut isb = vec![0; 12];
    isb.extend([0, 7, 0, 8, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0]);
    block(5, &isb);
    out
}

#[test]
fn times_in_powers_of_two_and_options_of_big_endian_sections_are_read() {
    // 1.5 s in units of 2^-10 s, 100 s later. pcap-parser has no such unit and reads the offset as little-endian.
    let bytes = big_endian(0x8a, 100, 1536);
    let [Item::Section, Item::Interface(i), Item::Packet(p), Item::Statistics(s)] = &all(&bytes)[..] else {
        panic!("{:?}", all(&bytes))
    };
    assert_eq!(pcap_parser::build_ts_resolution(0x8a), None);
    assert_eq!(
        (i.link_type, i.resolution, i.ts_offset_s),
        (101, Resolution::Binary(10), 100)
    );
    assert_eq!(i.realtime_ns(p.ts.unwrap()), Some(101_500_000_000));
    assert_eq!((p.data, p.original_bytes), (&[0x45, 0][..], 9));
    assert_eq!((p.flags, p.dropped_before), (Some(2), Some(258)));
    assert_eq!(s.os_dropped, Some(3));
    for (unit, ts, ns) in [
        (6, 1_500_000, Some(1_500_000_000)),
        (0, 2, Some(2_000_000_000)),
        (12, 1_999, Some(1)),
        (0x80, 3, Some(3_000_000_000)),
        (0xff, u64::MAX, Some(0)),
        (0, u64::MAX, None),
    ] {
        assert_eq!(Resolution::of(unit).ns(ts), ns, "{unit:#x}");
    }
}

#[test]
fn pcap_files_of_both_units_and_byte_orders_are_read() {
    for (magic, big, fraction, ns) in [
        (0xa1b2_c3d4u32, false, 250_000u32, 7_250_000_000),
        (0xa1b2_3c4d, false, 250_000_001, 7_250_000_001),
        (0xa1b2_c3d4, true, 250_000, 7_250_000_000),
        (0xa1b2_3c4d, true, 250_000_001, 7_250_000_001),
    ] {
        let word = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let half = |n: u16| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let mut bytes = [
            &word(magic)[..],
            &half(2),
            &half(4),
            &word(0),
            &word(0),
            &word(65_535),
            &word(113),
        ]
        .concat();
        for n in [7, fraction, 3, 60] {
            bytes.extend(word(n));
        }
        bytes.extend([7, 8, 9]);
        let c = open_bytes("x.pcap", Bytes::Owned(bytes.clone())).unwrap().unwrap_pcap();
        let [t] = &c[..] else { panic!("{c:?}") };
        assert_eq!(
            (t.packets, t.captured_bytes, t.original_bytes, t.link_type),
            (1, 3, 60, 113)
        );
        assert_eq!(t.first_last_ns, Some((ns, ns)));
        assert_eq!((t.received, t.dropped), (None, None));
        bytes.pop();
        let c = open_bytes("cut.pcap", Bytes::Owned(bytes)).unwrap();
        assert!(!c.complete);
        assert_eq!(c.problems[0].error.unwrap().kind, FormatErrorKind::Truncated);
    }
}

trait UnwrapPcap {
    fn unwrap_pcap(self) -> Vec<Tap>;
}

impl UnwrapPcap for Capture {
    fn unwrap_pcap(self) -> Vec<Tap> {
        assert!(self.complete, "{:?}", self.problems);
        assert!(self.streams.is_empty() && self.format == "pcap");
        taps(&self)
    }
}

#[test]
fn every_cut_keeps_what_is_before_it() {
    let whole = section(3, 3, 0);
    let mut before = 0;
    for n in 0..whole.len() {
        let cut = &whole[..n];
        let read: Vec<_> = items(cut, Locus::default()).collect();
        let errors = read.iter().filter(|i| i.is_err()).count();
        assert!(errors <= 1 && read.iter().rev().skip(1).all(Result::is_ok));
        let now = count(cut);
        assert!(now >= before);
        before = now;
        if let Some(Err(e)) = read.last() {
            assert!(
                matches!(e.kind, FormatErrorKind::Truncated | FormatErrorKind::BadMagic),
                "{n}: {e}"
            );
        }
    }
    assert_eq!(before, 3);
}

#[test]
fn no_flipped_byte_makes_it_panic_or_go_on_for_ever() {
    let whole = [section(3, 3, 0), big_endian(6, 0, 1)].concat();
    for at in 0..whole.len() {
        for to in [0, 1, 0x7f, 0xff, whole[at] ^ 0x80] {
            let mut bytes = whole.clone();
            bytes[at] = to;
            assert!(items(&bytes, Locus::default()).count() <= 12);
        }
    }
}

#[test]
fn a_block_that_is_not_understood_costs_only_itself() {
    let mut bytes = section(1, 1, 0);
    let end = bytes.len();
    // A block of an unknown type, then a packet that claims more bytes than its block has.
    bytes.extend([0x99, 0, 0, 0x0b, 16, 0, 0, 0, 1, 2, 3, 4, 16, 0, 0, 0]);
    let mut bad = [0u8; 32];
    (bad[0], bad[4], bad[20], bad[28]) = (6, 32, 200, 32);
    bytes.extend(bad);
    bytes.extend(section(2, 2, 0));
    let read = all(&bytes);
    assert!(read.contains(&Item::Skipped {
        block_type: 0x0b00_0099,
        damaged: false,
        offset: end as u64
    }));
    assert!(read.contains(&Item::Skipped {
        block_type: 6,
        damaged: true,
        offset: end as u64 + 16
    }));
    assert_eq!(count(&bytes), 3);
    let c = open_bytes("x.pcapng", Bytes::Owned(bytes)).unwrap();
    assert!(!c.complete);
    let [t] = &taps(&c)[..] else { panic!() };
    // Its totals are no longer known.
    assert_eq!((t.packets, t.received, t.dropped), (3, None, None));
}

fn bundle(members: &[(PacketsName, Vec<u8>)]) -> Vec<u8> {
    let tap = |name: &str, netns_name: &str| PlannedTap {
        name: name.into(),
        netns: 7,
        netns_name: netns_name.into(),
        link_type: 1,
        ..PlannedTap::default()
    };
    let manifest = Manifest {
        format_version: bundle::FORMAT_VERSION,
        plan: Plan {
            packets: vec![tap("eth0", "web"), tap("eth9", "")],
            ..Plan::default()
        },
        ..Manifest::default()
    };
    let mut w = BundleWriter::new(Vec::new(), &manifest).unwrap();
    for (name, bytes) in members {
        w.append(&bundle::packets_name(*name), bytes).unwrap();
    }
    w.finish(End::default()).unwrap().0
}

fn member(sequence: u64, section: &[u8]) -> (PacketsName, Vec<u8>) {
    (
        PacketsName { tap: 0, sequence },
        PagesEncoder::new(1).unwrap().encode(section).unwrap(),
    )
}

#[test]
fn the_members_of_a_tap_are_one_interface_and_their_counters_add_up() {
    let file = bundle(&[member(1, &section(2, 5, 3)), member(2, &section(4, 4, 1))]);
    let c = open_bytes("x.nmb", Bytes::Owned(file)).unwrap();
    let [a, b] = &taps(&c)[..] else {
        panic!("{:?}", taps(&c))
    };
    assert_eq!((a.name.as_str(), a.packets, a.outbound), ("eth0", 6, 0));
    assert_eq!((a.received, a.dropped), (Some(9), Some(4)));
    assert_eq!((a.captured_bytes, a.original_bytes), (30, 9000));
    assert_eq!(a.first_last_ns, Some((NS as i64, NS as i64 + 3)));
    assert_eq!((a.problems.len(), b.problems.len()), (0, 0));
    // Planned, and nothing came of it: unknown, not zero losses.
    assert_eq!(
        (b.name.as_str(), b.packets, b.received, b.dropped),
        ("eth9", 0, None, None)
    );
}

#[test]
fn a_hole_and_a_damaged_member_are_said() {
    let mut broken = member(3, &section(1, 1, 0));
    let half = broken.1.len() / 2;
    broken.1.truncate(half);
    let file = bundle(&[member(1, &section(2, 2, 0)), broken]);
    let c = open_bytes("x.nmb", Bytes::Owned(file.clone())).unwrap();
    let a = &taps(&c)[0];
    assert_eq!((a.packets, a.dropped), (2, None));
    let said: Vec<&str> = a.problems.iter().map(|p| p.message.as_str()).collect();
    assert!(said[0].contains("member 3 where 2 was due"), "{said:?}");
    assert!(
        said[1].starts_with("packets/0/000003.pcapng.zst: its packets are lost"),
        "{said:?}"
    );
    // Cut anywhere, it still opens, and keeps the packets of whole members.
    for n in (0..file.len()).step_by(97) {
        if let Ok(c) = open_bytes("cut.nmb", Bytes::Owned(file[..n].to_vec())) {
            assert!(taps(&c).iter().map(|t| t.packets).sum::<u64>() <= 2);
        }
    }
}
