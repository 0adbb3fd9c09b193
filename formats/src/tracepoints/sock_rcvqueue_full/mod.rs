//! `sock:sock_rcvqueue_full`: A datagram found its socket's receive buffer full: `__sock_queue_rcv_skb`
//! (net/core/sock.c). Since 3.1, fields unchanged.
//!
//! Traps: TCP does not pass here, and UDP has its own check in newer kernels. No socket address.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A full receive queue.
    pub struct SockRcvqueueFull: "sock" "sock_rcvqueue_full" {
        /// Memory charged to the queue, bytes.
        rmem_alloc: i32,
        /// Memory of the refused skb, bytes.
        truesize: u32,
        /// Limit, bytes.
        sk_rcvbuf: i32,
    }
}

#[cfg(test)]
mod tests;
