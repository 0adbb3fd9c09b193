//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::InetSockSetState;
use crate::tracepoints::testing::{A4, A6, B4, B6, KERNELS, names, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
000605048188ffff skaddr
01000000 oldstate
08000000 newstate
5114 sport
409c dport
0200 family
0600 protocol
0a000001 saddr
0a000002 daddr
00000000000000000000ffff0a000001 saddr_v6
00000000000000000000ffff0a000002 daddr_v6
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<InetSockSetState>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = InetSockSetState {
        skaddr: 0xffff_8881_0405_0600,
        oldstate: 1,
        newstate: 8,
        sport: 5201,
        dport: 40_000,
        family: 2,
        protocol: 6,
        saddr: &A4,
        daddr: &B4,
        saddr_v6: &A6,
        daddr_v6: &B6,
        payload: PhantomData,
    };
    reads::<InetSockSetState>(&KERNELS, &bytes, 72, &event);
}

#[test]
fn names_values_as_the_kernel_prints_them() {
    names::<InetSockSetState>(&KERNELS, "family", &[(2, "AF_INET"), (10, "AF_INET6")]);
    names::<InetSockSetState>(
        &KERNELS,
        "protocol",
        &[(6, "IPPROTO_TCP"), (132, "IPPROTO_SCTP"), (262, "IPPROTO_MPTCP")],
    );
    names::<InetSockSetState>(
        &KERNELS,
        "oldstate",
        &[(1, "TCP_ESTABLISHED"), (7, "TCP_CLOSE"), (12, "TCP_NEW_SYN_RECV")],
    );
    names::<InetSockSetState>(
        &KERNELS,
        "newstate",
        &[(1, "TCP_ESTABLISHED"), (7, "TCP_CLOSE"), (12, "TCP_NEW_SYN_RECV")],
    );
}
