//! `net:netif_rx_exit`: `netif_rx` or `__netif_rx` returns (net/core/dev.c). Since 5.0. The packet is only queued by
//! then, not processed.
//!
//! Traps: carries no address: pair it with the entry before it on the same CPU and context.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// Exit of netif_rx.
    pub struct NetifRxExit: "net" "netif_rx_exit" {
        /// `NET_RX_SUCCESS` 0 or `NET_RX_DROP` 1 (backlog full).
        ret: i32,
    }
}

#[cfg(test)]
mod tests;
