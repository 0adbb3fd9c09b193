//! `tcp:tcp_destroy_sock`: A TCP socket is torn down: `tcp_v4_destroy_sock` (net/ipv4/tcp_ipv4.c). Since 4.15;
//! `sock_cookie` 4.18, `family` about 5.12.
//!
//! Traps: the address may be re-used at once. Time-wait and request sockets have none.

use crate::tracepoints::{Raw, tracepoint};

tracepoint! {
    /// A socket whose TCP part ends.
    pub struct TcpDestroySock: "tcp" "tcp_destroy_sock" {
        /// Address of the `struct sock`.
        skaddr: u64,
        /// Local port, host order.
        sport: u16,
        /// Remote port, host order.
        dport: u16,
        /// `AF_INET` 2 or `AF_INET6` 10; since about 5.12.
        family: Option<u16>,
        /// Local address, 4 bytes; 127.0.0.6 for an IPv6 socket of newer kernels.
        saddr: Raw,
        /// Remote address, 4 bytes; likewise.
        daddr: Raw,
        /// Local address, 16 bytes; v4-mapped for an IPv4 socket.
        saddr_v6: Raw,
        /// Remote address, 16 bytes.
        daddr_v6: Raw,
        /// Socket cookie, unique since boot; since 4.18.
        sock_cookie: Option<u64>,
    }
}

#[cfg(test)]
mod tests;
