//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::IrqHandlerExit;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
1d000000 irq
01000000 ret
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<IrqHandlerExit>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = IrqHandlerExit {
        irq: 29,
        ret: 1,
        payload: PhantomData,
    };
    reads::<IrqHandlerExit>(&KERNELS, &bytes, 16, &event);
}
