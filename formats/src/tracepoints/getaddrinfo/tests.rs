//! Binding and reading on the format text that Linux 6.12 made of our probe.

use std::marker::PhantomData;

use super::Getaddrinfo;
use crate::tracepoints::testing::{only_on, payload, reads};

const PAYLOAD: &str = "
1506010007000000 common
00aa0f5b1b7f0000 __probe_ip
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<Getaddrinfo>(&["6.12.117"]);
    let bytes = payload(PAYLOAD);
    let event = Getaddrinfo {
        __probe_ip: 0x7f1b_5b0f_aa00,
        payload: PhantomData,
    };
    reads::<Getaddrinfo>(&["6.12.117"], &bytes, 16, &event);
}
