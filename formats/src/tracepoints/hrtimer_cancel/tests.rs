//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::HrtimerCancel;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
a80d05048188ffff hrtimer
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<HrtimerCancel>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = HrtimerCancel {
        hrtimer: 0xffff_8881_0405_0da8,
        payload: PhantomData,
    };
    reads::<HrtimerCancel>(&KERNELS, &bytes, 16, &event);
}
