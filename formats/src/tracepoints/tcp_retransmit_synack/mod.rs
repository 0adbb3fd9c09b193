//! `tcp:tcp_retransmit_synack`: A SYN-ACK was retransmitted: `tcp_rtx_synack` (net/ipv4/tcp_output.c). Since 4.15;
//! `family` about 5.12.

use crate::tracepoints::{Raw, tracepoint};

tracepoint! {
    /// A retransmitted SYN-ACK.
    pub struct TcpRetransmitSynack: "tcp" "tcp_retransmit_synack" {
        /// Address of the listening `struct sock`.
        skaddr: u64,
        /// Address of the `struct request_sock`.
        req: u64,
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
    }
}

#[cfg(test)]
mod tests;
