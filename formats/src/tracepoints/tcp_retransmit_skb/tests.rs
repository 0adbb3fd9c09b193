//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::TcpRetransmitSkb;
use crate::sockaddr::SockAddr;
use crate::tracepoints::testing::{
    A4, A6, B4, B6, KERNELS, names, only_on, payload, reading, reads, reads_text, text, unnamed, without,
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

#[test]
fn reads_a_recorded_ipv6_retransmission() {
    // Recorded on 6.12.117, which printed:
    // skbaddr=ff33490c8189c000 skaddr=ff33490c84712900 family=AF_INET6 sport=5201 dport=35506 saddr=127.0.0.6
    //   daddr=127.0.0.6 saddrv6=fd77::2 daddrv6=fd77::1 state=TCP_ESTABLISHED
    let bytes = payload(
        "
d20510020000000000c089810c4933ff002971840c4933ff010000005114b28a0a007f0000067f000006fd77000000000000000000000000
0002fd770000000000000000000000000001000000000000
",
    );
    let event = reading::<TcpRetransmitSkb>("6.12.117", &bytes);
    let local = SockAddr::from_fields(event.family, event.sport, event.saddr, event.saddr_v6).unwrap();
    assert_eq!(local.to_string(), "[fd77::2]:5201");
    // The IPv4 fields of an IPv6 socket are a filler.
    assert_eq!(event.saddr, [127, 0, 0, 6]);
    assert_eq!(event.dport, 35_506);
    assert_eq!(event.state, Some(1));
    assert_eq!(event.err, None);
    assert_eq!(event.skbaddr, 0xff33_490c_8189_c000);
    assert_eq!(event.skaddr, 0xff33_490c_8471_2900);
}
