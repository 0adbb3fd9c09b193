//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::SkbCopyDatagramIovec;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
000c0b0a8188ffff skbaddr
a8050000 len
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<SkbCopyDatagramIovec>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = SkbCopyDatagramIovec {
        skbaddr: 0xffff_8881_0a0b_0c00,
        len: 1448,
        payload: PhantomData,
    };
    reads::<SkbCopyDatagramIovec>(&KERNELS, &bytes, 20, &event);
}
