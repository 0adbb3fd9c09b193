//! `sched:sched_switch`: A CPU leaves one task for another: `__schedule` (kernel/sched/core.c). Since 2.6.x, fields
//! unchanged.
//!
//! Traps: the bits of `prev_state` differ per release, and 0 with the highest bit means preempted: names are in the
//! format's table. `prev_comm` and `next_comm` are user-chosen bytes.

use crate::tracepoints::{Text, tracepoint};

tracepoint! {
    /// A change of the running task.
    pub struct SchedSwitch: "sched" "sched_switch" {
        /// Name of the task that leaves.
        prev_comm: Text,
        /// Its thread id; 0 is the idle task.
        prev_pid: i32,
        /// Its kernel priority (0..=139; nice 0 is 120).
        prev_prio: i32,
        /// Its state bits; 0 is runnable.
        prev_state: i64,
        /// Name of the task that comes.
        next_comm: Text,
        /// Its thread id; 0 is the idle task.
        next_pid: i32,
        /// Its kernel priority.
        next_prio: i32,
    }
}

#[cfg(test)]
mod tests;
