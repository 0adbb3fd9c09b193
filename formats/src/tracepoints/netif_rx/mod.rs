//! `net:netif_rx`: A packet enters the per-CPU backlog: `netif_rx_internal` (net/core/dev.c), before the choice of the
//! CPU (RPS). Used by loopback, veth and drivers without NAPI. Since 2.6.37, fields unchanged.
//!
//! Traps: the packet is processed later, maybe on another CPU, where `netif_receive_skb` names the same address.

use crate::tracepoints::{Text, tracepoint};

tracepoint! {
    /// A packet put on a backlog.
    pub struct NetifRx: "net" "netif_rx" {
        /// Address of the `struct sk_buff`.
        skbaddr: u64,
        /// `skb->len`, bytes; without the link-layer header.
        len: u32,
        /// Device name; the same name may exist in other network namespaces.
        name: Text,
    }
}

#[cfg(test)]
mod tests;
