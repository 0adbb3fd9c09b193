//! `tcp:tcp_rcv_space_adjust`: A reader took data: `tcp_rcv_space_adjust` (net/ipv4/tcp_input.c), called after each
//! copy of tcp_recvmsg. Since 4.18; `family` about 5.12. It follows the copy of an skb on the same task: the join of
//! skb and socket where `tcp_probe` has no addresses.

use crate::tracepoints::{Raw, tracepoint};

tracepoint! {
    /// A reader that took data from a socket.
    pub struct TcpRcvSpaceAdjust: "tcp" "tcp_rcv_space_adjust" {
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
