//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::NetifReceiveSkbListExit;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
00000000 ret
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<NetifReceiveSkbListExit>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = NetifReceiveSkbListExit {
        ret: 0,
        payload: PhantomData,
    };
    reads::<NetifReceiveSkbListExit>(&KERNELS, &bytes, 12, &event);
}
