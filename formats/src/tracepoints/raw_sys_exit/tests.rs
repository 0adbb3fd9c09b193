//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::RawSysExit;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
2c00000000000000 id
f5ffffffffffffff ret
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<RawSysExit>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = RawSysExit {
        id: 44,
        ret: -11,
        payload: PhantomData,
    };
    reads::<RawSysExit>(&KERNELS, &bytes, 24, &event);
}
