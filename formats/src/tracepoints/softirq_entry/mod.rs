//! `irq:softirq_entry`: A softirq's action begins: `handle_softirqs`, formerly `__do_softirq` (kernel/softirq.c).
//! Since 2.6.x, fields unchanged.
//!
//! Traps: the task of `common_pid` is whoever was interrupted, unless it is ksoftirqd. Threaded NAPI has no such
//! event.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A softirq action that begins.
    pub struct SoftirqEntry: "irq" "softirq_entry" {
        /// Vector (NET_TX 2, NET_RX 3, TIMER 1); names in the format's table.
        vec: u32,
    }
}

#[cfg(test)]
mod tests;
