//! Binding and reading on the format text that Linux 6.12 made of our probe.

use std::marker::PhantomData;

use super::Backlog;
use crate::tracepoints::testing::{only_on, payload, reads};

const PAYLOAD: &str = "
1306010007000000 common
401a3a9affffffff __probe_ip
000605048188ffff sk
001122338188ffff skb
00020000 backlog
ffffffff rmem
00000600 rcvbuf
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<Backlog>(&["6.12.117"]);
    let bytes = payload(PAYLOAD);
    let event = Backlog {
        sk: 0xffff_8881_0405_0600,
        skb: 0xffff_8881_3322_1100,
        backlog: 512,
        rmem: -1,
        rcvbuf: 0x6_0000,
        payload: PhantomData,
    };
    reads::<Backlog>(&["6.12.117"], &bytes, 44, &event);
}
