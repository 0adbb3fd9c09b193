//! `irq:tasklet_entry`: A tasklet's function begins: `tasklet_action_common` (kernel/softirq.c). In 6.1.192 and later.
//! TCP small queues ran as a tasklet (`tcp_tasklet_func`) before they moved to a workqueue.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A tasklet that begins.
    pub struct TaskletEntry: "irq" "tasklet_entry" {
        /// Address of the `struct tasklet_struct`.
        tasklet: Option<u64>,
        /// Address of its function.
        func: u64,
    }
}

#[cfg(test)]
mod tests;
