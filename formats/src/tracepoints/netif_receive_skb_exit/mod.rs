//! `net:netif_receive_skb_exit`: `netif_receive_skb` returns (net/core/dev.c). Since 5.0.
//!
//! Traps: carries no address: pair it with the innermost open entry of the CPU. The whole protocol processing is
//! between the two, unless RPS queued the packet.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// Exit of netif_receive_skb.
    pub struct NetifReceiveSkbExit: "net" "netif_receive_skb_exit" {
        /// `NET_RX_SUCCESS` 0 or `NET_RX_DROP` 1.
        ret: i32,
    }
}

#[cfg(test)]
mod tests;
