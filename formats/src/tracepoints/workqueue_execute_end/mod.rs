//! `workqueue:workqueue_execute_end`: A work item returned: `process_one_work` (kernel/workqueue.c). Since 2.6.x;
//! `function` since about 5.6. The work's memory may be gone.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A work item that ended.
    pub struct WorkqueueExecuteEnd: "workqueue" "workqueue_execute_end" {
        /// Address of the `struct work_struct`; the object may not exist any more.
        work: u64,
        /// Address of its function.
        function: Option<u64>,
    }
}

#[cfg(test)]
mod tests;
