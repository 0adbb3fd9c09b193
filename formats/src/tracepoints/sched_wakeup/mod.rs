//! `sched:sched_wakeup`: A woken task is runnable on its CPU: `ttwu_do_wakeup` (kernel/sched/core.c). Since 2.6.x;
//! `success` is gone in 6.1.
//!
//! Traps: with a remote queue it fires on the target CPU, after an IPI; without `sched_waking` it is the only sign of
//! the wake.

use crate::tracepoints::{Text, tracepoint};

tracepoint! {
    /// A task that became runnable.
    pub struct SchedWakeup: "sched" "sched_wakeup" {
        /// Name of the woken task.
        comm: Text,
        /// Its thread id.
        pid: i32,
        /// Its kernel priority.
        prio: i32,
        /// Always 1; older kernels only.
        success: Option<i32>,
        /// CPU that will run it.
        target_cpu: i32,
    }
}

#[cfg(test)]
mod tests;
