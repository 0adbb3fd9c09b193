//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::SockRecvLength;
use crate::tracepoints::testing::{names, only_on, payload, reading, reads};

const PAYLOAD: &str = "
000010012a000000 common
000605048188ffff sk
0200 family
0600 protocol
f5ffffff ret
02000000 flags
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<SockRecvLength>(&["6.12.117", "6.18.44"]);
    let bytes = payload(PAYLOAD);
    let event = SockRecvLength {
        sk: 0xffff_8881_0405_0600,
        family: 2,
        protocol: 6,
        ret: -11,
        flags: 2,
        payload: PhantomData,
    };
    reads::<SockRecvLength>(&["6.12.117", "6.18.44"], &bytes, 28, &event);
}

#[test]
fn names_values_as_the_kernel_prints_them() {
    names::<SockRecvLength>(&["6.12.117", "6.18.44"], "family", &[(2, "AF_INET"), (10, "AF_INET6")]);
    names::<SockRecvLength>(
        &["6.12.117", "6.18.44"],
        "protocol",
        &[(6, "IPPROTO_TCP"), (132, "IPPROTO_SCTP"), (262, "IPPROTO_MPTCP")],
    );
}

#[test]
fn reads_a_recorded_peek_whose_length_is_not_printed() {
    // Recorded on 6.18.44, which printed:
    // sk address = ffff88810432e800, family = 0x10 protocol = 0x0, length = 0, error = 0, flags = 0x22
    let bytes = payload("eb0800005f28000000e832048188ffff10000000700400002200000000000000");
    let event = reading::<SockRecvLength>("6.18.44", &bytes);
    assert_eq!(event.sk, 0xffff_8881_0432_e800);
    assert_eq!(event.family, 16);
    assert_eq!(event.protocol, 0);
    assert_eq!(event.ret, 1136);
    assert_eq!(event.flags, 0x22);
}
