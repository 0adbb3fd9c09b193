//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::TcpSendReset;
use crate::endian::Endian;
use crate::sockaddr::SockAddr;
use crate::tracepoints::testing::{
    A4, A6, A28, B4, B6, B28, KERNELS, names, only_on, payload, reading, reads, reads_text, text, unnamed, without,
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

#[test]
fn reads_a_recorded_active_reset() {
    // Recorded on 6.18.44, which printed:
    // skbaddr=0000000000000000 skaddr=ffff88810a0d6b40 src=[fd77::2]:5201 dest=[fd77::1]:50506 state=TCP_CLOSE
    //   reason=TCP_ABORT_ON_CLOSE
    let bytes = payload(
        "
e80800006b2800000000000000000000406b0d0a8188ffff070000000b0000000a00145100000000fd770000000000000000000000000002
000000000a00c54a00000000fd77000000000000000000000000000100000000
",
    );
    let event = reading::<TcpSendReset>("6.18.44", &bytes);
    assert_eq!(
        SockAddr::read(event.saddr, Endian::Little).unwrap().to_string(),
        "[fd77::2]:5201"
    );
    assert_eq!(
        SockAddr::read(event.daddr, Endian::Little).unwrap().to_string(),
        "[fd77::1]:50506"
    );
    assert_eq!(event.skbaddr, 0);
    assert_eq!(event.skaddr, 0xffff_8881_0a0d_6b40);
    assert_eq!(event.state, Some(7));
    assert_eq!(event.sport, None);
    names::<TcpSendReset>(
        &["6.18.44"],
        "reason",
        &[(event.reason.unwrap().into(), "TCP_ABORT_ON_CLOSE")],
    );
}

#[test]
fn reads_a_recorded_reset_of_the_old_layout() {
    // Recorded on 6.1.192, which printed:
    // sport=5201 dport=40406 saddr=10.77.0.2 daddr=10.77.0.1 saddrv6=::ffff:10.77.0.2 daddrv6=::ffff:10.77.0.1
    //   state=TCP_CLOSE
    let bytes = payload(
        "
43050000fa00000000000000000000000075a349dce434ff070000005114d69d0a000a4d00020a4d000100000000000000000000ffff0a4d
000200000000000000000000ffff0a4d0001000000000000
",
    );
    let event = reading::<TcpSendReset>("6.1.192", &bytes);
    assert_eq!(event.state, Some(7));
    assert_eq!(event.reason, None);
    assert_eq!(event.sport, Some(5201));
    assert_eq!(event.dport, Some(40_406));
    assert_eq!(event.family, Some(10));
    assert_eq!(event.saddr, [10, 77, 0, 2]);
    assert_eq!(event.daddr, [10, 77, 0, 1]);
    assert_eq!(event.saddr_v6.map(|a| a.len()), Some(16));
}
