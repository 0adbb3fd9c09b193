//! `net:net_dev_queue`: A packet enters the device layer: `__dev_queue_xmit` (net/core/dev.c), before the qdisc. Since
//! 2.6.37, fields unchanged.
//!
//! Traps: `len` includes the link-layer header (receive events do not). For TCP the skb is a clone of the one in the
//! write queue, except control segments.

use crate::tracepoints::{Text, tracepoint};

tracepoint! {
    /// A packet given to the device layer.
    pub struct NetDevQueue: "net" "net_dev_queue" {
        /// Address of the `struct sk_buff`.
        skbaddr: u64,
        /// `skb->len`, bytes; with the link-layer header.
        len: u32,
        /// Device name; the same name may exist in other network namespaces.
        name: Text,
    }
}

#[cfg(test)]
mod tests;
