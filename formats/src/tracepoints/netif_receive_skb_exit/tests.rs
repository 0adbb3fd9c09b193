//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::NetifReceiveSkbExit;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
01000000 ret
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<NetifReceiveSkbExit>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = NetifReceiveSkbExit {
        ret: 1,
        payload: PhantomData,
    };
    reads::<NetifReceiveSkbExit>(&KERNELS, &bytes, 12, &event);
}
