//! `net:netif_receive_skb_list_exit`: `netif_receive_skb_list` returns: one event for the whole list (net/core/dev.c).
//! Since 5.0.
//!
//! Traps: `ret` is always 0.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// Exit of netif_receive_skb_list.
    pub struct NetifReceiveSkbListExit: "net" "netif_receive_skb_list_exit" {
        /// Always 0.
        ret: i32,
    }
}

#[cfg(test)]
mod tests;
