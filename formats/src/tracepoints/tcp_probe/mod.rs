//! `tcp:tcp_probe`: An established connection received a segment: first statement of `tcp_rcv_established`
//! (net/ipv4/tcp_input.c). Since 4.16; `sock_cookie` 4.18, `family` about 5.12, `skbaddr` and `skaddr` 6.9.
//!
//! Traps: fires BEFORE the segment is processed, so `snd_una` and `snd_cwnd` are those before it: its effect shows in
//! the next probe. Handshake and closing states have none. `ssthresh` is `tcp_current_ssthresh`. `data_len` wraps
//! above 64 KiB. IPv4 on an IPv6 socket shows v4-mapped IPv6 addresses.

use crate::tracepoints::{Raw, tracepoint};

tracepoint! {
    /// A segment that an established connection is about to process.
    pub struct TcpProbe: "tcp" "tcp_probe" {
        /// Local sockaddr, 28 bytes (see `crate::sockaddr`).
        saddr: Raw,
        /// Remote sockaddr, 28 bytes.
        daddr: Raw,
        /// Local port, host order.
        sport: u16,
        /// Remote port, host order.
        dport: u16,
        /// `AF_INET` 2 or `AF_INET6` 10; since about 5.12.
        family: Option<u16>,
        /// `skb->mark`.
        mark: u32,
        /// Payload, bytes, modulo 64 KiB.
        data_len: u16,
        /// Next sequence number to send.
        snd_nxt: u32,
        /// First unacknowledged sequence number, before this segment.
        snd_una: u32,
        /// Congestion window, segments, before this segment.
        snd_cwnd: u32,
        /// Slow-start threshold as `tcp_current_ssthresh` says, segments.
        ssthresh: u32,
        /// Peer's window, bytes, before this segment.
        snd_wnd: u32,
        /// Smoothed round trip, us.
        srtt: u32,
        /// Own window, bytes.
        rcv_wnd: u32,
        /// Socket cookie, unique since boot; since 4.18.
        sock_cookie: Option<u64>,
        /// Address of the segment's `struct sk_buff`; since 6.9.
        skbaddr: Option<u64>,
        /// Address of the `struct sock`; since 6.9.
        skaddr: Option<u64>,
    }
}

#[cfg(test)]
mod tests;
