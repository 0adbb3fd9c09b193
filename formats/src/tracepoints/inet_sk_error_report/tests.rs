//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::InetSkErrorReport;
use crate::tracepoints::testing::{A4, A6, B4, B6, KERNELS, names, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
68000000 error
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
    only_on::<InetSkErrorReport>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = InetSkErrorReport {
        error: 104,
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
    reads::<InetSkErrorReport>(&KERNELS, &bytes, 60, &event);
}

#[test]
fn names_values_as_the_kernel_prints_them() {
    names::<InetSkErrorReport>(&KERNELS, "family", &[(2, "AF_INET"), (10, "AF_INET6")]);
    names::<InetSkErrorReport>(
        &KERNELS,
        "protocol",
        &[(6, "IPPROTO_TCP"), (132, "IPPROTO_SCTP"), (262, "IPPROTO_MPTCP")],
    );
}
