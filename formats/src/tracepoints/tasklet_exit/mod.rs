//! `irq:tasklet_exit`: A tasklet's function returned: `tasklet_action_common` (kernel/softirq.c). In 6.1.192 and
//! later.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A tasklet that ended.
    pub struct TaskletExit: "irq" "tasklet_exit" {
        /// Address of the `struct tasklet_struct`.
        tasklet: Option<u64>,
        /// Address of its function.
        func: u64,
    }
}

#[cfg(test)]
mod tests;
