//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::TimerCancel;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
500a05048188ffff timer
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<TimerCancel>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = TimerCancel {
        timer: 0xffff_8881_0405_0a50,
        payload: PhantomData,
    };
    reads::<TimerCancel>(&KERNELS, &bytes, 16, &event);
}
