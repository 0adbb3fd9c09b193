//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::DqlStallDetected;
use crate::tracepoints::testing::{only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
3200 thrs
eeee -
78000000 len
480a020001000000 last_reap
5c0a020001000000 hist_head
4d0e020001000000 now
01000000000000008000000000000000000000000000000000000000ffffffff hist
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<DqlStallDetected>(&["6.12.117", "6.18.44"]);
    let bytes = payload(PAYLOAD);
    let event = DqlStallDetected {
        thrs: 50,
        len: 120,
        last_reap: 4_295_101_000,
        hist_head: 4_295_101_020,
        now: 4_295_102_029,
        hist: [1, 128, 0, 0xffffffff00000000],
        payload: PhantomData,
    };
    reads::<DqlStallDetected>(&["6.12.117", "6.18.44"], &bytes, 72, &event);
}
