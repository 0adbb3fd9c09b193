//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::NetifRxExit;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
01000000 ret
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<NetifRxExit>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = NetifRxExit {
        ret: 1,
        payload: PhantomData,
    };
    reads::<NetifRxExit>(&KERNELS, &bytes, 12, &event);
}
