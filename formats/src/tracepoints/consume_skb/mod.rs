//! `skb:consume_skb`: An skb is freed after it served its purpose: `consume_skb`, `napi_consume_skb`
//! (net/core/skbuff.c) and the deferred frees of `net_tx_action` (net/core/dev.c), when the last reference goes. Since
//! 2.6.x; `location` since 6.3.
//!
//! Traps: it does not mean "delivered": GSO parents, tap clones and ARP helpers are consumed too. And most TCP skbs
//! die without any event, so its absence means nothing.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// An skb freed as used up.
    pub struct ConsumeSkb: "skb" "consume_skb" {
        /// Address of the `struct sk_buff`; free for re-use from now on.
        skbaddr: u64,
        /// Return address of the caller, a kernel text address; since 6.3.
        location: Option<u64>,
    }
}

#[cfg(test)]
mod tests;
