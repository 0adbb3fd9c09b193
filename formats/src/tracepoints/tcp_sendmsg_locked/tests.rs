//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::TcpSendmsgLocked;
use crate::tracepoints::testing::{only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
000e0b0a8188ffff skb_addr
f8100000 skb_len
a0860100 msg_left
88fe0000 size_goal
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<TcpSendmsgLocked>(&["6.18.44"]);
    let bytes = payload(PAYLOAD);
    let event = TcpSendmsgLocked {
        skb_addr: 0xffff_8881_0a0b_0e00,
        skb_len: 4344,
        msg_left: 100_000,
        size_goal: 65_160,
        payload: PhantomData,
    };
    reads::<TcpSendmsgLocked>(&["6.18.44"], &bytes, 28, &event);
}
