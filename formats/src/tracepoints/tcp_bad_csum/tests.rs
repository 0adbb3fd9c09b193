//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::TcpBadCsum;
use crate::tracepoints::testing::{A28, B28, KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
000c0b0a8188ffff skbaddr
020014510a0000010000000000000000000000000000000000000000 saddr
02009c400a0000020000000000000000000000000000000000000000 daddr
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<TcpBadCsum>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = TcpBadCsum {
        skbaddr: 0xffff_8881_0a0b_0c00,
        saddr: &A28,
        daddr: &B28,
        payload: PhantomData,
    };
    reads::<TcpBadCsum>(&KERNELS, &bytes, 72, &event);
}
