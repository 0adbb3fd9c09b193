//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::InetSockSetState;
use crate::tracepoints::testing::{A4, A6, B4, B6, KERNELS, names, only_on, payload, reading, reads};

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

#[test]
fn reads_a_recorded_change() {
    // Recorded on 6.1.192, which printed:
    // protocol=IPPROTO_TCP sport=5201 dport=40406 saddr=10.77.0.2 daddr=10.77.0.1 saddrv6=::ffff:10.77.0.2
    //   daddrv6=::ffff:10.77.0.1 oldstate=TCP_ESTABLISHED newstate=TCP_CLOSE
    let bytes = payload(
        "
47050000fa0000000075a349dce434ff01000000070000005114d69d0a0006000a4d00020a4d000100000000000000000000ffff0a4d0002
00000000000000000000ffff0a4d0001
",
    );
    let event = reading::<InetSockSetState>("6.1.192", &bytes);
    assert_eq!(event.skaddr, 0xff34_e4dc_49a3_7500);
    assert_eq!(event.oldstate, 1);
    assert_eq!(event.newstate, 7);
    assert_eq!(event.sport, 5201);
    assert_eq!(event.dport, 40_406);
    assert_eq!(event.family, 10);
    assert_eq!(event.protocol, 6);
    assert_eq!(event.saddr, [10, 77, 0, 2]);
    assert_eq!(event.daddr, [10, 77, 0, 1]);
}
