//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::SockRecvLength;
use crate::tracepoints::testing::{names, only_on, payload, reads};

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
