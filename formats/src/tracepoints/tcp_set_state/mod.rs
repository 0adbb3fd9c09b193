//! `tcp:tcp_set_state`: A TCP socket changes state: `tcp_set_state` (net/ipv4/tcp.c). In 4.15 only;
//! `sock:inet_sock_set_state` took its place in 4.16.

use crate::tracepoints::{Raw, tracepoint};

tracepoint! {
    /// A change of TCP state, as 4.15 says it.
    pub struct TcpSetState: "tcp" "tcp_set_state" {
        /// Address of the `struct sock`.
        skaddr: u64,
        /// TCP state that ends (ESTABLISHED 1 .. NEW_SYN_RECV 12).
        oldstate: i32,
        /// TCP state that begins.
        newstate: i32,
        /// Local port, host order.
        sport: u16,
        /// Remote port, host order.
        dport: u16,
        /// Local address, 4 bytes; 127.0.0.6 for an IPv6 socket of newer kernels.
        saddr: Raw,
        /// Remote address, 4 bytes; likewise.
        daddr: Raw,
        /// Local address, 16 bytes; v4-mapped for an IPv4 socket.
        saddr_v6: Raw,
        /// Remote address, 16 bytes.
        daddr_v6: Raw,
    }
}

#[cfg(test)]
mod tests;
