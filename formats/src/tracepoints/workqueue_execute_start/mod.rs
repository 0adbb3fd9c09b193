//! `workqueue:workqueue_execute_start`: A work item begins: `process_one_work` (kernel/workqueue.c). Since 2.6.x,
//! fields unchanged. TCP small queues run as `tcp_tsq_workfn` in 6.18.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A work item that begins.
    pub struct WorkqueueExecuteStart: "workqueue" "workqueue_execute_start" {
        /// Address of the `struct work_struct`.
        work: u64,
        /// Address of its function.
        function: u64,
    }
}

#[cfg(test)]
mod tests;
