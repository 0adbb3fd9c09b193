//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::NetDevXmit;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
000c0b0a8188ffff skbaddr
ea050000 len
10000000 rc
1c000700 name
766574682d6100 text
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<NetDevXmit>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = NetDevXmit {
        skbaddr: 0xffff_8881_0a0b_0c00,
        len: 1514,
        rc: 16,
        name: b"veth-a",
        payload: PhantomData,
    };
    reads::<NetDevXmit>(&KERNELS, &bytes, 35, &event);
}
