//! `udp:udp_fail_queue_rcv_skb`: A datagram could not be queued on its socket: `__udp_queue_rcv_skb` and its IPv6 twin
//! (net/ipv4/udp.c, net/ipv6/udp.c). Since 3.1. Only `rc` and `lport` before about 6.10; ports and sockaddrs since.

use crate::tracepoints::{Raw, tracepoint};

tracepoint! {
    /// A datagram that its socket refused.
    pub struct UdpFailQueueRcvSkb: "udp" "udp_fail_queue_rcv_skb" {
        /// Negative errno (-ENOMEM: socket full, -ENOBUFS: protocol memory).
        rc: i32,
        /// Source port, host order; since about 6.10.
        sport: Option<u16>,
        /// Local port, host order; `lport` before.
        dport: Option<u16> | "lport",
        /// `AF_INET` 2 or `AF_INET6` 10; since about 6.10.
        family: Option<u16>,
        /// Source sockaddr, 28 bytes; since about 6.10.
        saddr: Option<Raw>,
        /// Destination sockaddr, 28 bytes; since about 6.10.
        daddr: Option<Raw>,
    }
}

#[cfg(test)]
mod tests;
