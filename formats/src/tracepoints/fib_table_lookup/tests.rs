//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::FibTableLookup;
use crate::tracepoints::testing::{B4, KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
fe000000 tb_id
f5ffffff err
00000000 oif
01000000 iif
11 proto
00 tos
00 scope
00 flags
00000000 src
0a000002 dst
00000000 gw4
00000000000000000000000000000000 gw6
5fbf sport
3500 dport
76300000000000000000000000000000 name
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<FibTableLookup>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = FibTableLookup {
        err: -11,
        proto: 17,
        iif: Some(1),
        src: Some(&[0; 4]),
        dst: &B4,
        sport: 48_991,
        dport: 53,
        payload: PhantomData,
    };
    reads::<FibTableLookup>(&KERNELS, &bytes, 60, &event);
}
