//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::NeighUpdate;
use crate::tracepoints::testing::{B4, B6, KERNELS, MAC, names, only_on, payload, reading, reads};

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

#[test]
fn reads_a_recorded_update() {
    // Recorded on 6.18.44, which printed:
    // family 10 dev tp_vb lladdr 000000000000 flags 00 nud_state 0x0 type 01 dead 0 refcnt 2 primary_key4
    //   0.0.0.0 primary_key6 fd77::1 confirmed 4295458585 updated 4295473585 used 4295473585 new_lladdr
    //   9234d59d2f5c new_state stale update_flags 03 pid 0
    let bytes = payload(
        "
c80834016d2800000a0000009400060000000000000000000000000000000000000000000000000000000000000000000600000100000000
0200000000000000fd770000000000000000000000000001197f070001000000b1b9070001000000b1b90700010000009234d59d2f5c0000
00000000000000000000000000000000000000000000000004000000030000000000000074705f766200000000000000
",
    );
    let event = reading::<NeighUpdate>("6.18.44", &bytes);
    assert_eq!(event.dev, b"tp_vb");
    assert_eq!(event.family, 10);
    assert_eq!(event.lladdr_len, 6);
    assert_eq!(event.refcnt, 2);
    assert_eq!(event.confirmed, 4_295_458_585);
    assert_eq!(event.updated, 4_295_473_585);
    assert_eq!(event.new_state, 4);
    assert_eq!(event.update_flags, 3);
    assert_eq!(event.new_lladdr[..6], [0x92, 0x34, 0xd5, 0x9d, 0x2f, 0x5c]);
    assert_eq!(crate::sockaddr::v6(event.primary_key6).unwrap().to_string(), "fd77::1");
    names::<NeighUpdate>(&["6.18.44"], "new_state", &[(event.new_state.into(), "stale")]);
}
