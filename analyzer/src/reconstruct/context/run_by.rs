//! Who runs network receive work.

/// Who ran a softirq or a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunBy {
    /// The tail of a hard interrupt.
    IrqTail,
    /// A task that enabled bottom halves (`__local_bh_enable_ip`).
    BhEnable,
    /// ksoftirqd/N; ktimers/N of PREEMPT_RT.
    Ksoftirqd,
    /// The kernel thread of a NAPI (`napi/<dev>-<id>`, `backlog_napi/<cpu>`): no softirq.
    ThreadedNapi,
    /// A task that polls for itself (`napi_busy_loop`): no softirq.
    BusyPoll,
    /// Not known.
    Unknown,
}

impl RunBy {
    /// All.
    pub const ALL: [RunBy; 6] = [
        RunBy::IrqTail,
        RunBy::BhEnable,
        RunBy::Ksoftirqd,
        RunBy::ThreadedNapi,
        RunBy::BusyPoll,
        RunBy::Unknown,
    ];
    /// The word in tables.
    pub fn word(self) -> &'static str {
        match self {
            RunBy::IrqTail => "irq_tail",
            RunBy::BhEnable => "bh_enable",
            RunBy::Ksoftirqd => "ksoftirqd",
            RunBy::ThreadedNapi => "threaded_napi",
            RunBy::BusyPoll => "busy_poll",
            RunBy::Unknown => "unknown",
        }
    }
    /// Of a poll outside softirq, by the name of its thread and its budget (`BUSY_POLL_BUDGET` is 8; netpoll has 0).
    pub fn of_task(comm: &[u8], budget: Option<i32>) -> RunBy {
        if comm.starts_with(b"napi/") || comm.starts_with(b"backlog_napi/") {
            RunBy::ThreadedNapi
        } else if budget == Some(8) {
            RunBy::BusyPoll
        } else {
            RunBy::Unknown
        }
    }
}
