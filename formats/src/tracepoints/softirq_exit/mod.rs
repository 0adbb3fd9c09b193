//! `irq:softirq_exit`: A softirq's action returned: `handle_softirqs`, formerly `__do_softirq` (kernel/softirq.c).
//! Since 2.6.x, fields unchanged.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A softirq action that ended.
    pub struct SoftirqExit: "irq" "softirq_exit" {
        /// Vector (NET_TX 2, NET_RX 3, TIMER 1); names in the format's table.
        vec: u32,
    }
}

#[cfg(test)]
mod tests;
