//! Changes of TCP states as one event, whatever a kernel calls it: `tcp:tcp_set_state` (4.15) as `sock:inet_sock_set_state` (since 4.16).

use crate::tracepoints::inet_sock_set_state::InetSockSetState;
use crate::tracepoints::tcp_set_state::TcpSetState;

const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;
const IPPROTO_TCP: u16 = 6;
/// How an IPv4 address begins that is written as one of IPv6.
const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

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
mod tests {
    use super::*;

    /// The family follows from how the addresses are written: an IPv4 socket's are mapped.
    #[test]
    fn it_is_of_tcp_and_of_the_family_of_its_addresses() {
        let v6 = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        let mut mapped = [0; 16];
        mapped[..12].copy_from_slice(&MAPPED);
        for (address, family) in [(&mapped[..], 2), (&v6[..], 10), (&[][..], 10)] {
            let now = InetSockSetState::from(TcpSetState {
                skaddr: 7,
                oldstate: 7,
                newstate: 2,
                sport: 1,
                dport: 80,
                saddr: &[0; 4],
                daddr: &[0; 4],
                saddr_v6: address,
                daddr_v6: address,
                payload: std::marker::PhantomData,
            });
            assert_eq!((now.family, now.protocol), (family, 6));
            assert_eq!(
                (now.skaddr, now.oldstate, now.newstate, now.sport, now.dport),
                (7, 7, 2, 1, 80)
            );
        }
    }
}
