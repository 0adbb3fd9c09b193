//! `tcp:tcp_send_reset`: A RST is sent: `tcp_v4_send_reset`, `tcp_v6_send_reset`, `tcp_send_active_reset`
//! (net/ipv4/tcp_output.c and neighbours). Since 4.15. Two layouts: with `sport`, `dport`, `saddr[4]` and
//! `saddr_v6[16]` before 6.10, with `reason` and sockaddrs of 28 bytes since.
//!
//! Traps: `skbaddr` is the segment that caused the RST, 0 for an active one. Addresses are those of the socket's view.
//! The text's table of `state` has no numbers: take the names from inet_sock_set_state's.

use crate::tracepoints::{Raw, tracepoint};

tracepoint! {
    /// A RST on its way.
    pub struct TcpSendReset: "tcp" "tcp_send_reset" {
        /// Address of the causing segment's `struct sk_buff`, or 0.
        skbaddr: u64,
        /// Address of the `struct sock`, 0 when there is none.
        skaddr: u64,
        /// TCP state; 0 when there is no socket.
        state: Option<i32>,
        /// `enum sk_rst_reason`; names in the format's table; since 6.10.
        reason: Option<u32>,
        /// Local port, host order; old layout only.
        sport: Option<u16>,
        /// Remote port, host order; old layout only.
        dport: Option<u16>,
        /// Address family; old layout, since about 5.12.
        family: Option<u16>,
        /// Local address: sockaddr of 28 bytes, or 4 bytes in the old layout.
        saddr: Raw,
        /// Remote address, likewise.
        daddr: Raw,
        /// Local address, 16 bytes; old layout only.
        saddr_v6: Option<Raw>,
        /// Remote address, 16 bytes; old layout only.
        daddr_v6: Option<Raw>,
    }
}

#[cfg(test)]
mod tests;
