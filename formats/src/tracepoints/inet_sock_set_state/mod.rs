//! `sock:inet_sock_set_state`: A TCP, SCTP or MPTCP socket changes state: `inet_sk_set_state`, `inet_sk_state_store`
//! (net/ipv4/af_inet.c). Since 4.16; `protocol` is 8 bits wide before about 5.6.
//!
//! Traps: no cookie; TIME_WAIT never shows, a full socket goes from FIN_WAIT2 to CLOSE.

use crate::tracepoints::{Raw, tracepoint};

tracepoint! {
    /// A change of socket state.
    pub struct InetSockSetState: "sock" "inet_sock_set_state" {
        /// Address of the `struct sock`.
        skaddr: u64,
        /// State that ends; names in the format's table.
        oldstate: i32,
        /// State that begins.
        newstate: i32,
        /// Local port, host order.
        sport: u16,
        /// Remote port, host order.
        dport: u16,
        /// `AF_INET` 2 or `AF_INET6` 10.
        family: u16,
        /// `IPPROTO_*`.
        protocol: u16,
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
