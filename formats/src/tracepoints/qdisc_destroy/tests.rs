//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::QdiscDestroy;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
18000400 dev
1c000900 kind
ffffffff parent
00000180 handle
6272300066715f636f64656c00 text
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<QdiscDestroy>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = QdiscDestroy {
        dev: b"br0",
        kind: b"fq_codel",
        parent: 0xffffffff,
        handle: 0x80010000,
        payload: PhantomData,
    };
    reads::<QdiscDestroy>(&KERNELS, &bytes, 37, &event);
}
