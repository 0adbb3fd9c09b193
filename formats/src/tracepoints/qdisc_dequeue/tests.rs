//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::QdiscDequeue;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reading, reads};

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

#[test]
fn reads_a_recorded_dequeue_of_nothing() {
    // Recorded on 6.18.44, which printed:
    // dequeue ifindex=2 qdisc handle=0x80010000 parent=0xFFFFFFFF txq_state=0x0 packets=0
    //   skbaddr=0000000000000000
    let bytes = payload(
        "
d70880012e64000000ac4c048188ffff004c3e048188ffff000000000000000000000000000000000200000000000180ffffffff00000000
0000000000000000
",
    );
    let event = reading::<QdiscDequeue>("6.18.44", &bytes);
    assert_eq!(event.packets, 0);
    assert_eq!(event.skbaddr, 0);
    assert_eq!(event.ifindex, 2);
    assert_eq!(event.handle, 0x8001_0000);
    assert_eq!(event.parent, u32::MAX);
    assert_eq!(event.txq_state, 0);
}
