//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::QdiscDequeue;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
000d0e0f8188ffff qdisc
000908078188ffff txq
04000000 packets
eeeeeeee -
000c0b0a8188ffff skbaddr
09000000 ifindex
00000180 handle
ffffffff parent
eeeeeeee -
0200000000000000 txq_state
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<QdiscDequeue>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = QdiscDequeue {
        qdisc: 0xffff_8881_0f0e_0d00,
        txq: 0xffff_8881_0708_0900,
        packets: 4,
        skbaddr: 0xffff_8881_0a0b_0c00,
        ifindex: 9,
        handle: 0x80010000,
        parent: 0xffffffff,
        txq_state: 2,
        payload: PhantomData,
    };
    reads::<QdiscDequeue>(&KERNELS, &bytes, 64, &event);
}
