//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::TcpRetransmitSynack;
use crate::tracepoints::testing::{A4, A6, B4, B6, KERNELS, names, only_on, payload, reads, reads_text, text, without};

const PAYLOAD: &str = "
000010012a000000 common
000605048188ffff skaddr
000e0d0c8188ffff req
5114 sport
409c dport
0200 family
0a000001 saddr
0a000002 daddr
00000000000000000000ffff0a000001 saddr_v6
00000000000000000000ffff0a000002 daddr_v6
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<TcpRetransmitSynack>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = TcpRetransmitSynack {
        skaddr: 0xffff_8881_0405_0600,
        req: 0xffff_8881_0c0d_0e00,
        sport: 5201,
        dport: 40_000,
        family: Some(2),
        saddr: &A4,
        daddr: &B4,
        saddr_v6: &A6,
        daddr_v6: &B6,
        payload: PhantomData,
    };
    reads::<TcpRetransmitSynack>(&KERNELS, &bytes, 70, &event);
    // Older kernels.
    let text = text("6.1.192", "tcp", "tcp_retransmit_synack");
    let text = without(&text, "family");
    reads_text::<TcpRetransmitSynack>(&text, &bytes, 70, &TcpRetransmitSynack { family: None, ..event });
}

#[test]
fn names_values_as_the_kernel_prints_them() {
    names::<TcpRetransmitSynack>(&KERNELS, "family", &[(2, "AF_INET"), (10, "AF_INET6")]);
}
