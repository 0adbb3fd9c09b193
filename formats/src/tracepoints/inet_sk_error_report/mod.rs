//! `sock:inet_sk_error_report`: An internet socket reports an error to its owner: `sk_error_report` (net/core/sock.c).
//! Since 5.14, fields unchanged.
//!
//! Traps: no socket address.

use crate::tracepoints::{Raw, tracepoint};

tracepoint! {
    /// An error that a socket reports.
    pub struct InetSkErrorReport: "sock" "inet_sk_error_report" {
        /// errno, positive.
        error: i32,
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
