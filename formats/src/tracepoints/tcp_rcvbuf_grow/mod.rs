//! `tcp:tcp_rcvbuf_grow`: The receive buffer is auto-tuned: `tcp_rcvbuf_grow` (net/ipv4/tcp_input.c). Since 6.16;
//! later releases may add fields.

use crate::tracepoints::{Raw, tracepoint};

tracepoint! {
    /// A step of receive buffer tuning.
    pub struct TcpRcvbufGrow: "tcp" "tcp_rcvbuf_grow" {
        /// Time since the last measurement, us.
        time: i32,
        /// Receiver's round trip estimate, us times 8.
        rtt_us: u32,
        /// Bytes that the reader took in that time.
        copied: u32,
        /// Bytes in the receive queue.
        inq: u32,
        /// Former target, bytes.
        space: u32,
        /// Bytes out of order.
        ooo_space: u32,
        /// `sk_rcvbuf`, bytes.
        rcvbuf: u32,
        /// Window's own threshold, bytes.
        rcv_ssthresh: Option<u32>,
        /// Largest window to offer, bytes.
        window_clamp: Option<u32>,
        /// Own window, bytes.
        rcv_wnd: Option<u32>,
        /// Payload share of memory, of 256.
        scaling_ratio: u8,
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
        /// Address of the `struct sock`.
        skaddr: u64,
        /// Socket cookie, unique since boot.
        sock_cookie: u64,
    }
}

#[cfg(test)]
mod tests;
