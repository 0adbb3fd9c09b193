//! Binding and reading on the format text that Linux 6.12 made of our probe.

use std::marker::PhantomData;

use super::GetaddrinfoReturn;
use crate::tracepoints::testing::{only_on, payload, reads};

const PAYLOAD: &str = "
1606010007000000 common
00aa0f5b1b7f0000 __probe_func
785634121b7f0000 __probe_ret_ip
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<GetaddrinfoReturn>(&["6.12.117"]);
    let bytes = payload(PAYLOAD);
    let event = GetaddrinfoReturn {
        __probe_ret_ip: 0x7f1b_1234_5678,
        payload: PhantomData,
    };
    reads::<GetaddrinfoReturn>(&["6.12.117"], &bytes, 24, &event);
}
