//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::WorkqueueExecuteStart;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
050403028188ffff work
eeffc081ffffffff function
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<WorkqueueExecuteStart>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = WorkqueueExecuteStart {
        work: 0xffff_8881_0203_0405,
        function: 0xffff_ffff_81c0_ffee,
        payload: PhantomData,
    };
    reads::<WorkqueueExecuteStart>(&KERNELS, &bytes, 24, &event);
}
