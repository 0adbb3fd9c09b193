//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::NetDevXmitTimeout;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
14000700 name
1b000b00 driver
05000000 queue_index
766574682d610076697274696f5f6e657400 text
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<NetDevXmitTimeout>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = NetDevXmitTimeout {
        name: b"veth-a",
        driver: b"virtio_net",
        queue_index: 5,
        payload: PhantomData,
    };
    reads::<NetDevXmitTimeout>(&KERNELS, &bytes, 38, &event);
}
