//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::NapiGroReceiveExit;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
02000000 ret
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<NapiGroReceiveExit>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = NapiGroReceiveExit {
        ret: 2,
        payload: PhantomData,
    };
    reads::<NapiGroReceiveExit>(&KERNELS, &bytes, 12, &event);
}
