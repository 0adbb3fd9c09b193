//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::NeighCreate;
use crate::tracepoints::testing::{B4, B6, KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
02000000 family
2a000400 dev
03000000 entries
01 created
00 gc_exempt
0a000002 primary_key4
00000000000000000000ffff0a000002 primary_key6
62723000 text
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<NeighCreate>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = NeighCreate {
        family: 2,
        dev: b"br0",
        entries: 3,
        created: 1,
        gc_exempt: 0,
        primary_key4: &B4,
        primary_key6: &B6,
        payload: PhantomData,
    };
    reads::<NeighCreate>(&KERNELS, &bytes, 46, &event);
}
