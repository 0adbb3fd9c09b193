//! `sock:sock_exceed_buf_limit`: A protocol's memory limit refuses a socket more memory: `__sk_mem_raise_allocated`
//! (net/core/sock.c). Since 3.1. `sysctl_mem` was a pointer in old kernels; `sysctl_wmem`, `wmem_alloc`, `wmem_queued`
//! and `kind` came later.

use crate::tracepoints::{Text, Words, tracepoint};

tracepoint! {
    /// A socket refused more memory.
    pub struct SockExceedBufLimit: "sock" "sock_exceed_buf_limit" {
        /// Protocol name (`TCP`, `UDP`).
        name: Text,
        /// min, pressure, max of the protocol, pages; `None` where only a pointer was recorded.
        sysctl_mem: Option<Words<3>>,
        /// Pages that the protocol holds.
        allocated: i64,
        /// Least receive buffer, bytes.
        sysctl_rmem: i32,
        /// Receive memory of the socket, bytes.
        rmem_alloc: i32,
        /// Least send buffer, bytes.
        sysctl_wmem: Option<i32>,
        /// Send memory of the socket, bytes.
        wmem_alloc: Option<i32>,
        /// Bytes of its write queue.
        wmem_queued: Option<i32>,
        /// `SK_MEM_SEND` 0 or `SK_MEM_RECV` 1.
        kind: Option<i32>,
    }
}

#[cfg(test)]
mod tests;
