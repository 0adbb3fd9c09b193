//! `tcp:tcp_cong_state_set`: Congestion control changes state: `tcp_set_ca_state` (net/ipv4/tcp_cong.c). Since 5.19;
//! `family` later and by backport. States: Open 0, Disorder 1, CWR 2, Recovery 3, Loss 4.
//!
//! Traps: also fires at accept, and 4 after 4 for each timeout.

use crate::tracepoints::{Raw, tracepoint};

tracepoint! {
    /// A new congestion state.
    pub struct TcpCongStateSet: "tcp" "tcp_cong_state_set" {
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
        /// The state that begins.
        cong_state: u8,
    }
}

#[cfg(test)]
mod tests;
