//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::RawSysEnter;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
2c00000000000000 id
070000000000000000100000fd7f0000000001000000000000400000000000000000000000000000ffffffffffffffff args
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<RawSysEnter>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = RawSysEnter {
        id: 44,
        args: [7, 0x7ffd00001000, 65_536, 16_384, 0, 0xffffffffffffffff],
        payload: PhantomData,
    };
    reads::<RawSysEnter>(&KERNELS, &bytes, 64, &event);
}
