//! The stages of the transmit path.

use crate::reconstruct::stage_times::Times;

/// The stages of the transmit path in the order a segment goes through them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The send call slept: the send buffer was full (or the socket locked) before these bytes could be taken.
    Sndbuf,
    /// The send call ran, or waited for a CPU, until the segment was handed over.
    Send,
    /// In the write queue: the peer's window was full.
    Rwnd,
    /// In the write queue: the congestion window was full.
    Cwnd,
    /// In the write queue: too little to send (Nagle, cork, autocork, TSO deferral).
    Nagle,
    /// In the write queue until the pacing timer was to fire.
    Pacing,
    /// The pacing timer's lateness.
    PacingSlip,
    /// In the write queue: enough of the socket lay in qdisc and device already (TCP small queues).
    Tsq,
    /// In the write queue: this host (a queue, or no route) had refused it in the send itself, until TCP tried again.
    Refused,
    /// Parked while the neighbour was resolved.
    Neighbour,
    /// In the queueing discipline.
    Qdisc,
    /// Held because byte queue limits had stopped the device's queue.
    Bql,
    /// Held because the driver's ring was full.
    Ring,
    /// In the driver's transmit function.
    Driver,
    /// First transmission to the last retransmission.
    Recovery,
    /// Given to the device until it said that it was sent.
    Completion,
    /// Network and peer: until the ACK that covers it.
    Network,
}

/// Number of stages.
pub const STAGES: usize = 17;

impl Stage {
    /// All, in order.
    pub const ALL: [Stage; STAGES] = [
        Stage::Sndbuf,
        Stage::Send,
        Stage::Rwnd,
        Stage::Cwnd,
        Stage::Nagle,
        Stage::Pacing,
        Stage::PacingSlip,
        Stage::Tsq,
        Stage::Refused,
        Stage::Neighbour,
        Stage::Qdisc,
        Stage::Bql,
        Stage::Ring,
        Stage::Driver,
        Stage::Recovery,
        Stage::Completion,
        Stage::Network,
    ];
    /// Name as in the columns (`stage_<name>_ns`).
    pub fn name(self) -> &'static str {
        match self {
            Stage::Sndbuf => "sndbuf",
            Stage::Send => "send",
            Stage::Rwnd => "rwnd",
            Stage::Cwnd => "cwnd",
            Stage::Nagle => "nagle",
            Stage::Pacing => "pacing",
            Stage::PacingSlip => "pacing_slip",
            Stage::Tsq => "tsq",
            Stage::Refused => "refused",
            Stage::Neighbour => "neighbour",
            Stage::Qdisc => "qdisc",
            Stage::Bql => "bql",
            Stage::Ring => "ring",
            Stage::Driver => "driver",
            Stage::Recovery => "recovery",
            Stage::Completion => "completion",
            Stage::Network => "network",
        }
    }
    /// Before the device has the segment: the sender's.
    pub fn before_device(self) -> bool {
        self < Stage::Qdisc
    }
    /// This host or the peer's window holds it: all but the call's own work, the driver, and the way to the peer and back.
    pub fn holds(self) -> bool {
        !matches!(self, Stage::Send | Stage::Driver | Stage::Completion | Stage::Network)
    }
    /// What passes in it, for a person.
    pub fn meaning(self) -> &'static str {
        match self {
            Stage::Sndbuf => "send call asleep: the send buffer was full",
            Stage::Send => "send call running, or waiting for a CPU, until the segment was handed over",
            Stage::Rwnd => "write queue: the peer's receive window was full",
            Stage::Cwnd => "write queue: the congestion window was full",
            Stage::Nagle => "write queue: too little to send yet (Nagle, cork, autocork, TSO deferral)",
            Stage::Pacing => "write queue: pacing, until its timer was to fire",
            Stage::PacingSlip => "write queue: the pacing timer fired late",
            Stage::Tsq => "write queue: enough of the socket was queued below (TCP small queues)",
            Stage::Refused => {
                "write queue: this host had refused it (its own queue, or no route), until TCP tried again"
            }
            Stage::Neighbour => "parked while the neighbour's address was resolved",
            Stage::Qdisc => "queueing discipline",
            Stage::Bql => "device queue stopped by byte queue limits",
            Stage::Ring => "driver's ring full",
            Stage::Driver => "driver's transmit function",
            Stage::Recovery => "lost: first transmission to the last retransmission",
            Stage::Completion => "device, until it reported the packet sent",
            Stage::Network => "network and peer, until the ACK that covers it",
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
