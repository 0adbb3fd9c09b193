//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::Fib6TableLookup;
use crate::tracepoints::testing::{B6, KERNELS, only_on, payload, reads};

const BEFORE: &str = "
000010012a000000 common
fe000000 tb_id
00000000 err
00000000 oif
01000000 iif
";
const BEHIND: &str = "
00 tos
00 scope
00 flags
00000000000000000000000000000000 src
00000000000000000000ffff0a000002 dst
00 padding
5fbf sport
3500 dport
11 proto
00 rt_type
76300000000000000000000000000000 name
00000000000000000000000000000000 gw
";
/// Of 6.18, which no older kernel here has.
const FLOWLABEL: &str = "00000000 flowlabel";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<Fib6TableLookup>(&KERNELS);
    let event = Fib6TableLookup {
        err: 0,
        proto: 17,
        iif: Some(1),
        src: Some(&[0; 16]),
        dst: &B6,
        sport: 48_991,
        dport: 53,
        payload: PhantomData,
    };
    let older = payload(&format!("{BEFORE}{BEHIND}"));
    reads::<Fib6TableLookup>(&["6.1.192", "6.12.117"], &older, 65, &event);
    let newer = payload(&format!("{BEFORE}{FLOWLABEL}{BEHIND}"));
    reads::<Fib6TableLookup>(&["6.18.44"], &newer, 69, &event);
}
