//! `tcp:tcp_retransmit_skb`: A segment was retransmitted: `__tcp_retransmit_skb` (net/ipv4/tcp_output.c), after the
//! transmit. Since 4.15; `state` 5.1, `family` about 5.12, `err` 6.17.
//!
//! Traps: before 6.17 only successes fire, since then failures too: count `err` 0 only. It names the write-queue
//! original, `net_dev_queue` its clone. TLP probes fire it as well; zero-window probes do not. The text's table of
//! `state` has no numbers: take the names from inet_sock_set_state's.

use crate::tracepoints::{Raw, tracepoint};

tracepoint! {
    /// A retransmission.
    pub struct TcpRetransmitSkb: "tcp" "tcp_retransmit_skb" {
        /// Address of the original `struct sk_buff`.
        skbaddr: u64,
        /// Address of the `struct sock`.
        skaddr: u64,
        /// TCP state; since 5.1.
        state: Option<i32>,
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
        /// 0 or a negative errno; since 6.17.
        err: Option<i32>,
    }
}

#[cfg(test)]
mod tests;
