//! `qdisc:qdisc_dequeue`: A root qdisc was asked for packets: `dequeue_skb` (net/sched/sch_generic.c), whatever it
//! gave. Since 4.14, fields unchanged.
//!
//! Traps: `packets` 0 is an empty or held qdisc: `txq_state` tells which (bit 0 stopped by the driver, bit 1 by BQL, 2
//! frozen). Of a bulk of N only the first skb is named. The printed line omits `qdisc` and `txq`.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A dequeue from a root qdisc.
    pub struct QdiscDequeue: "qdisc" "qdisc_dequeue" {
        /// Address of the `struct Qdisc`.
        qdisc: u64,
        /// Address of the `struct netdev_queue`.
        txq: u64,
        /// Packets taken; 0 for none.
        packets: i32,
        /// Address of the first `struct sk_buff`, or 0.
        skbaddr: u64,
        /// Device index, unique in its network namespace.
        ifindex: i32,
        /// Handle, major in the upper 16 bits.
        handle: u32,
        /// Parent's handle.
        parent: u32,
        /// `netdev_queue_state_t` bits.
        txq_state: u64,
    }
}

#[cfg(test)]
mod tests;
