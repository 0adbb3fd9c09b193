//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::QdiscCreate;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
14000400 dev
18000900 kind
ffffffff parent
6272300066715f636f64656c00 text
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<QdiscCreate>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = QdiscCreate {
        dev: b"br0",
        kind: b"fq_codel",
        parent: 0xffffffff,
        payload: PhantomData,
    };
    reads::<QdiscCreate>(&KERNELS, &bytes, 33, &event);
}
