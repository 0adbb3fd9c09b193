//! How many bytes of a packet are headers: what is kept when no payload is wanted. etherparse finds them.
//!
//! Kept: Ethernet, VLAN, MACsec, IPv4 and IPv6 with options and extensions, TCP with options, UDP, the first 8 bytes of ICMP,
//! the headers of the packet that an ICMP error is about, neighbour discovery, ARP. Everything else is payload: what is
//! inside a tunnel, what follows the IP header of a fragment, protocols that are not known.

use etherparse::{IpNumber, LaxNetSlice, LaxSlicedPacket, TransportSlice};

/// A TCP header without options.
const TCP_BYTES: usize = 20;
/// Types of ICMP messages that quote a packet: unreachable, source quench, redirect, time exceeded, parameter problem.
const ICMP4_ERRORS: [u8; 5] = [3, 4, 5, 11, 12];
/// Of ICMPv6: unreachable, too big, time exceeded, parameter problem.
const ICMP6_ERRORS: [u8; 4] = [1, 2, 3, 4];
/// Router and neighbour solicitation and advertisement, redirect.
const NEIGHBOUR_DISCOVERY: [u8; 5] = [133, 134, 135, 136, 137];

/// Length of the headers at the beginning of `data`. `ethernet`: it begins with an Ethernet header, else with IP.
pub fn header_bytes(data: &[u8], ethernet: bool) -> usize {
    let parsed = match ethernet {
        true => LaxSlicedPacket::from_ethernet(data).ok(),
        false => LaxSlicedPacket::from_ip(data).ok(),
    };
    parsed.map_or(0, |p| end_of_headers(data, &p)).min(data.len())
}

fn end_of_headers(data: &[u8], p: &LaxSlicedPacket<'_>) -> usize {
    // The payload of a layer is a part of `data`: where it begins, the layer's header ends.
    // One that is not inside `data` must not make us keep everything.
    let at = |payload: &[u8]| {
        let at = (payload.as_ptr() as usize).checked_sub(data.as_ptr() as usize);
        at.filter(|a| a.saturating_add(payload.len()) <= data.len())
            .unwrap_or(0)
    };
    let quoted = |payload: &[u8]| at(payload) + header_bytes(payload, false);
    match (&p.transport, &p.net) {
        (Some(TransportSlice::Tcp(s)), _) => at(s.payload()),
        (Some(TransportSlice::Udp(s)), _) => at(s.payload()),
        (Some(TransportSlice::Icmpv4(s)), _) => match ICMP4_ERRORS.contains(&s.type_u8()) {
            true => quoted(s.payload()),
            false => at(s.payload()),
        },
        (Some(TransportSlice::Icmpv6(s)), _) => match s.type_u8() {
            t if ICMP6_ERRORS.contains(&t) => quoted(s.payload()),
            t if NEIGHBOUR_DISCOVERY.contains(&t) => at(s.payload()) + s.payload().len(),
            _ => at(s.payload()),
        },
        (_, Some(LaxNetSlice::Arp(s))) => at(s.slice()) + s.slice().len(),
        (_, Some(net)) => net.ip_payload_ref().map_or(0, |i| {
            // A TCP header that is not whole (ICMP quotes 8 bytes of it).
            let tcp = i.ip_number == IpNumber::TCP && !i.fragmented;
            at(i.payload) + if tcp { i.payload.len().min(TCP_BYTES) } else { 0 }
        }),
        (_, None) => p.ether_payload().map_or(0, |e| at(e.payload)),
    }
}
