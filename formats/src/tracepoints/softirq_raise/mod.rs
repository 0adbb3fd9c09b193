//! `irq:softirq_raise`: A softirq is marked pending on this CPU: `__raise_softirq_irqoff` (kernel/softirq.c). Since
//! 2.6.x, fields unchanged.
//!
//! Traps: several raises may be served by one run. Inside NET_RX a raise of NET_RX at the end means that it gave up
//! its CPU (time squeeze) or that a poll used its whole weight.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A softirq marked pending.
    pub struct SoftirqRaise: "irq" "softirq_raise" {
        /// Vector (NET_TX 2, NET_RX 3, TIMER 1); names in the format's table.
        vec: u32,
    }
}

#[cfg(test)]
mod tests;
