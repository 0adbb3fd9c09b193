//! `sched:sched_migrate_task`: A task gets another CPU: `set_task_cpu` (kernel/sched/core.c). Since 2.6.x; `comm` is
//! an array of 16 bytes or, in newer kernels, a dynamic string.

use crate::tracepoints::{Text, tracepoint};

tracepoint! {
    /// A task that moves to another CPU.
    pub struct SchedMigrateTask: "sched" "sched_migrate_task" {
        /// Name of the task.
        comm: Text,
        /// Its thread id.
        pid: i32,
        /// Its kernel priority.
        prio: i32,
        /// CPU it leaves.
        orig_cpu: i32,
        /// CPU it goes to.
        dest_cpu: i32,
    }
}

#[cfg(test)]
mod tests;
