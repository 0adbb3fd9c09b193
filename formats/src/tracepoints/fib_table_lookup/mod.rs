//! `fib:fib_table_lookup`: A route was looked up in one table, IPv4: `fib_table_lookup` (net/ipv4/fib_trie.c).
//! Since 4.5; with the protocol and the ports since 4.18.
//!
//! Traps: one for each table that is asked, so that several of one send follow each other, the first of which may find nothing. Of what is received
//! protocol and ports are 0 unless a rule asks for them. A tunnel looks the outside up while the inner packet is sent. The source
//! is 0.0.0.0 until it is chosen. `gw4` and `gw6` hold what was in the buffer before where there is no gateway of that family.

use crate::tracepoints::{Raw, tracepoint};

tracepoint! {
    /// A look-up of a route.
    pub struct FibTableLookup: "fib" "fib_table_lookup" {
        /// 0, or the error negative: -11 when this table has no route.
        err: i32,
        /// IP protocol of what is to be sent; 0: not said.
        proto: u8,
        /// Device that it came in by; 1: it is sent by this host itself, or came by loopback.
        iif: Option<i32>,
        /// Its source, 4 bytes; 0.0.0.0: not chosen yet.
        src: Option<Raw>,
        /// Its destination, 4 bytes.
        dst: Raw,
        /// Its source port, host order; 0: not said.
        sport: u16,
        /// Its destination port, host order; 0: not said.
        dport: u16,
    }
}

#[cfg(test)]
mod tests;
