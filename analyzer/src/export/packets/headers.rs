//! Addresses and ports of a packet's first bytes: Ethernet (VLAN tags passed over) or raw IP, IPv4 or IPv6, TCP or UDP.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// LINKTYPE_ETHERNET.
const ETHERNET: u16 = 1;
/// ETH_P_8021Q, ETH_P_8021AD.
const VLANS: [u16; 2] = [0x8100, 0x88a8];

/// Who sent a packet to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    /// Sender: address and port.
    pub source: (IpAddr, u16),
    /// Receiver.
    pub destination: (IpAddr, u16),
    /// TCP sequence number.
    pub seq: Option<u32>,
}

/// Bytes of the link-layer header as the kernel counts them on reception.
pub fn link_bytes(link_type: u16) -> u32 {
    if link_type == ETHERNET { 14 } else { 0 }
}

/// `None`: not TCP or UDP over IP, a later fragment, or cut too short.
pub fn ends(link_type: u16, data: &[u8]) -> Option<Ends> {
    let mut ip = data;
    if link_type == ETHERNET {
        let mut at = 12;
        while VLANS.contains(&u16_at(data, at)?) {
            at += 4;
        }
        ip = data.get(at + 2..)?;
    }
    let (protocol, source, destination, rest) = match ip.first()? >> 4 {
        4 => {
            if u16_at(ip, 6)? & 0x1fff != 0 {
                return None;
            }
            let head = usize::from(ip.first()? & 15) * 4;
            let a = |at: usize| Some(IpAddr::V4(Ipv4Addr::from(*ip.get(at..)?.first_chunk::<4>()?)));
            (*ip.get(9)?, a(12)?, a(16)?, ip.get(head..)?)
        }
        6 => {
            let a = |at: usize| Some(IpAddr::V6(Ipv6Addr::from(*ip.get(at..)?.first_chunk::<16>()?)));
            (*ip.get(6)?, a(8)?, a(24)?, ip.get(40..)?)
        }
        _ => return None,
    };
    let seq = match protocol {
        6 => Some(u32::from_be_bytes(*rest.get(4..)?.first_chunk::<4>()?)),
        17 => None,
        _ => return None,
    };
    Some(Ends {
        source: (source, u16_at(rest, 0)?),
        destination: (destination, u16_at(rest, 2)?),
        seq,
    })
}

fn u16_at(b: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*b.get(at..)?.first_chunk::<2>()?))
}
