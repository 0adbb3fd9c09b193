//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::TcpRcvSpaceAdjust;
use crate::tracepoints::testing::{A4, A6, B4, B6, KERNELS, names, only_on, payload, reads, reads_text, text, without};

const PAYLOAD: &str = "
000010012a000000 common
000605048188ffff skaddr
5114 sport
409c dport
0200 family
0a000001 saddr
0a000002 daddr
00000000000000000000ffff0a000001 saddr_v6
00000000000000000000ffff0a000002 daddr_v6
eeee -
5544332211000000 sock_cookie
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<TcpRcvSpaceAdjust>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = TcpRcvSpaceAdjust {
        skaddr: 0xffff_8881_0405_0600,
        sport: 5201,
        dport: 40_000,
        family: Some(2),
        saddr: &A4,
        daddr: &B4,
        saddr_v6: &A6,
        daddr_v6: &B6,
        sock_cookie: Some(73_588_229_205),
        payload: PhantomData,
    };
    reads::<TcpRcvSpaceAdjust>(&KERNELS, &bytes, 62, &event);
    // Older kernels.
    let text = text("6.1.192", "tcp", "tcp_rcv_space_adjust");
    let text = without(&text, "family");
    let text = without(&text, "sock_cookie");
    reads_text::<TcpRcvSpaceAdjust>(
        &text,
        &bytes,
        62,
        &TcpRcvSpaceAdjust {
            family: None,
            sock_cookie: None,
            ..event
        },
    );
}

#[test]
fn names_values_as_the_kernel_prints_them() {
    names::<TcpRcvSpaceAdjust>(&KERNELS, "family", &[(2, "AF_INET"), (10, "AF_INET6")]);
}
