//! `fib6:fib6_table_lookup`: A route was looked up in one table, IPv6: `fib6_table_lookup` (net/ipv6/ip6_fib.c).
//! Since 4.19 with the protocol and the ports.
//!
//! Traps: those of `fib_table_lookup`; what is received has its protocol here, and its ports are 0.

use crate::tracepoints::{Raw, tracepoint};

tracepoint! {
    /// A look-up of a route.
    pub struct Fib6TableLookup: "fib6" "fib6_table_lookup" {
        /// 0, or the error negative.
        err: i32,
        /// IP protocol of what is to be sent; 0: not said.
        proto: u8,
        /// Device that it came in by; 1: it is sent by this host itself, or came by loopback.
        iif: Option<i32>,
        /// Its source, 16 bytes.
        src: Option<Raw>,
        /// Its destination, 16 bytes.
        dst: Raw,
        /// Its source port, host order; 0: not said.
        sport: u16,
        /// Its destination port, host order; 0: not said.
        dport: u16,
    }
}

#[cfg(test)]
mod tests;
