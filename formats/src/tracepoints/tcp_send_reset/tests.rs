//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::TcpSendReset;
use crate::tracepoints::testing::{
    A4, A6, A28, B4, B6, B28, KERNELS, names, only_on, payload, reads, reads_text, text, unnamed, without,
};

const ON_6_12_6_18: &str = "
000010012a000000 common
000c0b0a8188ffff skbaddr
000605048188ffff skaddr
01000000 state
06000000 reason
020014510a0000010000000000000000000000000000000000000000 saddr
02009c400a0000020000000000000000000000000000000000000000 daddr
";

const ON_6_1: &str = "
000010012a000000 common
000c0b0a8188ffff skbaddr
000605048188ffff skaddr
01000000 state
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
    only_on::<TcpSendReset>(&KERNELS);
    let bytes = payload(ON_6_12_6_18);
    let event = TcpSendReset {
        skbaddr: 0xffff_8881_0a0b_0c00,
        skaddr: 0xffff_8881_0405_0600,
        state: Some(1),
        reason: Some(6),
        sport: None,
        dport: None,
        family: None,
        saddr: &A28,
        daddr: &B28,
        saddr_v6: None,
        daddr_v6: None,
        payload: PhantomData,
    };
    reads::<TcpSendReset>(&["6.12.117", "6.18.44"], &bytes, 88, &event);
    let bytes_1 = payload(ON_6_1);
    let event_1 = TcpSendReset {
        reason: None,
        sport: Some(5201),
        dport: Some(40_000),
        family: Some(2),
        saddr: &A4,
        daddr: &B4,
        saddr_v6: Some(&A6),
        daddr_v6: Some(&B6),
        ..event
    };
    reads::<TcpSendReset>(&["6.1.192"], &bytes_1, 42, &event_1);
    // Older kernels.
    let text = text("6.1.192", "tcp", "tcp_send_reset");
    let text = without(&text, "state");
    reads_text::<TcpSendReset>(&text, &bytes_1, 42, &TcpSendReset { state: None, ..event_1 });
}

#[test]
fn names_values_as_the_kernel_prints_them() {
    names::<TcpSendReset>(&["6.1.192"], "family", &[(2, "AF_INET"), (10, "AF_INET6")]);
    // The text has enumerators in place of numbers.
    unnamed::<TcpSendReset>(&KERNELS, "state", 0..16);
    names::<TcpSendReset>(
        &["6.12.117", "6.18.44"],
        "reason",
        &[(0, "NOT_SPECIFIED"), (13, "TCP_ABORT_ON_MEMORY"), (25, "MAX")],
    );
}
