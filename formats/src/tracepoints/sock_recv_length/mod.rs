//! `sock:sock_recv_length`: A receive on a socket returned: `sock_recvmsg_nosec` (net/socket.c). Since 6.3, fields
//! unchanged.
//!
//! Traps: the printed length is 0 for errors and for MSG_PEEK (flag bit 1), where nothing leaves the queue: use `ret`.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A receive that returned.
    pub struct SockRecvLength: "sock" "sock_recv_length" {
        /// Address of the `struct sock`.
        sk: u64,
        /// Address family.
        family: u16,
        /// `IPPROTO_*`.
        protocol: u16,
        /// Bytes given, or a negative errno.
        ret: i32,
        /// `MSG_*` bits.
        flags: i32,
    }
}

#[cfg(test)]
mod tests;
