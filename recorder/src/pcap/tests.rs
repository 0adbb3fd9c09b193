//! The pure parts: specs, filters run by an interpreter of our own, headers of built packets, a block of a ring by hand.

use etherparse::PacketBuilder;
use netmortem_formats::pcapng::{Direction, Reception};

use super::filter::{Instruction, MAX_PORTS, program};
use super::frames::{Frame, frames};
use super::headers::header_bytes;
use super::spec::TapSpec;

#[test]
fn specs() {
    let spec = |s: &str| s.parse::<TapSpec>();
    let of = |netns: Option<&str>, name: &str| TapSpec {
        netns: netns.map(Into::into),
        name: name.into(),
    };
    assert_eq!(spec("eth0"), Ok(of(None, "eth0")));
    assert_eq!(spec("netns:web/eth0"), Ok(of(Some("web"), "eth0")));
    assert_eq!(spec("netns:web/eth0").unwrap().to_string(), "netns:web/eth0");
    for bad in [
        "",
        "netns:web",
        "netns:/eth0",
        "netns:web/",
        "any",
        "a name",
        "0123456789abcdef",
        "a/b",
    ] {
        assert!(spec(bad).is_err(), "{bad}");
    }
}

/// Runs a filter as the kernel does for what `program` uses; a load outside the packet takes nothing.
fn run(code: &[Instruction], packet: &[u8], protocol: u32, pkttype: u32) -> u32 {
    let (mut a, mut x, mut pc) = (0u32, 0u32, 0usize);
    loop {
        let i = code[pc];
        pc += 1;
        let load = |at: u32, size: usize| {
            let b = packet.get(at as usize..at as usize + size)?;
            Some(b.iter().fold(0u32, |n, b| n << 8 | u32::from(*b)))
        };
        let jump = |yes: bool| usize::from(if yes { i.jt } else { i.jf });
        let loaded = match i.code {
            0x20 if i.k == 0xffff_f000 => Some(protocol),
            0x20 if i.k == 0xffff_f004 => Some(pkttype),
            0x28 => load(i.k, 2),
            0x30 => load(i.k, 1),
            0x48 => load(x + i.k, 2),
            0xb1 => {
                x = load(i.k, 1).map_or(0, |b| 4 * (b & 0xf));
                continue;
            }
            0x15 => {
                pc += jump(a == i.k);
                continue;
            }
            0x45 => {
                pc += jump(a & i.k != 0);
                continue;
            }
            0x06 => return i.k,
            c => panic!("operation {c:#x}"),
        };
        match loaded {
            Some(v) => a = v,
            None => return 0,
        }
    }
}

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const IP4: [u8; 4] = [10, 0, 0, 1];
const IP6: [u8; 16] = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

fn udp4(from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let b = PacketBuilder::ethernet2(MAC, MAC).ipv4(IP4, IP4, 64).udp(from, to);
    b.write(&mut out, payload).unwrap();
    out
}

fn tcp6(from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let b = PacketBuilder::ethernet2(MAC, MAC)
        .ipv6(IP6, IP6, 64)
        .tcp(from, to, 1, 2);
    let b = b.options(&[etherparse::TcpOptionElement::Timestamp(1, 2)]).unwrap();
    b.write(&mut out, payload).unwrap();
    out
}

#[test]
fn a_filter_of_ports_takes_these_and_no_others() {
    let many: Vec<u16> = (1000..).take(MAX_PORTS).collect();
    for ports in [vec![80], vec![80, 443], many.clone()] {
        let (first, last) = (ports[0], ports[ports.len() - 1]);
        let p = program(&ports, 14, 256, false);
        for port in [first, last] {
            for packet in [udp4(port, 9, b"x"), udp4(9, port, b"x")] {
                assert_eq!(run(&p, &packet, 0x0800, 0), 256);
                // The same without its Ethernet header, as a tunnel's interface has it.
                assert_eq!(run(&program(&ports, 0, 99, false), &packet[14..], 0x0800, 0), 99);
            }
            for packet in [tcp6(port, 9, b""), tcp6(9, port, b"")] {
                assert_eq!(run(&p, &packet, 0x86dd, 0), 256);
            }
        }
        assert_eq!(run(&p, &udp4(last + 1, first - 1, b"x"), 0x0800, 0), 0);
        assert_eq!(run(&p, &tcp6(last + 1, first - 1, b"x"), 0x86dd, 0), 0);
        // A later fragment, another protocol, ARP.
        let mut fragment = udp4(first, first, b"x");
        fragment[21] = 1;
        assert_eq!(run(&p, &fragment, 0x0800, 0), 0);
        let mut icmp = udp4(first, first, b"x");
        icmp[23] = 1;
        assert_eq!(run(&p, &icmp, 0x0800, 0), 0);
        assert_eq!(run(&p, &udp4(first, first, b"x"), 0x0806, 0), 0);
    }
}

#[test]
fn without_ports_all_is_taken_and_on_loopback_only_what_arrives() {
    assert_eq!(run(&program(&[], 14, 7, false), &[], 0x1234, 4), 7);
    assert_eq!(run(&program(&[], 14, 7, true), &[], 0x1234, 4), 0);
    assert_eq!(run(&program(&[], 14, 7, true), &[], 0x1234, 0), 7);
    assert_eq!(run(&super::filter::nothing(), &[], 0x0800, 0), 0);
}

#[test]
fn headers_end_where_payload_begins() {
    assert_eq!(header_bytes(&udp4(1, 2, &[9; 50]), true), 14 + 20 + 8);
    assert_eq!(header_bytes(&udp4(1, 2, &[9; 50])[14..], false), 20 + 8);
    // 10 bytes of timestamps are padded to 12.
    assert_eq!(header_bytes(&tcp6(1, 2, &[9; 50]), true), 14 + 40 + 32);
    // A later fragment, an unknown protocol of IP, of Ethernet, and nothing.
    let mut fragment = udp4(1, 2, &[9; 50]);
    fragment[21] = 1;
    assert_eq!(header_bytes(&fragment, true), 14 + 20);
    let mut unknown = udp4(1, 2, &[9; 50]);
    unknown[23] = 250;
    assert_eq!(header_bytes(&unknown, true), 14 + 20);
    let mut lldp = udp4(1, 2, &[9; 50]);
    (lldp[12], lldp[13]) = (0x88, 0xcc);
    assert_eq!(header_bytes(&lldp, true), 14);
    assert_eq!(header_bytes(&[], true), 0);
    assert_eq!(header_bytes(&[0xff; 60], false), 0);
    // What is cut inside its headers is all headers.
    let cut = &tcp6(1, 2, &[9; 50])[..70];
    assert_eq!(header_bytes(cut, true), 70);
}

#[test]
fn of_icmp_the_quoted_headers_are_kept_and_the_data_of_an_echo_is_not() {
    let icmp = |kind: u8, payload: &[u8]| {
        let mut out = Vec::new();
        let b = PacketBuilder::ethernet2(MAC, MAC).ipv4(IP4, IP4, 64);
        b.icmpv4_raw(kind, 0, [0; 4]).write(&mut out, payload).unwrap();
        out
    };
    assert_eq!(header_bytes(&icmp(8, &[9; 50]), true), 14 + 20 + 8);
    assert_eq!(
        header_bytes(&icmp(3, &udp4(1, 2, &[9; 50])[14..]), true),
        14 + 20 + 8 + 28
    );
    // Routers quote only 8 bytes of a TCP header.
    let mut quoted = udp4(1, 2, &[9; 50])[14..14 + 28].to_vec();
    quoted[9] = 6;
    assert_eq!(header_bytes(&icmp(11, &quoted), true), 14 + 20 + 8 + 28);
}

#[test]
fn a_vlan_tag_in_the_packet_is_a_header() {
    let mut out = Vec::new();
    let b = PacketBuilder::ethernet2(MAC, MAC).single_vlan(5.try_into().unwrap());
    b.ipv4(IP4, IP4, 64).udp(1, 2).write(&mut out, &[9; 50]).unwrap();
    assert_eq!(header_bytes(&out, true), 18 + 20 + 8);
}

#[test]
fn a_block_of_the_ring_is_read_and_a_damaged_one_counted() {
    // Two frames of 96 bytes at 48: header 48, address 20, then the packet at 80.
    let mut block = vec![0u8; 48];
    block[12..16].copy_from_slice(&2u32.to_ne_bytes());
    block[16..20].copy_from_slice(&48u32.to_ne_bytes());
    for (n, pkttype) in [(1u8, 4u8), (2, 2)] {
        let mut f = vec![0u8; 96];
        let words = [96, 7, u32::from(n), 4, 1500, if n == 2 { 0x51 } else { 1 }];
        for (i, w) in words.iter().enumerate() {
            f[4 * i..4 * i + 4].copy_from_slice(&u32::to_ne_bytes(*w));
        }
        f[24..26].copy_from_slice(&80u16.to_ne_bytes());
        f[26..28].copy_from_slice(&82u16.to_ne_bytes());
        f[32..36].copy_from_slice(&0x2005u32.to_ne_bytes());
        f[36..38].copy_from_slice(&0x88a8u16.to_ne_bytes());
        f[58] = pkttype;
        f[80..86].copy_from_slice(&[n, 1, 2, 3, 4, 5]);
        block.extend(f);
    }
    let mut got: Vec<Frame<'_>> = Vec::new();
    assert_eq!(frames(&block, true, &mut |f| got.push(f)), 0);
    assert_eq!(got[0].ns, 7_000_000_001);
    assert_eq!(
        (got[0].data, got[0].original_bytes, got[0].vlan),
        (&[1, 1, 2, 3][..], 1500, None)
    );
    assert_eq!(got[0].way, (Direction::Outbound, Reception::Unspecified));
    assert_eq!(got[1].vlan, Some([0x88a8, 0x2005]));
    assert_eq!(got[1].way, (Direction::Inbound, Reception::Multicast));
    // Without a link header, from the network header on.
    let mut got: Vec<Frame<'_>> = Vec::new();
    frames(&block, false, &mut |f| got.push(f));
    assert_eq!(got[1].data, [2, 3, 4, 5]);
    let mut n = 0;
    assert_eq!(frames(&block[..100], true, &mut |_| n += 1), 2);
    assert_eq!(frames(&block[..200], true, &mut |_| n += 1), 1);
    assert_eq!(n, 1);
}
