//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::TcpProbe;
use crate::endian::Endian;
use crate::sockaddr::SockAddr;
use crate::tracepoints::Tracepoint;
use crate::tracepoints::testing::{
    A28, B28, KERNELS, format, names, only_on, payload, reads, reads_text, text, without,
};

const ON_6_12_6_18: &str = "
000010012a000000 common
020014510a0000010000000000000000000000000000000000000000 saddr
02009c400a0000020000000000000000000000000000000000000000 daddr
5114 sport
409c dport
0200 family
eeee -
2a000000 mark
a805 data_len
eeee -
f0ffffff snd_nxt
01f0ffff snd_una
1e000000 snd_cwnd
ffffff7f ssthresh
88fe0000 snd_wnd
39300000 srtt
f0fa0000 rcv_wnd
eeeeeeee -
5544332211000000 sock_cookie
000c0b0a8188ffff skbaddr
000605048188ffff skaddr
";

const ON_6_1: &str = "
000010012a000000 common
020014510a0000010000000000000000000000000000000000000000 saddr
02009c400a0000020000000000000000000000000000000000000000 daddr
5114 sport
409c dport
0200 family
eeee -
2a000000 mark
a805 data_len
eeee -
f0ffffff snd_nxt
01f0ffff snd_una
1e000000 snd_cwnd
ffffff7f ssthresh
88fe0000 snd_wnd
39300000 srtt
f0fa0000 rcv_wnd
eeeeeeee -
5544332211000000 sock_cookie
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<TcpProbe>(&KERNELS);
    let bytes = payload(ON_6_12_6_18);
    let event = TcpProbe {
        saddr: &A28,
        daddr: &B28,
        sport: 5201,
        dport: 40_000,
        family: Some(2),
        mark: 42,
        data_len: 1448,
        snd_nxt: 4_294_967_280,
        snd_una: 4_294_963_201,
        snd_cwnd: 30,
        ssthresh: 0x7fffffff,
        snd_wnd: 65_160,
        srtt: 12_345,
        rcv_wnd: 64_240,
        sock_cookie: Some(73_588_229_205),
        skbaddr: Some(0xffff_8881_0a0b_0c00),
        skaddr: Some(0xffff_8881_0405_0600),
        payload: PhantomData,
    };
    reads::<TcpProbe>(&["6.12.117", "6.18.44"], &bytes, 108, &event);
    let bytes_1 = payload(ON_6_1);
    let event_1 = TcpProbe {
        skbaddr: None,
        skaddr: None,
        ..event
    };
    reads::<TcpProbe>(&["6.1.192"], &bytes_1, 108, &event_1);
    // Older kernels.
    let text = text("6.1.192", "tcp", "tcp_probe");
    let text = without(&text, "family");
    let text = without(&text, "sock_cookie");
    reads_text::<TcpProbe>(
        &text,
        &bytes_1,
        108,
        &TcpProbe {
            family: None,
            sock_cookie: None,
            ..event_1
        },
    );
}

#[test]
fn names_values_as_the_kernel_prints_them() {
    names::<TcpProbe>(&KERNELS, "family", &[(2, "AF_INET"), (10, "AF_INET6")]);
}

#[test]
fn says_its_addresses() {
    let bytes = payload(ON_6_12_6_18);
    let bound = TcpProbe::bind(&format("6.18.44", "tcp", "tcp_probe"), Endian::Little).unwrap();
    let event = TcpProbe::read(&bound, &bytes).unwrap();
    assert_eq!(
        SockAddr::read(event.saddr, Endian::Little).unwrap().to_string(),
        "10.0.0.1:5201"
    );
    assert_eq!(
        SockAddr::read(event.daddr, Endian::Little).unwrap().to_string(),
        "10.0.0.2:40000"
    );
}
