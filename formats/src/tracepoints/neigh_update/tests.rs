//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::NeighUpdate;
use crate::tracepoints::testing::{B4, B6, KERNELS, MAC, names, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
02000000 family
94000400 dev
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
02005e0102030000000000000000000000000000000000000000000000000000 new_lladdr
04 new_state
eeeeee -
01000080 update_flags
d2040000 pid
62723000 text
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<NeighUpdate>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = NeighUpdate {
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
        new_lladdr: &MAC,
        new_state: 4,
        update_flags: 2_147_483_649,
        pid: 1234,
        payload: PhantomData,
    };
    reads::<NeighUpdate>(&KERNELS, &bytes, 152, &event);
}

#[test]
fn names_values_as_the_kernel_prints_them() {
    names::<NeighUpdate>(
        &KERNELS,
        "nud_state",
        &[(1, "incomplete"), (16, "probe"), (128, "permanent")],
    );
    names::<NeighUpdate>(
        &KERNELS,
        "new_state",
        &[(1, "incomplete"), (16, "probe"), (128, "permanent")],
    );
}
