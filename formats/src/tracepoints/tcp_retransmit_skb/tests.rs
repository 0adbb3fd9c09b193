//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::TcpRetransmitSkb;
use crate::tracepoints::testing::{
    A4, A6, B4, B6, KERNELS, names, only_on, payload, reads, reads_text, text, unnamed, without,
};

const ON_6_18: &str = "
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
eeee -
f0ffffff err
";

const ON_6_1_6_12: &str = "
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
    only_on::<TcpRetransmitSkb>(&KERNELS);
    let bytes = payload(ON_6_18);
    let event = TcpRetransmitSkb {
        skbaddr: 0xffff_8881_0a0b_0c00,
        skaddr: 0xffff_8881_0405_0600,
        state: Some(1),
        sport: 5201,
        dport: 40_000,
        family: Some(2),
        saddr: &A4,
        daddr: &B4,
        saddr_v6: &A6,
        daddr_v6: &B6,
        err: Some(-16),
        payload: PhantomData,
    };
    reads::<TcpRetransmitSkb>(&["6.18.44"], &bytes, 74, &event);
    let bytes_1 = payload(ON_6_1_6_12);
    let event_1 = TcpRetransmitSkb { err: None, ..event };
    reads::<TcpRetransmitSkb>(&["6.1.192", "6.12.117"], &bytes_1, 74, &event_1);
    // Older kernels.
    let text = text("6.1.192", "tcp", "tcp_retransmit_skb");
    let text = without(&text, "state");
    let text = without(&text, "family");
    reads_text::<TcpRetransmitSkb>(
        &text,
        &bytes_1,
        74,
        &TcpRetransmitSkb {
            state: None,
            family: None,
            ..event_1
        },
    );
}

#[test]
fn names_values_as_the_kernel_prints_them() {
    names::<TcpRetransmitSkb>(&KERNELS, "family", &[(2, "AF_INET"), (10, "AF_INET6")]);
    // The text has enumerators in place of numbers.
    unnamed::<TcpRetransmitSkb>(&KERNELS, "state", 0..16);
}
