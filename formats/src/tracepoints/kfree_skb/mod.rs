//! `skb:kfree_skb`: An skb is freed as a drop: `kfree_skb_reason` / `sk_skb_reason_drop` (net/core/skbuff.c), when the
//! last reference goes. Since 2.6.x: `skbaddr`, `location`, `protocol`. `reason` since 5.17. `rx_sk` since 6.11,
//! placed before `protocol`: offsets move (6.1 lacks it, 6.12 and 6.18 have it).
//!
//! Traps: not every kfree_skb is a loss (drivers that complete with it, sockets that close with queued data,
//! duplicates that TCP discards). Reason numbers change in nearly every release: resolve them by the recording's own
//! table only.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// An skb freed as dropped.
    pub struct KfreeSkb: "skb" "kfree_skb" {
        /// Address of the `struct sk_buff`; free for re-use from now on.
        skbaddr: u64,
        /// Return address of the caller, a kernel text address.
        location: u64,
        /// Receiving `struct sock`, 0 when none was found; since 6.11.
        rx_sk: Option<u64>,
        /// Ethertype, host order; 0 for skbs that are no packets.
        protocol: u16,
        /// `enum skb_drop_reason` of that kernel; since 5.17.
        reason: Option<u32>,
    }
}

#[cfg(test)]
mod tests;
