//! `sched:sched_waking`: A wake-up begins, on the waker's CPU: `try_to_wake_up` (kernel/sched/core.c). Since 4.3,
//! absent in 3.10. `success` is gone in 6.1. The latency of a wake starts here; `sched_wakeup` follows on the CPU that
//! queues the task.

use crate::tracepoints::{Text, tracepoint};

tracepoint! {
    /// A wake-up that begins.
    pub struct SchedWaking: "sched" "sched_waking" {
        /// Name of the woken task.
        comm: Text,
        /// Its thread id.
        pid: i32,
        /// Its kernel priority.
        prio: i32,
        /// Always 1; older kernels only.
        success: Option<i32>,
        /// CPU it was on; the choice of the new one comes later.
        target_cpu: i32,
    }
}

#[cfg(test)]
mod tests;
