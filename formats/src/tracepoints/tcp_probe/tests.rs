//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::TcpProbe;
use crate::endian::Endian;
use crate::sockaddr::SockAddr;
use crate::tracepoints::testing::{
    A28, B28, KERNELS, names, only_on, payload, reading, reads, reads_text, text, without,
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
fn reads_a_recorded_ipv6_segment() {
    // Recorded on 6.18.44, which printed:
    // family=AF_INET6 src=[fd77::2]:5201 dest=[fd77::1]:50492 mark=0x0 data_len=37 snd_nxt=0xf0bf534
    //   snd_una=0xf0bf534 snd_cwnd=10 ssthresh=2147483647 snd_wnd=65536 srtt=65 rcv_wnd=64260 sock_cookie=1003
    //   skbaddr=ffff88814883dae0 skaddr=ffff88810a0d30c0
    let bytes = payload(
        "
e10810026d2800000a00145100000000fd770000000000000000000000000002000000000a00c53c00000000fd7700000000000000000000
000000010000000051143cc50a000000000000002500000034f50b0f34f50b0f0a000000ffffff7f000001004100000004fb000000000000
0310000000000000e0da83488188ffffc0300d0a8188ffff
",
    );
    let event = reading::<TcpProbe>("6.18.44", &bytes);
    assert_eq!(
        SockAddr::read(event.saddr, Endian::Little).unwrap().to_string(),
        "[fd77::2]:5201"
    );
    assert_eq!(
        SockAddr::read(event.daddr, Endian::Little).unwrap().to_string(),
        "[fd77::1]:50492"
    );
    assert_eq!(event.family, Some(10));
    assert_eq!(event.data_len, 37);
    assert_eq!(event.snd_nxt, 0x0f0b_f534);
    assert_eq!(event.snd_una, 0x0f0b_f534);
    assert_eq!(event.snd_cwnd, 10);
    assert_eq!(event.ssthresh, 0x7fff_ffff);
    assert_eq!(event.snd_wnd, 65_536);
    assert_eq!(event.srtt, 65);
    assert_eq!(event.rcv_wnd, 64_260);
    assert_eq!(event.sock_cookie, Some(0x1003));
    assert_eq!(event.skbaddr, Some(0xffff_8881_4883_dae0));
    assert_eq!(event.skaddr, Some(0xffff_8881_0a0d_30c0));
}

#[test]
fn reads_ipv4_on_an_ipv6_socket() {
    // Recorded on 6.1.192, which printed:
    // src=[::ffff:10.77.0.2]:5201 dest=[::ffff:10.77.0.1]:40406 mark=0x0 data_len=2896 snd_nxt=0x9743439d
    //   snd_una=0x9743439d snd_cwnd=10 ssthresh=2147483647 snd_wnd=64256 srtt=293 rcv_wnd=72832 sock_cookie=3
    let bytes = payload(
        "
3e051002fc0000000a0014510000000000000000000000000000ffff0a4d0002000000000a009dd60000000000000000000000000000ffff
0a4d0001000000005114d69d0a00000000000000500b00009d4343979d4343970a000000ffffff7f00fb000025010000801c010000000000
0300000000000000
",
    );
    let event = reading::<TcpProbe>("6.1.192", &bytes);
    let remote = SockAddr::read(event.daddr, Endian::Little).unwrap();
    assert_eq!(remote.to_string(), "[::ffff:10.77.0.1]:40406");
    assert_eq!(remote.canonical().to_string(), "10.77.0.1:40406");
    assert_eq!(event.data_len, 2896);
    assert_eq!(event.srtt, 293);
    assert_eq!(event.rcv_wnd, 72_832);
    assert_eq!(event.sock_cookie, Some(3));
    assert_eq!(event.skaddr, None);
}
