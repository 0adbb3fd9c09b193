//! `skb:skb_copy_datagram_iovec`: Data of an skb are about to be copied to user memory: `skb_copy_datagram_iter`
//! (net/core/datagram.c), before the copy. Since 2.6.x, fields unchanged.
//!
//! Traps: marks the copy's START. Other read paths (copy with checksum, splice, zero copy, in-kernel readers) emit
//! nothing. One skb may be copied in several parts.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A copy to user memory that begins.
    pub struct SkbCopyDatagramIovec: "skb" "skb_copy_datagram_iovec" {
        /// Address of the `struct sk_buff`.
        skbaddr: u64,
        /// Bytes that this copy asks for.
        len: i32,
    }
}

#[cfg(test)]
mod tests;
