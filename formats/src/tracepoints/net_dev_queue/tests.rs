//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::NetDevQueue;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
000c0b0a8188ffff skbaddr
ea050000 len
18000700 name
766574682d6100 text
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<NetDevQueue>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = NetDevQueue {
        skbaddr: 0xffff_8881_0a0b_0c00,
        len: 1514,
        name: b"veth-a",
        payload: PhantomData,
    };
    reads::<NetDevQueue>(&KERNELS, &bytes, 31, &event);
}
