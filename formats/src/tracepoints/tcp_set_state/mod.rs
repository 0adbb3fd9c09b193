//! `tcp:tcp_set_state`: A TCP socket changes state: `tcp_set_state` (net/ipv4/tcp.c). In 4.15 only;
//! `sock:inet_sock_set_state` took its place in 4.16.

use crate::tracepoints::inet_sock_set_state::InetSockSetState;
use crate::tracepoints::{Raw, tracepoint};

const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;
const IPPROTO_TCP: u16 = 6;
/// How an IPv4 address begins that is written as one of IPv6.
const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

tracepoint! {
    /// A change of TCP state, as 4.15 says it.
    pub struct TcpSetState: "tcp" "tcp_set_state" {
        /// Address of the `struct sock`.
        skaddr: u64,
        /// TCP state that ends (ESTABLISHED 1 .. NEW_SYN_RECV 12).
        oldstate: i32,
        /// TCP state that begins.
        newstate: i32,
        /// Local port, host order.
        sport: u16,
        /// Remote port, host order.
        dport: u16,
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

impl<'a> From<TcpSetState<'a>> for InetSockSetState<'a> {
    /// As the event that took its place says it: of TCP, and of the family that the addresses show.
    fn from(e: TcpSetState<'a>) -> Self {
        let mapped = e.saddr_v6.starts_with(&MAPPED);
        InetSockSetState {
            skaddr: e.skaddr,
            oldstate: e.oldstate,
            newstate: e.newstate,
            sport: e.sport,
            dport: e.dport,
            family: if mapped { AF_INET } else { AF_INET6 },
            protocol: IPPROTO_TCP,
            saddr: e.saddr,
            daddr: e.daddr,
            saddr_v6: e.saddr_v6,
            daddr_v6: e.daddr_v6,
            payload: e.payload,
        }
    }
}

#[cfg(test)]
mod tests;
