//! Binding and reading on the format text that Linux 6.12 made of our probe.

use std::marker::PhantomData;

use super::AcceptQueue;
use crate::tracepoints::testing::{only_on, payload, reads};

const PAYLOAD: &str = "
1206010007000000 common
401a3a9affffffff __probe_ip
000605048188ffff sk
07000000 waiting
09000000 limit
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<AcceptQueue>(&["6.12.117"]);
    let bytes = payload(PAYLOAD);
    let event = AcceptQueue {
        sk: 0xffff_8881_0405_0600,
        waiting: 7,
        limit: 9,
        payload: PhantomData,
    };
    reads::<AcceptQueue>(&["6.12.117"], &bytes, 32, &event);
}
