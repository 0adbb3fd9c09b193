//! A block of a TPACKET_V3 ring to frames (include/uapi/linux/if_packet.h). Nothing in it is trusted to be in bounds.
//!
//! ```text
//! block   version u32 | offset_to_priv u32 | status u32 | num_pkts u32 | offset_to_first_pkt u32 | blk_len u32 | seq u64 | ...
//! frame   next u32 | sec u32 | nsec u32 | snaplen u32 | len u32 | status u32 | mac u16 | net u16 | rxhash u32 |
//!         vlan_tci u32 | vlan_tpid u16 | u16 | 8 bytes | sockaddr_ll (hatype at 8, pkttype at 10) | ... bytes at `mac` or `net`
//! ```

use netmortem_formats::pcapng::{Direction, Reception};

/// Where `block_status` lies.
pub const STATUS_AT: usize = 8;
/// Size of struct tpacket3_hdr, rounded up to 16: the address follows.
const HEADER_BYTES: usize = 48;
const TP_STATUS_VLAN_VALID: u32 = 1 << 4;
const TP_STATUS_VLAN_TPID_VALID: u32 = 1 << 6;
const ETH_P_8021Q: u16 = 0x8100;

/// A packet in the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'b> {
    /// ns of CLOCK_REALTIME.
    pub ns: u64,
    /// What the filter left of it.
    pub data: &'b [u8],
    /// Bytes it has.
    pub original_bytes: u32,
    /// The VLAN tag that was taken out of it: TPID and TCI.
    pub vlan: Option<[u16; 2]>,
    /// Which way it went, and to whom.
    pub way: (Direction, Reception),
}

/// Calls `each` for the frames of a block; returns how many the block claims and `each` did not get.
pub fn frames<'b>(block: &'b [u8], ethernet: bool, each: &mut dyn FnMut(Frame<'b>)) -> u64 {
    let count = u32_at(block, 12).unwrap_or(0);
    let mut at = u32_at(block, 16).unwrap_or(0) as usize;
    for n in 0..count {
        let Some(frame) = block.get(at..).and_then(|b| frame(b, ethernet)) else {
            return u64::from(count - n);
        };
        each(frame);
        at = at.saturating_add(u32_at(block, at).unwrap_or(0) as usize);
    }
    0
}

fn frame(b: &[u8], ethernet: bool) -> Option<Frame<'_>> {
    let (sec, nsec) = (u32_at(b, 4)?, u32_at(b, 8)?);
    let (kept, original_bytes, status) = (u32_at(b, 12)? as usize, u32_at(b, 16)?, u32_at(b, 20)?);
    // Without a link header the bytes begin at the network header.
    let at = usize::from(u16_at(b, if ethernet { 24 } else { 26 })?);
    let vlan = (status & TP_STATUS_VLAN_VALID != 0).then(|| {
        let tpid = u16_at(b, 36).filter(|_| status & TP_STATUS_VLAN_TPID_VALID != 0);
        let tci = u32_at(b, 32).unwrap_or(0);
        [tpid.unwrap_or(ETH_P_8021Q), (tci & 0xffff) as u16]
    });
    let way = match b.get(HEADER_BYTES + 10)? {
        0 => (Direction::Inbound, Reception::Unicast),
        1 => (Direction::Inbound, Reception::Broadcast),
        2 => (Direction::Inbound, Reception::Multicast),
        3 => (Direction::Inbound, Reception::Promiscuous),
        4 => (Direction::Outbound, Reception::Unspecified),
        _ => (Direction::Inbound, Reception::Unspecified),
    };
    Some(Frame {
        ns: u64::from(sec) * 1_000_000_000 + u64::from(nsec),
        data: b.get(at..at.checked_add(kept)?)?,
        original_bytes,
        vlan: vlan.filter(|_| ethernet),
        way,
    })
}

fn u32_at(b: &[u8], at: usize) -> Option<u32> {
    b.get(at..)?.first_chunk().map(|c| u32::from_ne_bytes(*c))
}

fn u16_at(b: &[u8], at: usize) -> Option<u16> {
    b.get(at..)?.first_chunk().map(|c| u16::from_ne_bytes(*c))
}
