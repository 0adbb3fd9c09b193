//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::SockRcvqueueFull;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
00400300 rmem_alloc
00090000 truesize
ff3f0300 sk_rcvbuf
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<SockRcvqueueFull>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = SockRcvqueueFull {
        rmem_alloc: 212_992,
        truesize: 2304,
        sk_rcvbuf: 212_991,
        payload: PhantomData,
    };
    reads::<SockRcvqueueFull>(&KERNELS, &bytes, 20, &event);
}
