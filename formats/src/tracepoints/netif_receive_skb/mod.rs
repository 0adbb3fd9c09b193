//! `net:netif_receive_skb`: The protocol layers begin with a packet: `__netif_receive_skb_core` (net/core/dev.c),
//! after GRO and RPS. Since 2.6.37, fields unchanged.
//!
//! Traps: may fire more than once for one skb (VLAN device, bridge, bond: another round with another device). It can
//! be nested between the entry and the exit of the GRO call of another packet.

use crate::tracepoints::{Text, tracepoint};

tracepoint! {
    /// A packet that enters the protocol layers.
    pub struct NetifReceiveSkb: "net" "netif_receive_skb" {
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
