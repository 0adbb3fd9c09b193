//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::HrtimerExpireExit;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
a80d05048188ffff hrtimer
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<HrtimerExpireExit>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = HrtimerExpireExit {
        hrtimer: 0xffff_8881_0405_0da8,
        payload: PhantomData,
    };
    reads::<HrtimerExpireExit>(&KERNELS, &bytes, 16, &event);
}
