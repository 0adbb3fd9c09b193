//! The largest segments that a socket sends, where an event tells their size: `gso_size` of what the device is to cut, or the pieces
//! of what was cut before it.

use super::again::largest as of_frame;
use super::flow::Flow;
use super::packet::Packet;
use crate::reconstruct::xmits::Passes;

/// ETH_P_IP, ETH_P_IPV6, and the length of their headers without options.
const IP_HEADERS: [(u16, u32); 2] = [(0x0800, 20), (0x86dd, 40)];

/// Sizes of a socket's largest segments, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FullSegment {
    /// Payload.
    pub mss: u32,
    /// All headers, the link layer's too.
    pub headers: u32,
    /// Of these the link layer's.
    pub link: u32,
    /// Frames that were to be cut into such segments, or carried as much.
    pub frames: u64,
}

/// Payload of a full segment, where an event tells it.
pub(super) fn told(flow: &Flow, packets: &[Packet], passes: &Passes) -> Option<u32> {
    let sent = flow.segments.iter().filter_map(|s| packets.get(s.packet as usize));
    let of = |p: &Packet| match (p.gso_size, flow.header) {
        (0, None) => None,
        (0, Some(header)) => of_frame(p, header, passes).filter(|f| f.1).map(|f| f.0),
        (size, _) => Some(size.into()),
    };
    sent.filter_map(of).max()
}

pub(super) fn largest(flow: &Flow, packets: &[Packet], passes: &Passes) -> Option<FullSegment> {
    let sent = || flow.segments.iter().filter_map(|s| packets.get(s.packet as usize));
    let mss = told(flow, packets, passes)?;
    let headers = flow.header?;
    // Of what was cut no event shows the headers: those of its other packets are as long.
    let control = flow.control.iter().filter_map(|i| packets.get(*i as usize));
    let link = sent().chain(control).find_map(|p| {
        let of = IP_HEADERS.iter().find(|of| Some(of.0) == p.ethertype)?;
        u32::from(p.before_transport?).checked_sub(of.1)
    })?;
    let full = |p: &&Packet| u32::from(p.gso_size) == mss || p.len.saturating_sub(headers) >= mss;
    Some(FullSegment {
        mss,
        headers,
        link,
        frames: sent().filter(full).count() as u64,
    })
}
