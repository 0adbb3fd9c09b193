//! `net:net_dev_xmit`: The driver's transmit function returned: `xmit_one` (net/core/dev.c), after `ndo_start_xmit`.
//! Since 2.6.37, fields unchanged.
//!
//! Traps: fires AFTER the hand-off, when the skb may be completed and its address in use by another CPU: take `rc` and
//! the time only. `rc` 0x10 (BUSY) means that the packet goes back to the qdisc. On loopback the whole receive path
//! runs before it.

use crate::tracepoints::{Text, tracepoint};

tracepoint! {
    /// The driver's answer to a transmit.
    pub struct NetDevXmit: "net" "net_dev_xmit" {
        /// Address that was handed over; may belong to another packet by now.
        skbaddr: u64,
        /// Bytes with the link-layer header, as saved before the call.
        len: u32,
        /// `NETDEV_TX_OK` 0, `NETDEV_TX_BUSY` 0x10, or a `NET_XMIT_*`/errno value.
        rc: i32,
        /// Device name; the same name may exist in other network namespaces.
        name: Text,
    }
}

#[cfg(test)]
mod tests;
