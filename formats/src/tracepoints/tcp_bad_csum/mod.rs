//! `tcp:tcp_bad_csum`: A segment has a wrong checksum and is dropped: `tcp_v4_rcv`, `tcp_v6_rcv` (net/ipv4/tcp_ipv4.c,
//! net/ipv6). Since 5.14.

use crate::tracepoints::{Raw, tracepoint};

tracepoint! {
    /// A segment with a bad checksum.
    pub struct TcpBadCsum: "tcp" "tcp_bad_csum" {
        /// Address of the `struct sk_buff`.
        skbaddr: u64,
        /// Source sockaddr, 28 bytes (see `crate::sockaddr`).
        saddr: Raw,
        /// Destination sockaddr, 28 bytes.
        daddr: Raw,
    }
}

#[cfg(test)]
mod tests;
