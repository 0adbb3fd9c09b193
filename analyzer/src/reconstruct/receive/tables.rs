//! Rows of the view `rx`, the receive ledger.

use crate::confidence::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::name::Name;
use crate::table::{Cell, TableDef, col};

/// The stages of the receive path in the order a packet goes through them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Hard interrupt handler until it raised NET_RX.
    Irq,
    /// NET_RX raised (or the packet queued to the backlog) until the softirq ran.
    SoftirqWait,
    /// The softirq running until it reached this packet.
    PollWait,
    /// GRO entry until `netif_receive_skb`: hold and list batch.
    Gro,
    /// `netif_receive_skb` until the transport protocol, in softirq; includes waiting for the batch's other packets.
    Protocol,
    /// In the socket's backlog because a task held the socket lock.
    Backlog,
    /// Held by TCP until a later segment made the socket readable: a segment before it was missing (or SO_RCVLOWAT).
    OutOfOrder,
    /// Transport protocol until the socket was marked readable (an ACK may be sent in here).
    Ready,
    /// In the receive queue while the reader slept (not woken by this packet: busy elsewhere, or not yet woken).
    ReaderAsleep,
    /// In the receive queue between the reader's waking and its being runnable (IPI).
    Wakeup,
    /// In the receive queue while the reader waited for a CPU.
    RunQueue,
    /// In the receive queue while the reader ran but had not read yet.
    ReaderRunning,
    /// Copy to the reader until the read returned inside the kernel.
    Copy,
    /// Until the system call returned.
    Return,
}

/// Number of stages.
pub const STAGES: usize = 14;

impl Stage {
    /// All, in order.
    pub const ALL: [Stage; STAGES] = [
        Stage::Irq,
        Stage::SoftirqWait,
        Stage::PollWait,
        Stage::Gro,
        Stage::Protocol,
        Stage::Backlog,
        Stage::OutOfOrder,
        Stage::Ready,
        Stage::ReaderAsleep,
        Stage::Wakeup,
        Stage::RunQueue,
        Stage::ReaderRunning,
        Stage::Copy,
        Stage::Return,
    ];
    /// Name as in the columns (`stage_<name>_ns`).
    pub fn name(self) -> &'static str {
        match self {
            Stage::Irq => "irq",
            Stage::SoftirqWait => "softirq_wait",
            Stage::PollWait => "poll_wait",
            Stage::Gro => "gro",
            Stage::Protocol => "protocol",
            Stage::Backlog => "backlog",
            Stage::OutOfOrder => "out_of_order",
            Stage::Ready => "ready",
            Stage::ReaderAsleep => "reader_asleep",
            Stage::Wakeup => "wakeup",
            Stage::RunQueue => "run_queue",
            Stage::ReaderRunning => "reader_running",
            Stage::Copy => "copy",
            Stage::Return => "return",
        }
    }
    /// What passes in it, for a person.
    pub fn meaning(self) -> &'static str {
        match self {
            Stage::Irq => "hard interrupt until it raised NET_RX",
            Stage::SoftirqWait => "NET_RX raised, or packet queued to the backlog, until the softirq ran",
            Stage::PollWait => "softirq running until it reached this packet",
            Stage::Gro => "GRO entry to netif_receive_skb: hold and list batch",
            Stage::Protocol => "netif_receive_skb to the transport protocol, with the batch's other packets in between",
            Stage::Backlog => "socket backlog: a task held the socket lock",
            Stage::OutOfOrder => "held by TCP until a missing segment came (out of order, or SO_RCVLOWAT)",
            Stage::Ready => "transport protocol to socket readable; an ACK may be sent in here",
            Stage::ReaderAsleep => "readable, but the reader slept",
            Stage::Wakeup => "reader woken, not yet runnable (IPI)",
            Stage::RunQueue => "reader runnable, waiting for a CPU",
            Stage::ReaderRunning => "reader on a CPU, not reading yet",
            Stage::Copy => "copy to the reader",
            Stage::Return => "system call return",
        }
    }
}

/// How a unit's story ends in the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RxEnd {
    /// Its last byte was read.
    Read,
    /// A TCP segment without payload: done when the protocol had it.
    Protocol,
    /// Put in a receive queue; no read of it was seen.
    Queued,
}

impl RxEnd {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            RxEnd::Read => "read",
            RxEnd::Protocol => "protocol",
            RxEnd::Queued => "queued",
        }
    }
}

/// First event of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RxStart {
    /// The hard interrupt that led to its poll.
    Irq,
    /// `netif_rx`: queued to a CPU's backlog (loopback, veth, tunnel).
    NetifRx,
    /// `napi_gro_receive_entry` or `napi_gro_frags_entry`.
    Gro,
    /// `netif_receive_skb`.
    Receive,
}

impl RxStart {
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            RxStart::Irq => "irq",
            RxStart::NetifRx => "netif_rx",
            RxStart::Gro => "gro",
            RxStart::Receive => "receive",
        }
    }
}

/// One unit (an skb after GRO) delivered to a socket.
#[derive(Debug, Clone, PartialEq)]
pub struct RxRow {
    /// The skb.
    pub skb_id: SkbId,
    /// Device it was received on.
    pub dev: Name,
    /// CPU of `netif_receive_skb`.
    pub cpu: u16,
    /// TCP socket, when known.
    pub connection: Option<ConnectionId>,
    /// Reading task.
    pub task: Name,
    /// Its thread id, 0 when none.
    pub pid: i32,
    /// Payload, bytes; `None` when no event states it.
    pub bytes: Option<u32>,
    /// Start.
    pub start_ns: i64,
    /// Which event the start is.
    pub start: RxStart,
    /// End of the unit minus start.
    pub total_ns: i64,
    /// How it ended.
    pub end: RxEnd,
    /// The part of `total_ns` in no stage.
    pub unattributed_ns: i64,
    /// ns per stage in the order of [`Stage::ALL`]; `None`: did not happen, or not known (then the time is in `unattributed_ns`).
    pub stages: [Option<i64>; STAGES],
    /// Ready (or protocol) to the copy that took its last byte: the residence in the receive queue.
    pub rcvq_ns: Option<i64>,
    /// Least of its links.
    pub confidence: Confidence,
}

impl RxRow {
    /// ns of a stage.
    pub fn stage(&self, s: Stage) -> Option<i64> {
        self.stages.get(s as usize).copied().flatten()
    }
}

macro_rules! stage_col {
    ($name:literal, $stage:ident, $meaning:literal) => {
        col!($name, "ns", I64, $meaning, |r: &RxRow, _| r.stage(Stage::$stage).into())
    };
}

/// The view `rx`.
pub static RX: TableDef<RxRow> = TableDef {
    name: "rx",
    meaning: "one row per unit (skb after GRO) delivered to a socket; the stages and unattributed_ns sum to total_ns",
    columns: &[
        col!("skb_id", "id", U64, "the skb, as in skbs", |r, _| Cell::U64(
            r.skb_id.0.into()
        )),
        col!("dev", "", Str, "receiving device", |r, _| Cell::str(r.dev.text())),
        col!(
            "connection",
            "id",
            U64,
            "TCP socket, as in connections; empty when not TCP or not known",
            |r, _| r.connection.map(|c| c.0).into()
        ),
        col!(
            "task",
            "",
            Str,
            "reading task; empty when not read",
            |r, _| if r.task.is_empty() {
                Cell::Null
            } else {
                Cell::str(r.task.text())
            }
        ),
        col!("pid", "id", I64, "its thread id", |r, _| if r.pid == 0 {
            Cell::Null
        } else {
            Cell::I64(r.pid.into())
        }),
        col!(
            "bytes",
            "bytes",
            U64,
            "payload; empty when no event states it",
            |r, _| r.bytes.into()
        ),
        col!("start_ns", "ns", I64, "first event of the unit", |r, _| Cell::I64(
            r.start_ns
        )),
        col!(
            "start",
            "",
            Str,
            "which event that is: irq, netif_rx, gro, receive",
            |r, _| Cell::str(r.start.word())
        ),
        col!(
            "end",
            "",
            Str,
            "read (last byte copied), protocol (no payload: done in TCP), queued (not seen read)",
            |r, _| Cell::str(r.end.word())
        ),
        col!("total_ns", "ns", I64, "end minus start", |r, _| Cell::I64(r.total_ns)),
        col!("unattributed_ns", "ns", I64, "part of total_ns in no stage", |r, _| {
            Cell::I64(r.unattributed_ns)
        }),
        stage_col!("stage_irq_ns", Irq, "hard interrupt until it raised NET_RX"),
        stage_col!(
            "stage_softirq_wait_ns",
            SoftirqWait,
            "NET_RX raised, or packet queued to the backlog, until the softirq ran"
        ),
        stage_col!(
            "stage_poll_wait_ns",
            PollWait,
            "softirq running until it reached this packet"
        ),
        stage_col!(
            "stage_gro_ns",
            Gro,
            "GRO entry to netif_receive_skb: hold and list batch"
        ),
        stage_col!(
            "stage_protocol_ns",
            Protocol,
            "netif_receive_skb to the transport protocol, with the batch's other packets in between"
        ),
        stage_col!(
            "stage_backlog_ns",
            Backlog,
            "socket backlog: a task held the socket lock"
        ),
        stage_col!(
            "stage_out_of_order_ns",
            OutOfOrder,
            "held by TCP until a later segment made the socket readable: one before it was missing (or SO_RCVLOWAT)"
        ),
        stage_col!(
            "stage_ready_ns",
            Ready,
            "transport protocol to socket readable; an ACK may be sent in here"
        ),
        stage_col!("stage_reader_asleep_ns", ReaderAsleep, "readable, but the reader slept"),
        stage_col!("stage_wakeup_ns", Wakeup, "reader woken, not yet runnable (IPI)"),
        stage_col!("stage_run_queue_ns", RunQueue, "reader runnable, waiting for a CPU"),
        stage_col!(
            "stage_reader_running_ns",
            ReaderRunning,
            "reader on a CPU, not reading yet"
        ),
        stage_col!(
            "stage_copy_ns",
            Copy,
            "copy of its last byte until the read returned inside the kernel"
        ),
        stage_col!("stage_return_ns", Return, "until the system call returned"),
        col!(
            "rcvq_ns",
            "ns",
            I64,
            "residence in the receive queue: socket readable to the copy that took its last byte (the four reader stages)",
            |r, _| r.rcvq_ns.into()
        ),
        col!("cpu", "id", U64, "CPU of netif_receive_skb", |r, _| Cell::U64(
            r.cpu.into()
        )),
        col!("confidence", "", Str, "least of the links of this row", |r, _| {
            Cell::str(r.confidence.word())
        }),
    ],
};
