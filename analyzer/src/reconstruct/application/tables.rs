//! Rows of the view `turnarounds`; those of `responses` beside it.

use crate::confidence::Confidence;
use crate::facts::ConnectionId;
use crate::name::Name;
use crate::reconstruct::thread::Split;
use crate::table::{Cell, TableDef, col};

pub use super::asleep::AsleepOn;
pub use super::responses::{Peer, RESPONSES, ResponseRow};

/// From a request to the send that followed it.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnaroundRow {
    /// The socket.
    pub connection: ConnectionId,
    /// Thread that read last.
    pub pid: i32,
    /// Its name.
    pub task: Name,
    /// Thread that sent.
    pub sender_pid: i32,
    /// Its name.
    pub sender: Name,
    /// When the last byte read became readable; `None`: it was not seen to arrive.
    pub ready_ns: Option<i64>,
    /// The last read.
    pub read_ns: i64,
    /// Begin of the send.
    pub send_ns: i64,
    /// Reads.
    pub reads: u32,
    /// Ready (where not known: read) to send, by what the threads did.
    pub split: Split,
    /// The system call in which they slept longest; empty: not asleep, or not known.
    pub asleep_in: Name,
    /// ns asleep in it.
    pub asleep_in_ns: i64,
    /// ns of all their sleep in which they waited for no event: in state D, stopped, or traced.
    pub held_ns: i64,
    /// Of their longest sleep in it that another thread ended: that one; empty: none did, or not known.
    pub woken_by: Name,
    /// Its thread id.
    pub woken_by_pid: i32,
    /// That sleep, ns.
    pub woken_by_ns: i64,
    /// When it ended.
    pub woken_at_ns: i64,
    /// Of a long sleep in no recorded call: the thread of the same process that ran longest meanwhile; empty: none did, or not looked at.
    pub ran_meanwhile: Name,
    /// Its thread id.
    pub ran_meanwhile_pid: i32,
    /// ns that it ran between `start_ns` and the send.
    pub ran_meanwhile_ns: i64,
    /// The socket that their longest sleep in `asleep_in`, of a ms or more, was a receive call of; `None`: of none, or not known.
    pub asleep_on: Option<AsleepOn>,
    /// Who ran longest on their CPU in their longest wait for one; `swapper`: the idle task; empty: none, or not known.
    pub run_queue_task: Name,
    /// What was read next was readable before the send began.
    pub overlap: bool,
    /// Least of its links.
    pub confidence: Confidence,
}

impl TurnaroundRow {
    /// Where its time begins.
    pub fn start_ns(&self) -> i64 {
        self.ready_ns.unwrap_or(self.read_ns)
    }
    /// The whole.
    pub fn total_ns(&self) -> i64 {
        self.send_ns.wrapping_sub(self.start_ns())
    }
}

/// The view `turnarounds`.
pub static TURNAROUNDS: TableDef<TurnaroundRow> = TableDef {
    name: "turnarounds",
    meaning: "one row per time a TCP socket was read and then sent on: from the last byte readable to the begin of the send; the five states sum to turnaround_ns",
    columns: &[
        col!("connection", "id", U64, "the socket, as in connections", |r, _| {
            Cell::U64(r.connection.0.into())
        }),
        col!(
            "client",
            "",
            Str,
            "address:port of who opened the connection (role in connections says what tells it)",
            |r, names| names.client(r.connection)
        ),
        col!(
            "server",
            "",
            Str,
            "address:port of who accepted it, as this end calls it",
            |r, names| names.server(r.connection)
        ),
        col!("task", "", Str, "task that read last", |r, _| Cell::name(&r.task)),
        col!("pid", "id", I64, "its thread id", |r, _| Cell::thread(r.pid)),
        col!("sender", "", Str, "task that sent", |r, _| Cell::name(&r.sender)),
        col!("sender_pid", "id", I64, "its thread id", |r, _| Cell::thread(
            r.sender_pid
        )),
        col!(
            "ready_ns",
            "ns",
            I64,
            "when the last byte read before the send became readable; empty: not seen to arrive",
            |r, _| r.ready_ns.into()
        ),
        col!("read_ns", "ns", I64, "the last read before the send", |r, _| Cell::I64(
            r.read_ns
        )),
        col!("send_ns", "ns", I64, "begin of the send call", |r, _| Cell::I64(
            r.send_ns
        )),
        col!(
            "turnaround_ns",
            "ns",
            I64,
            "ready_ns (where empty: read_ns) to send_ns",
            |r, _| { Cell::I64(r.total_ns()) }
        ),
        col!(
            "unread_ns",
            "ns",
            I64,
            "ready_ns to read_ns: readable, not read yet",
            |r, _| r.ready_ns.map(|t| r.read_ns.wrapping_sub(t)).into()
        ),
        col!("think_ns", "ns", I64, "read_ns to send_ns", |r, _| Cell::I64(
            r.send_ns.wrapping_sub(r.read_ns)
        )),
        col!(
            "running_ns",
            "ns",
            I64,
            "of turnaround_ns: on a CPU (until the read the reader, then the sender)",
            |r, _| Cell::I64(r.split.running_ns)
        ),
        col!(
            "run_queue_ns",
            "ns",
            I64,
            "runnable, the CPU running something else",
            |r, _| Cell::I64(r.split.run_queue_ns)
        ),
        col!(
            "wakeup_ns",
            "ns",
            I64,
            "woken, not runnable yet, or the CPU leaving idle",
            |r, _| Cell::I64(r.split.waking_ns.wrapping_add(r.split.idle_exit_ns))
        ),
        col!("asleep_ns", "ns", I64, "asleep", |r, _| Cell::I64(r.split.asleep_ns)),
        col!("unknown_ns", "ns", I64, "no event tells", |r, _| Cell::I64(
            r.split.unknown_ns
        )),
        col!(
            "asleep_in",
            "",
            Str,
            "system call in which it slept longest; unrecorded: in none that was recorded; stopped (by a signal), traced (by its tracer): held, not asleep; empty: did not sleep, or not known",
            |r, _| Cell::name(&r.asleep_in)
        ),
        col!("asleep_in_ns", "ns", I64, "ns asleep in it", |r, _| Cell::I64(
            r.asleep_in_ns
        )),
        col!(
            "held_ns",
            "ns",
            I64,
            "of asleep_ns: waiting for no event (state D), stopped or traced",
            |r, _| Cell::I64(r.held_ns)
        ),
        col!(
            "woken_by",
            "",
            Str,
            "task that ended the longest of these sleeps that another thread ended; empty: a timer, interrupt or softirq did, or not known",
            |r, _| Cell::name(&r.woken_by)
        ),
        col!("woken_by_pid", "id", I64, "its thread id", |r, _| Cell::thread(
            r.woken_by_pid
        )),
        col!(
            "woken_by_ns",
            "ns",
            I64,
            "that sleep, the part of asleep_in_ns that it ended; empty as woken_by",
            |r, _| (r.woken_by_pid != 0).then_some(r.woken_by_ns).into()
        ),
        col!(
            "ran_meanwhile",
            "",
            Str,
            "where asleep_in is unrecorded for 50 ms or more: of the other threads of its process (by the snapshots of tasks) the one that ran longest in this turnaround; empty: none did, not known, or not among the longest 2000",
            |r, _| Cell::name(&r.ran_meanwhile)
        ),
        col!("ran_meanwhile_pid", "id", I64, "its thread id", |r, _| Cell::thread(
            r.ran_meanwhile_pid
        )),
        col!(
            "ran_meanwhile_ns",
            "ns",
            I64,
            "how long; empty as ran_meanwhile",
            |r, _| (r.ran_meanwhile_pid != 0).then_some(r.ran_meanwhile_ns).into()
        ),
        col!(
            "asleep_on",
            "id",
            U64,
            "the socket, as in connections, that the call of asleep_in received from after the longest of its sleeps of a ms or more: what that sleep was for; empty: none, io_uring, or not known (before Linux 6.3 only where data came)",
            |r, _| r.asleep_on.map(|a| a.connection.0).into()
        ),
        col!(
            "asleep_on_from_ns",
            "ns",
            I64,
            "begin of that sleep; may be before this row",
            |r, _| r.asleep_on.map(|a| a.from_ns).into()
        ),
        col!(
            "asleep_on_ns",
            "ns",
            I64,
            "the part of asleep_in_ns that it had",
            |r, _| r.asleep_on.map(|a| a.ns).into()
        ),
        col!(
            "run_queue_task",
            "",
            Str,
            "who ran longest on its CPU in the longest wait of run_queue_ns; swapper: nobody, the CPU idled (throttled, or moved); empty: did not wait, or not known",
            |r, _| Cell::name(&r.run_queue_task)
        ),
        col!("reads", "count", U64, "reads since the send before", |r, _| Cell::U64(
            r.reads.into()
        )),
        col!(
            "overlap",
            "",
            Bool,
            "what was read next was readable before the send: requests were not answered one by one",
            |r, _| Cell::Bool(r.overlap)
        ),
        col!(
            "confidence",
            "",
            Str,
            "that the send followed the read: weak when another thread sent, or events were lost",
            |r, _| Cell::str(r.confidence.word())
        ),
    ],
};
