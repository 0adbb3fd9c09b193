//! `sched:sched_wakeup_new`: A new task is runnable for the first time: `wake_up_new_task` (kernel/sched/core.c).
//! Since 2.6.x; `success` is gone in 6.1.

use crate::tracepoints::{Text, tracepoint};

tracepoint! {
    /// A new task that became runnable.
    pub struct SchedWakeupNew: "sched" "sched_wakeup_new" {
        /// Name of the task.
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
