//! `icmp:icmp_send`: This host is about to answer a packet with an ICMP message: `__icmp_send` (net/ipv4/icmp.c).
//! Since about 6.11. IPv4 only.
//!
//! Traps: ports are read from where UDP has them, whatever the protocol of the packet.

use crate::tracepoints::{Raw, tracepoint};

tracepoint! {
    /// An ICMP message caused by a packet.
    pub struct IcmpSend: "icmp" "icmp_send" {
        /// Address of the causing `struct sk_buff`.
        skbaddr: u64,
        /// ICMP type.
        r#type: i32 | "type",
        /// ICMP code.
        code: i32,
        /// Source address of the causing packet, 4 bytes.
        saddr: Raw,
        /// Its destination address, 4 bytes.
        daddr: Raw,
        /// Its source port, host order; 0 when it is not UDP-like.
        sport: u16,
        /// Its destination port, host order.
        dport: u16,
        /// Its UDP length, bytes.
        ulen: u16,
    }
}

#[cfg(test)]
mod tests;
