//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::TimerExpireExit;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
500a05048188ffff timer
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<TimerExpireExit>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = TimerExpireExit {
        timer: 0xffff_8881_0405_0a50,
        payload: PhantomData,
    };
    reads::<TimerExpireExit>(&KERNELS, &bytes, 16, &event);
}
