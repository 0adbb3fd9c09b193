//! What the tracker keeps of each packet that the host queued on a device, until rows are made.

use crate::confidence::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::name::Name;
use crate::reconstruct::skb::tables::SkbClass;

/// What made TCP send at that moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// A send call of the running thread.
    Call,
    /// A segment that arrived: its `tcp_probe` (position among all probes).
    Ack(u32),
    /// The pacing timer.
    Pace,
    /// `tcp_write_timer`.
    WriteTimer,
    /// TCP small queues.
    Tsq,
    /// Something else, or not known.
    Other,
}

/// A packet at its first `net_dev_queue`.
#[derive(Debug, Clone)]
pub(super) struct Packet {
    /// Position in the merged sequence.
    pub(super) index: u32,
    /// When.
    pub(super) ts: i64,
    pub(super) cpu: u16,
    pub(super) skb: SkbId,
    pub(super) addr: u64,
    /// Bytes with the link-layer header.
    pub(super) len: u32,
    pub(super) dev: Name,
    pub(super) class: SkbClass,
    pub(super) cause: Cause,
    /// The send call it was queued in.
    pub(super) call: Option<u32>,
    pub(super) connection: Option<ConnectionId>,
    pub(super) link: Confidence,
    /// Ethertype, from `net_dev_start_xmit`.
    pub(super) ethertype: Option<u16>,
    /// Payload of each segment the device is to cut it into, from `net_dev_start_xmit`; 0: none.
    pub(super) gso_size: u16,
    /// Segments that TCP made it of, from `net_dev_start_xmit`; 0: not told.
    pub(super) gso_segs: u16,
    /// Bytes before the transport header, from `net_dev_start_xmit`.
    pub(super) before_transport: Option<u16>,
    /// Bytes of its linear part, from `net_dev_start_xmit`, where something lies outside of it.
    pub(super) linear: Option<u32>,
    /// First `net_dev_start_xmit`.
    pub(super) started: Option<i64>,
    /// End of that `ndo_start_xmit`.
    pub(super) xmitted: Option<i64>,
    /// Position in the view `retransmits`, when it is one.
    pub(super) retransmit: Option<u32>,
    /// Sent again without success.
    pub(super) failed: bool,
    /// Not the first of its send call: an IP fragment, without a UDP header.
    pub(super) fragment: bool,
    /// When it was parked for its neighbour.
    pub(super) parked: Option<i64>,
    /// Life of the original, when an event named it.
    pub(super) original: Option<SkbId>,
    /// IPPROTO_* of the send call.
    pub(super) protocol: u16,
}
