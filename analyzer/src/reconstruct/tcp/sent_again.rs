//! Rows of the view `retransmits`.

use std::net::SocketAddr;

use crate::confidence::Confidence;
use crate::facts::ConnectionId;
use crate::table::{Cell, TableDef, col};

/// Why a segment was sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RetransmitClass {
    /// Fast retransmit or RACK, from an ACK, in Recovery.
    Fast,
    /// RACK reordering timer.
    RackTimer,
    /// Tail loss probe.
    Tlp,
    /// Retransmission timeout.
    Rto,
    /// Sent from an ACK while in the Loss state that an RTO set.
    LossRecovery,
    /// A router said that a packet was too big for its next link: what was sent longer than that is sent again.
    Pmtu,
    /// SYN or SYN-ACK.
    Syn,
    /// Not known.
    Unknown,
}

impl RetransmitClass {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            RetransmitClass::Fast => "fast",
            RetransmitClass::RackTimer => "rack_timer",
            RetransmitClass::Tlp => "tlp",
            RetransmitClass::Rto => "rto",
            RetransmitClass::LossRecovery => "loss_recovery",
            RetransmitClass::Pmtu => "pmtu",
            RetransmitClass::Syn => "syn",
            RetransmitClass::Unknown => "unknown",
        }
    }
}

/// One call that sent one segment or more again.
#[derive(Debug, Clone, PartialEq)]
pub struct RetransmitRow {
    /// Position of the event in the merged sequence.
    pub index: u32,
    /// When the event fired, which is after the transmit.
    pub time_ns: i64,
    /// Whose; `None` when no connection row matches.
    pub connection: Option<ConnectionId>,
    /// Ends of a SYN-ACK, which a listening socket sends: the local one, and whom it is for.
    pub synack: Option<(SocketAddr, SocketAddr)>,
    /// Why.
    pub class: RetransmitClass,
    /// `err` of the event where recorded; only 0 was sent.
    pub err: Option<i32>,
    /// Length with headers of the frame queued, which the event follows; `None` when that was not found.
    pub bytes: Option<u32>,
    /// The segment in the write queue that it sends a clone of, by the address in the event; `None`: the event has none.
    pub original: Option<crate::facts::SkbId>,
    /// Segments that it sent; `None` when not known.
    pub segments: Option<u32>,
    /// Confidence of the class.
    pub confidence: Confidence,
}

/// The view `retransmits`.
pub static RETRANSMITS: TableDef<RetransmitRow> = TableDef {
    name: "retransmits",
    meaning: "one row per tcp_retransmit_skb (err 0 or not recorded) or tcp_retransmit_synack",
    columns: &[
        col!("time_ns", "ns", I64, "the event; it follows the transmit", |r, _| {
            Cell::I64(r.time_ns)
        }),
        col!("connection", "id", U64, "the socket, as in connections", |r, _| r
            .connection
            .map(|c| c.0)
            .into()),
        col!(
            "class",
            "",
            Str,
            "fast, rack_timer, tlp, rto, loss_recovery (after an RTO, clocked by ACKs), pmtu (an ICMP message said that it was too big), syn, unknown",
            |r, _| Cell::str(r.class.word())
        ),
        col!("confidence", "", Str, "of the class", |r, _| Cell::str(
            r.confidence.word()
        )),
        col!(
            "frame_bytes",
            "bytes",
            U64,
            "length with headers of the frame queued just before it on that CPU; empty when not found",
            |r, _| r.bytes.into()
        ),
        col!(
            "segments",
            "count",
            U64,
            "segments that the call sent: gso_segs of its frame, or its payload in sizes of the connection's; one of a SYN, TLP or RTO; empty when not known",
            |r, _| r.segments.into()
        ),
        col!(
            "err",
            "",
            I64,
            "result of the transmit; empty before Linux 6.17",
            |r, _| r.err.map(i64::from).into()
        ),
    ],
};
