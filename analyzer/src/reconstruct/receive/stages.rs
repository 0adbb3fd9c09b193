//! The stages of the receive path.

use crate::reconstruct::stage_times::Times;

/// The stages of the receive path in the order a packet goes through them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Hard interrupt handler until it raised NET_RX.
    Irq,
    /// NET_RX raised (or the packet queued to this CPU's backlog) until the softirq ran.
    SoftirqWait,
    /// Queued to another CPU's backlog (RPS, XPS of a virtual device) until NET_RX began there.
    Rps,
    /// The softirq running until it reached this packet.
    PollWait,
    /// GRO entry until `netif_receive_skb` (or until the steering CPU's poll ended): hold and list batch.
    Gro,
    /// `netif_receive_skb` until packets received before it in the same batch were through their protocols.
    BatchWait,
    /// Until the transport protocol had it, in softirq.
    Protocol,
    /// Received, but the thread that did it was switched out with bottom halves off (PREEMPT_RT): in none of the four before and `Ready`.
    Preempted,
    /// In the socket's backlog because a task held the socket lock.
    Backlog,
    /// Held by TCP until a later segment made the socket readable: a segment before it was missing (or, where no ACK of a recorded peer
    /// says that none was, SO_RCVLOWAT).
    OutOfOrder,
    /// Transport protocol until the socket was marked readable (an ACK may be sent in here; with SO_RCVLOWAT it waits for so many bytes).
    Ready,
    /// In the receive queue while the reader slept: busy elsewhere, or not yet woken.
    ReaderAsleep,
    /// In the receive queue between the reader's waking and its being runnable (IPI).
    Wakeup,
    /// In the receive queue while the reader was runnable and its CPU was still idle.
    IdleExit,
    /// In the receive queue while the reader was runnable and its CPU ran something else.
    RunQueue,
    /// In the receive queue while the reader ran but had not read yet.
    ReaderRunning,
    /// Copy to the reader until the read returned inside the kernel.
    Copy,
    /// Until the system call returned.
    Return,
}

/// Number of stages.
pub const STAGES: usize = 18;

impl Stage {
    /// All, in order.
    pub const ALL: [Stage; STAGES] = [
        Stage::Irq,
        Stage::SoftirqWait,
        Stage::Rps,
        Stage::PollWait,
        Stage::Gro,
        Stage::BatchWait,
        Stage::Protocol,
        Stage::Preempted,
        Stage::Backlog,
        Stage::OutOfOrder,
        Stage::Ready,
        Stage::ReaderAsleep,
        Stage::Wakeup,
        Stage::IdleExit,
        Stage::RunQueue,
        Stage::ReaderRunning,
        Stage::Copy,
        Stage::Return,
    ];
    /// Those that are over when the transport protocol has a packet, and when a socket has it.
    pub const UNTIL_SOCKET: [Stage; 9] = [
        Stage::Irq,
        Stage::SoftirqWait,
        Stage::Rps,
        Stage::PollWait,
        Stage::Gro,
        Stage::BatchWait,
        Stage::Protocol,
        Stage::Preempted,
        Stage::Backlog,
    ];
    /// Name as in the columns (`stage_<name>_ns`).
    pub fn name(self) -> &'static str {
        match self {
            Stage::Irq => "irq",
            Stage::SoftirqWait => "softirq_wait",
            Stage::Rps => "rps",
            Stage::PollWait => "poll_wait",
            Stage::Gro => "gro",
            Stage::BatchWait => "batch_wait",
            Stage::Protocol => "protocol",
            Stage::Preempted => "preempted",
            Stage::Backlog => "backlog",
            Stage::OutOfOrder => "out_of_order",
            Stage::Ready => "ready",
            Stage::ReaderAsleep => "reader_asleep",
            Stage::Wakeup => "wakeup",
            Stage::IdleExit => "idle_exit",
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
            Stage::SoftirqWait => "NET_RX raised, or packet queued to this CPU's backlog, until the softirq ran",
            Stage::Rps => "steered to another CPU, until NET_RX began there",
            Stage::PollWait => "softirq running until it reached this packet",
            Stage::Gro => "GRO entry to netif_receive_skb: hold and list batch",
            Stage::BatchWait => "received, waiting for the batch's earlier packets to get through",
            Stage::Protocol => "to the transport protocol",
            Stage::Preempted => "the softirq was preempted, or waited for a lock (PREEMPT_RT)",
            Stage::Backlog => "socket backlog: a task held the socket lock",
            Stage::OutOfOrder => {
                "held by TCP behind a missing segment (out of order, or SO_RCVLOWAT where no ACK tells which)"
            }
            Stage::Ready => {
                "transport protocol to socket readable; an ACK may be sent in here, and SO_RCVLOWAT waits for so many bytes"
            }
            Stage::ReaderAsleep => "readable, but the reader slept: busy elsewhere, or not yet woken",
            Stage::Wakeup => "reader woken, not yet runnable (IPI)",
            Stage::IdleExit => "reader runnable, its CPU leaving idle",
            Stage::RunQueue => "reader runnable, CPU busy with something else",
            Stage::ReaderRunning => "reader on a CPU, not reading yet",
            Stage::Copy => "copy to the reader, with the ACKs it sends and softirqs on its CPU meanwhile",
            Stage::Return => "system call return",
        }
    }
}

/// ns per stage of a row.
pub type StageTimes = Times<Stage, STAGES>;

impl From<Stage> for usize {
    fn from(s: Stage) -> usize {
        s as usize
    }
}
