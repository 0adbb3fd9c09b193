//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::NeighTimerHandler;
use crate::tracepoints::testing::{B4, B6, KERNELS, MAC, names, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
02000000 family
6c000400 dev
02005e0102030000000000000000000000000000000000000000000000000000 lladdr
06 lladdr_len
10 flags
02 nud_state
01 type
00 dead
eeeeee -
04000000 refcnt
0a000002 primary_key4
00000000000000000000ffff0a000002 primary_key6
4e0e020001000000 confirmed
4f0e020001000000 updated
500e020001000000 used
00000000 err
62723000 text
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<NeighTimerHandler>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = NeighTimerHandler {
        family: 2,
        dev: b"br0",
        lladdr: &MAC,
        lladdr_len: 6,
        flags: 16,
        nud_state: 2,
        r#type: 1,
        dead: 0,
        refcnt: 4,
        primary_key4: &B4,
        primary_key6: &B6,
        confirmed: 4_295_102_030,
        updated: 4_295_102_031,
        used: 4_295_102_032,
        err: 0,
        payload: PhantomData,
    };
    reads::<NeighTimerHandler>(&KERNELS, &bytes, 112, &event);
}

#[test]
fn names_values_as_the_kernel_prints_them() {
    names::<NeighTimerHandler>(
        &KERNELS,
        "nud_state",
        &[(1, "incomplete"), (16, "probe"), (128, "permanent")],
    );
}
