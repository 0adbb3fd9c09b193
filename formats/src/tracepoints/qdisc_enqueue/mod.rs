//! `qdisc:qdisc_enqueue`: A root qdisc took a packet: `dev_qdisc_enqueue` (net/core/dev.c), after the enqueue. Since
//! 5.15, fields unchanged.
//!
//! Traps: only on success, not for child qdiscs, not when the packet bypasses an empty qdisc. A qdisc that segments
//! has freed the skb by now: the address may be stale.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A packet that a root qdisc took.
    pub struct QdiscEnqueue: "qdisc" "qdisc_enqueue" {
        /// Address of the `struct Qdisc`.
        qdisc: u64,
        /// Address of the `struct netdev_queue`.
        txq: u64,
        /// Address of the `struct sk_buff`; may be stale.
        skbaddr: u64,
        /// Device index, unique in its network namespace.
        ifindex: i32,
        /// Handle, major in the upper 16 bits.
        handle: u32,
        /// Parent's handle.
        parent: u32,
    }
}

#[cfg(test)]
mod tests;
