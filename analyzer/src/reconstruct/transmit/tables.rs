//! Rows of the view `tx`, the transmit ledger.

use super::stages::{Stage, StageTimes};
use crate::confidence::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::name::Name;
use crate::reconstruct::receive::tables::Censored;
use crate::reconstruct::tcp::tables::RetransmitClass;
use crate::table::{Cell, TableDef, col};

/// What was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TxKind {
    /// A TCP segment with payload, first transmission.
    Tcp,
    /// A TCP segment without payload: ACK, SYN, FIN, RST, window update, probe; or (`bytes` empty) one not known to carry any.
    TcpControl,
    /// A TCP segment of which the recording does not tell whether it carries payload, or whose.
    TcpUnknown,
    /// A UDP packet of a send call.
    Udp,
    /// Anything else that the host queued on a device (ICMP, ARP, packets of kernel sockets), and what no event tells to be
    /// TCP or UDP.
    Other,
}

impl TxKind {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            TxKind::Tcp => "tcp",
            TxKind::TcpControl => "tcp_control",
            TxKind::TcpUnknown => "tcp_unknown",
            TxKind::Udp => "udp",
            TxKind::Other => "other",
        }
    }
}

/// First event of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TxStart {
    /// The system call that wrote its first byte began.
    Sendmsg,
    /// Its first byte was handed to the write queue, by a call whose begin was not recorded.
    WriteQueue,
    /// `net_dev_queue`: what was before is not known, or was nothing.
    Queue,
}

impl TxStart {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            TxStart::Sendmsg => "sendmsg",
            TxStart::WriteQueue => "write_queue",
            TxStart::Queue => "queue",
        }
    }
}

/// How a segment's story ends in the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TxEnd {
    /// An ACK covered its last byte.
    Acked,
    /// The device reported it sent, or its receiver in this host freed it.
    Completed,
    /// The driver took it; no later event of it is known.
    Sent,
    /// Dropped in this host.
    Dropped,
    /// It had not been acknowledged, or given to a driver, when the recording ended.
    Open,
}

impl TxEnd {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            TxEnd::Acked => "acked",
            TxEnd::Completed => "completed",
            TxEnd::Sent => "sent",
            TxEnd::Dropped => "dropped",
            TxEnd::Open => "open",
        }
    }
}

/// One TCP segment (before GSO; its retransmissions included) or packet.
#[derive(Debug, Clone, PartialEq)]
pub struct TxRow {
    /// The skb that was given to the device: for TCP the clone.
    pub skb_id: SkbId,
    /// The TCP original in the write queue, when an event named it.
    pub original: Option<SkbId>,
    /// TCP socket, when known.
    pub connection: Option<ConnectionId>,
    /// What was sent.
    pub kind: TxKind,
    /// Sending task.
    pub task: Name,
    /// Its thread id, 0 when none.
    pub pid: i32,
    /// Device of the first `net_dev_queue`.
    pub dev: Name,
    /// CPU of the first `net_dev_queue`.
    pub cpu: u16,
    /// Payload, bytes; `None` when headers of unknown size are in it.
    pub bytes: Option<u32>,
    /// Start.
    pub start_ns: i64,
    /// Which event the start is.
    pub start: TxStart,
    /// End minus start.
    pub total_ns: i64,
    /// How it ended.
    pub end: TxEnd,
    /// Why its time is only known to be at least something; such a row is in no percentile.
    pub censored: Option<Censored>,
    /// Of a censored row: start to the last moment at which it is known to have been under way, ns.
    pub at_least_ns: Option<i64>,
    /// A queue of this host refused it in the send itself: TCP counts it as never sent, and its bytes came again as new ones.
    pub refused: bool,
    /// Times (parts of) it were sent again.
    pub retransmits: u16,
    /// Why it was sent again the last time.
    pub recovery_by: Option<RetransmitClass>,
    /// First `net_dev_queue`.
    pub t_sched_ns: i64,
    /// First `net_dev_start_xmit`; `None` when not seen.
    pub t_snd_ns: Option<i64>,
    /// Arrival in TCP of the ACK that covered its last byte.
    pub t_ack_ns: Option<i64>,
    /// The part of `total_ns` in no stage.
    pub unattributed_ns: i64,
    /// ns per stage; not set: did not happen, or not known (then the time is in `unattributed_ns`).
    pub stages: StageTimes,
    /// What recording added to sending and driver, estimated, ns; `None`: the recording does not tell.
    pub observer_ns: Option<i64>,
    /// Least of its links.
    pub confidence: Confidence,
}

impl TxRow {
    /// ns of a stage.
    pub fn stage(&self, s: Stage) -> Option<i64> {
        self.stages.get(s)
    }
}

macro_rules! stage_col {
    ($name:literal, $stage:ident, $meaning:literal) => {
        col!($name, "ns", I64, $meaning, |r: &TxRow, _| r.stage(Stage::$stage).into())
    };
}

/// The view `tx`.
pub static TX: TableDef<TxRow> = TableDef {
    name: "tx",
    meaning: "one row per TCP segment (its retransmissions included) or other packet sent; the stages and unattributed_ns sum to total_ns",
    columns: &[
        col!(
            "skb_id",
            "id",
            U64,
            "the skb given to the device, as in skbs",
            |r, _| { Cell::U64(r.skb_id.0.into()) }
        ),
        col!(
            "original",
            "id",
            U64,
            "the TCP original in the write queue, as in skbs; empty when no event named it",
            |r, _| r.original.map(|o| o.0).into()
        ),
        col!(
            "connection",
            "id",
            U64,
            "TCP socket, as in connections; empty when not TCP or not known",
            |r, _| r.connection.map(|c| c.0).into()
        ),
        col!(
            "local",
            "",
            Str,
            "address:port of that socket; empty as connection",
            |r, names| names.local(r.connection)
        ),
        col!(
            "peer",
            "",
            Str,
            "address:port of its other end; empty as connection",
            |r, names| names.remote(r.connection)
        ),
        col!(
            "kind",
            "",
            Str,
            "tcp (with payload, first transmission), tcp_control (no payload), udp, other (ICMP, ARP, not known)",
            |r, _| Cell::str(r.kind.word())
        ),
        col!(
            "task",
            "",
            Str,
            "task that wrote its first byte; empty when not known",
            |r, _| Cell::name(&r.task)
        ),
        col!("pid", "id", I64, "its thread id", |r, _| Cell::thread(r.pid)),
        col!("dev", "", Str, "device it was queued on", |r, _| Cell::str(
            r.dev.text()
        )),
        col!(
            "bytes",
            "bytes",
            U64,
            "payload; empty when the headers' size is not known",
            |r, _| r.bytes.into()
        ),
        col!(
            "start_ns",
            "ns",
            I64,
            "begin of the send call that wrote its first byte, else first event",
            |r, _| Cell::I64(r.start_ns)
        ),
        col!(
            "start",
            "",
            Str,
            "which event that is: sendmsg, write_queue, queue",
            |r, _| Cell::str(r.start.word())
        ),
        col!(
            "end",
            "",
            Str,
            "acked (TCP), completed (device reported it sent), sent (driver took it, no more known), dropped, open (recording ended first)",
            |r, _| Cell::str(r.end.word())
        ),
        col!(
            "censored",
            "",
            Str,
            "why its time is only a lower bound: start (under way before the recording), end (when it ended), loss (events were lost meanwhile); in no percentile",
            |r, _| r.censored.map_or(Cell::Null, |c| Cell::str(c.word()))
        ),
        col!(
            "at_least_ns",
            "ns",
            I64,
            "of a censored row: start to the last moment at which it is known to have been under way",
            |r, _| r.at_least_ns.into()
        ),
        col!(
            "retransmits",
            "count",
            U64,
            "times it, or a part of it, was sent again",
            |r, _| Cell::U64(r.retransmits.into())
        ),
        col!(
            "recovery_by",
            "",
            Str,
            "why it was sent again the last time, as class in retransmits",
            |r, _| r.recovery_by.map_or(Cell::Null, |c| Cell::str(c.word()))
        ),
        col!(
            "t_sched_ns",
            "ns",
            I64,
            "first net_dev_queue: SCM_TSTAMP_SCHED of SO_TIMESTAMPING",
            |r, _| Cell::I64(r.t_sched_ns)
        ),
        col!(
            "t_snd_ns",
            "ns",
            I64,
            "first net_dev_start_xmit: just before the software SCM_TSTAMP_SND",
            |r, _| r.t_snd_ns.into()
        ),
        col!(
            "t_ack_ns",
            "ns",
            I64,
            "tcp_probe of the ACK that covered its last byte: just before SCM_TSTAMP_ACK",
            |r, _| r.t_ack_ns.into()
        ),
        col!("total_ns", "ns", I64, "end minus start", |r, _| Cell::I64(r.total_ns)),
        col!("unattributed_ns", "ns", I64, "part of total_ns in no stage", |r, _| {
            Cell::I64(r.unattributed_ns)
        }),
        stage_col!("stage_sndbuf_ns", Sndbuf, "send call asleep: the send buffer was full"),
        stage_col!(
            "stage_send_ns",
            Send,
            "send call running, or waiting for a CPU, until the segment was handed over"
        ),
        stage_col!("stage_rwnd_ns", Rwnd, "write queue: the peer's receive window was full"),
        stage_col!("stage_cwnd_ns", Cwnd, "write queue: the congestion window was full"),
        stage_col!(
            "stage_nagle_ns",
            Nagle,
            "write queue: too little to send yet (Nagle, cork, autocork, TSO deferral)"
        ),
        stage_col!(
            "stage_pacing_ns",
            Pacing,
            "write queue: pacing, until its timer was to fire"
        ),
        stage_col!(
            "stage_pacing_slip_ns",
            PacingSlip,
            "write queue: the pacing timer fired late"
        ),
        stage_col!(
            "stage_tsq_ns",
            Tsq,
            "write queue: enough of the socket was queued below (TCP small queues)"
        ),
        stage_col!(
            "stage_refused_ns",
            Refused,
            "write queue: this host had refused it (its own queue, or no route), until TCP tried again"
        ),
        stage_col!(
            "stage_neighbour_ns",
            Neighbour,
            "parked while the neighbour's address was resolved"
        ),
        stage_col!("stage_qdisc_ns", Qdisc, "queueing discipline"),
        stage_col!("stage_bql_ns", Bql, "device queue stopped by byte queue limits"),
        stage_col!("stage_ring_ns", Ring, "driver's ring full"),
        stage_col!("stage_driver_ns", Driver, "driver's transmit function"),
        stage_col!(
            "stage_recovery_ns",
            Recovery,
            "first transmission to the last retransmission"
        ),
        stage_col!(
            "stage_completion_ns",
            Completion,
            "driver had it until the device reported it sent; empty when the ACK came first"
        ),
        stage_col!(
            "stage_network_ns",
            Network,
            "network and peer, until the ACK that covers it"
        ),
        col!("cpu", "id", U64, "CPU of the first net_dev_queue", |r, _| Cell::U64(
            r.cpu.into()
        )),
        col!(
            "observer_ns",
            "ns",
            I64,
            "what recording added to the send and driver stages, estimated: events in them x cost of one; not subtracted",
            |r, _| r.observer_ns.into()
        ),
        col!("confidence", "", Str, "least of the links of this row", |r, _| {
            Cell::str(r.confidence.word())
        }),
    ],
};
