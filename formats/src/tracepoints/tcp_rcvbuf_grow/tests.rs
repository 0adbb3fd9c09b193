//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::TcpRcvbufGrow;
use crate::tracepoints::testing::{A4, A6, B4, B6, names, only_on, payload, reads, reads_text, text, without};

const PAYLOAD: &str = "
000010012a000000 common
fa000000 time
20030000 rtt_us
00000200 copied
00100000 inq
00000100 space
00020000 ooo_space
00000400 rcvbuf
00000100 rcv_ssthresh
00000300 window_clamp
f0fa0000 rcv_wnd
b4 scaling_ratio
ee -
5114 sport
409c dport
0200 family
0a000001 saddr
0a000002 daddr
00000000000000000000ffff0a000001 saddr_v6
00000000000000000000ffff0a000002 daddr_v6
000605048188ffff skaddr
5544332211000000 sock_cookie
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<TcpRcvbufGrow>(&["6.18.44"]);
    let bytes = payload(PAYLOAD);
    let event = TcpRcvbufGrow {
        time: 250,
        rtt_us: 800,
        copied: 131_072,
        inq: 4096,
        space: 65_536,
        ooo_space: 512,
        rcvbuf: 262_144,
        rcv_ssthresh: Some(65_536),
        window_clamp: Some(196_608),
        rcv_wnd: Some(64_240),
        scaling_ratio: 180,
        sport: 5201,
        dport: 40_000,
        family: Some(2),
        saddr: &A4,
        daddr: &B4,
        saddr_v6: &A6,
        daddr_v6: &B6,
        skaddr: 0xffff_8881_0405_0600,
        sock_cookie: 73_588_229_205,
        payload: PhantomData,
    };
    reads::<TcpRcvbufGrow>(&["6.18.44"], &bytes, 112, &event);
    // Older kernels.
    let text = text("6.18.44", "tcp", "tcp_rcvbuf_grow");
    let text = without(&text, "rcv_ssthresh");
    let text = without(&text, "window_clamp");
    let text = without(&text, "rcv_wnd");
    let text = without(&text, "family");
    reads_text::<TcpRcvbufGrow>(
        &text,
        &bytes,
        112,
        &TcpRcvbufGrow {
            rcv_ssthresh: None,
            window_clamp: None,
            rcv_wnd: None,
            family: None,
            ..event
        },
    );
}

#[test]
fn names_values_as_the_kernel_prints_them() {
    names::<TcpRcvbufGrow>(&["6.18.44"], "family", &[(2, "AF_INET"), (10, "AF_INET6")]);
}
