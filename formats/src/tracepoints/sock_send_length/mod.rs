//! `sock:sock_send_length`: A send on a socket returned: `sock_sendmsg_nosec` (net/socket.c). Since 6.3, fields
//! unchanged.
//!
//! Traps: the printed length is 0 for errors and with flag bit 1: use `ret`. In the sender's task, so it names task
//! and socket.

use crate::tracepoints::tracepoint;

tracepoint! {
    /// A send that returned.
    pub struct SockSendLength: "sock" "sock_send_length" {
        /// Address of the `struct sock`.
        sk: u64,
        /// Address family.
        family: u16,
        /// `IPPROTO_*`.
        protocol: u16,
        /// Bytes taken, or a negative errno.
        ret: i32,
        /// `MSG_*` bits.
        flags: i32,
    }
}

#[cfg(test)]
mod tests;
