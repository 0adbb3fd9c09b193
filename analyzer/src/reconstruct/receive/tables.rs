//! Rows of the view `rx`, the receive ledger.

use crate::confidence::Confidence;
use crate::facts::{ConnectionId, SkbId};
use crate::name::Name;
use crate::reconstruct::context::RunBy;
use crate::reconstruct::softirq::tables::Blame;
use crate::table::{Cell, TableDef, col};

pub use super::stages::{STAGES, Stage, StageTimes};
pub use super::words::{Censored, ReadBy, RxEnd, RxStart};

/// One unit (an skb after GRO) delivered to a socket.
#[derive(Debug, Clone, PartialEq, Default)]
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
    /// ns per stage; not set: did not happen, or not known (then the time is in `unattributed_ns`).
    pub stages: StageTimes,
    /// Ready (or protocol) to the copy that took its last byte: the residence in the receive queue.
    pub rcvq_ns: Option<i64>,
    /// Why its time is only known to be at least something; such a unit is in no percentile.
    pub censored: Option<Censored>,
    /// Of a censored unit: first event to the last moment at which it is known to have been under way, ns.
    pub at_least_ns: Option<i64>,
    /// Poll of the softirq run that it was in, from 0 (as `polls.nth`).
    pub poll_nth: Option<u32>,
    /// Its place among the units of that poll, from 0.
    pub unit_nth: Option<u32>,
    /// Who ran the softirq, or the poll outside softirq, that received it.
    pub run_by: Option<RunBy>,
    /// What kept its CPU longest in `softirq_wait` or `rps`; `None` without these.
    pub softirq_blame: Option<Blame>,
    /// The task that ran longest while it was `preempted`; `swapper`: none; empty: it was not.
    pub preempted_by: Name,
    /// The task that ran longest on the reader's CPU while the reader waited for it; `swapper`: the idle task; empty: none, or not known.
    pub run_queue_task: Name,
    /// The system call in which the reader slept longest while it was readable; empty: it did not sleep, or nothing tells.
    pub asleep_in: Name,
    /// ns of `stage_reader_asleep_ns` in it.
    pub asleep_in_ns: i64,
    /// The thread that ended the longest of these sleeps that one ended; 0: none, or not known.
    pub woken_by_pid: i32,
    /// The part of that sleep that is in `asleep_in_ns`, ns, and when it ended.
    pub woken_by_ns: i64,
    /// See there.
    pub woken_at_ns: i64,
    /// The other socket that the reader slept longest for meanwhile, of a ms or more, in a receive call; `None`: for none, or not known.
    pub asleep_on: Option<ConnectionId>,
    /// ns of `asleep_in_ns` of that sleep.
    pub asleep_on_ns: i64,
    /// ns of `stage_reader_running_ns` in which the reader was at other sockets: in calls on one, and between two calls on the same.
    pub busy_ns: i64,
    /// The TCP socket that it was at for most of that; `None`: none.
    pub busy_on: Option<ConnectionId>,
    /// ns of `busy_ns` at it.
    pub busy_on_ns: i64,
    /// CPU of the thread that read it; `None`: not read, or softirqs were not recorded.
    pub read_cpu: Option<u16>,
    /// What says that it was read; `None`: not seen read.
    pub read_by: Option<ReadBy>,
    /// Softirqs on the reader's CPU inside `stage_copy_ns` and `stage_return_ns`, ns; `None`: not known.
    pub nested_ns: Option<i64>,
    /// What recording added to `total_ns`, estimated from the events on its way, ns; `None`: the recording does not tell.
    pub observer_ns: Option<i64>,
    /// Least of its links.
    pub confidence: Confidence,
}

impl RxRow {
    /// ns of a stage.
    pub fn stage(&self, s: Stage) -> Option<i64> {
        self.stages.get(s)
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
        col!("task", "", Str, "reading task; empty when not read", |r, _| Cell::name(
            &r.task
        )),
        col!("pid", "id", I64, "its thread id", |r, _| Cell::thread(r.pid)),
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
            "read (last byte copied), protocol (no payload: done in TCP), queued (not seen read), closed (not seen read until its socket was closed)",
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
            "NET_RX raised, or packet queued to this CPU's backlog, until the softirq ran"
        ),
        stage_col!("stage_rps_ns", Rps, "steered to another CPU, until NET_RX began there"),
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
            "stage_batch_wait_ns",
            BatchWait,
            "received, waiting for the batch's earlier packets to get through"
        ),
        stage_col!("stage_protocol_ns", Protocol, "to the transport protocol"),
        stage_col!(
            "stage_preempted_ns",
            Preempted,
            "of poll_wait, gro, batch_wait, protocol and ready: the thread that received it was switched out with bottom halves off, preempted or waiting for a lock (PREEMPT_RT); not in these"
        ),
        stage_col!(
            "stage_backlog_ns",
            Backlog,
            "socket backlog: a task held the socket lock"
        ),
        stage_col!(
            "stage_out_of_order_ns",
            OutOfOrder,
            "held by TCP behind a missing segment (out of order, or SO_RCVLOWAT where no ACK tells which: strong at most then)"
        ),
        stage_col!(
            "stage_ready_ns",
            Ready,
            "transport protocol to socket readable; an ACK may be sent in here; with SO_RCVLOWAT, until so many bytes were there"
        ),
        stage_col!(
            "stage_reader_asleep_ns",
            ReaderAsleep,
            "readable, but the reader slept: elsewhere, or not yet woken (asleep_in)"
        ),
        stage_col!("stage_wakeup_ns", Wakeup, "reader woken, not yet runnable (IPI)"),
        stage_col!("stage_idle_exit_ns", IdleExit, "reader runnable, its CPU leaving idle"),
        stage_col!(
            "stage_run_queue_ns",
            RunQueue,
            "reader runnable, CPU busy with something else"
        ),
        stage_col!(
            "stage_reader_running_ns",
            ReaderRunning,
            "reader on a CPU, not reading yet"
        ),
        stage_col!(
            "stage_copy_ns",
            Copy,
            "copy to the reader, with the ACKs it sends and softirqs on its CPU meanwhile (nested_ns)"
        ),
        stage_col!("stage_return_ns", Return, "system call return"),
        col!(
            "rcvq_ns",
            "ns",
            I64,
            "residence in the receive queue: socket readable to the copy that took its last byte (the five stages of the reader, and what of that time no event tells, which is in unattributed_ns)",
            |r, _| r.rcvq_ns.into()
        ),
        col!(
            "censored",
            "",
            Str,
            "why its time is only known to be at least something: start (under way when recording began), end (not read by its end), loss (events lost); empty: whole",
            |r, _| r.censored.map_or(Cell::Null, |c| Cell::str(c.word()))
        ),
        col!(
            "at_least_ns",
            "ns",
            I64,
            "of a censored unit: how long it is known to have been under way; empty: total_ns is whole",
            |r, _| r.at_least_ns.into()
        ),
        col!(
            "poll_nth",
            "count",
            U64,
            "which poll of the softirq run it was in, from 0; empty outside a seen run",
            |r, _| r.poll_nth.into()
        ),
        col!(
            "unit_nth",
            "count",
            U64,
            "its place among the units of that poll, from 0",
            |r, _| r.unit_nth.into()
        ),
        col!(
            "run_by",
            "",
            Str,
            "who ran the softirq (as in softirqs) or the poll outside softirq (as in polls) that received it; empty when not seen",
            |r, _| r.run_by.map_or(Cell::Null, |b| Cell::str(b.word()))
        ),
        col!(
            "softirq_blame",
            "",
            Str,
            "what its CPU did longest in stage_softirq_wait_ns or stage_rps_ns, and who, as in softirqs; empty without these",
            |r, _| r.softirq_blame.map_or(Cell::Null, |b| Cell::str(b.text()))
        ),
        col!(
            "preempted_by",
            "",
            Str,
            "who ran longest in stage_preempted_ns; swapper: nobody; empty without that",
            |r, _| Cell::name(&r.preempted_by)
        ),
        col!(
            "run_queue_task",
            "",
            Str,
            "who ran longest on the reader's CPU while the reader waited for it; swapper: nobody, the CPU idled (the reader was throttled, or moved); empty: did not wait, or not known",
            |r, _| Cell::name(&r.run_queue_task)
        ),
        col!(
            "asleep_in",
            "",
            Str,
            "system call in which the reader slept longest meanwhile; unrecorded: in none that was recorded; stopped (by a signal), traced (by its tracer): held, not asleep; empty: it did not sleep, or not known",
            |r, _| Cell::name(&r.asleep_in)
        ),
        col!(
            "asleep_in_ns",
            "ns",
            I64,
            "part of stage_reader_asleep_ns in it; empty as asleep_in",
            |r, _| (!r.asleep_in.is_empty()).then_some(r.asleep_in_ns).into()
        ),
        col!(
            "woken_by_pid",
            "id",
            I64,
            "thread id of who ended the longest of these sleeps that another thread ended; empty: none, or not known",
            |r, _| (r.woken_by_pid != 0).then(|| i64::from(r.woken_by_pid)).into()
        ),
        col!(
            "asleep_on",
            "id",
            U64,
            "another socket, as in connections, that the call of asleep_in received from after the longest of its sleeps of a ms or more: what that sleep was for; empty: none, io_uring, or not known (before Linux 6.3 only where data came)",
            |r, _| r.asleep_on.map(|c| c.0).into()
        ),
        col!(
            "asleep_on_ns",
            "ns",
            I64,
            "the part of asleep_in_ns that this sleep had; empty as asleep_on",
            |r, _| r.asleep_on.map(|_| r.asleep_on_ns).into()
        ),
        col!(
            "busy_ns",
            "ns",
            I64,
            "part of stage_reader_running_ns in which the reader was at other sockets: in calls on one, and running between two calls on the same; empty: in none that was recorded",
            |r, _| (r.busy_ns > 0).then_some(r.busy_ns).into()
        ),
        col!(
            "busy_on",
            "id",
            U64,
            "the other TCP socket, as in connections, that it was at for most of that; empty as busy_ns, or of another protocol",
            |r, _| r.busy_on.map(|c| c.0).into()
        ),
        col!(
            "busy_on_ns",
            "ns",
            I64,
            "the part of busy_ns at it; empty as busy_on",
            |r, _| r.busy_on.map(|_| r.busy_on_ns).into()
        ),
        col!(
            "read_cpu",
            "id",
            U64,
            "CPU of the thread that read it; empty: not read, or softirqs were not recorded",
            |r, _| r.read_cpu.map(u32::from).into()
        ),
        col!(
            "read_by",
            "",
            Str,
            "what says that it was read: copy, recv_length, splice, space_adjust, consume, order (a later unit was)",
            |r, _| r.read_by.map_or(Cell::Null, |b| Cell::str(b.word()))
        ),
        col!(
            "nested_ns",
            "ns",
            I64,
            "softirqs on the reader's CPU inside stage_copy_ns and stage_return_ns; empty when not known",
            |r, _| r.nested_ns.into()
        ),
        col!("cpu", "id", U64, "CPU of netif_receive_skb", |r, _| Cell::U64(
            r.cpu.into()
        )),
        col!(
            "observer_ns",
            "ns",
            I64,
            "what recording added to total_ns, estimated: events on its way x cost of one; not subtracted",
            |r, _| r.observer_ns.into()
        ),
        col!("confidence", "", Str, "least of the links of this row", |r, _| {
            Cell::str(r.confidence.word())
        }),
    ],
};
