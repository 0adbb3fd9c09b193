//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::IrqHandlerEntry;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
1d000000 irq
10001000 name
76697274696f312d696e7075742e3000 text
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<IrqHandlerEntry>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = IrqHandlerEntry {
        irq: 29,
        name: b"virtio1-input.0",
        payload: PhantomData,
    };
    reads::<IrqHandlerEntry>(&KERNELS, &bytes, 32, &event);
}
