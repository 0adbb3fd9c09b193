//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::IcmpSend;
use crate::tracepoints::testing::{A4, B4, KERNELS, only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
000c0b0a8188ffff skbaddr
03000000 type
03000000 code
0a000001 saddr
0a000002 daddr
5114 sport
409c dport
2400 ulen
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<IcmpSend>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = IcmpSend {
        skbaddr: 0xffff_8881_0a0b_0c00,
        r#type: 3,
        code: 3,
        saddr: &A4,
        daddr: &B4,
        sport: 5201,
        dport: 40_000,
        ulen: 36,
        payload: PhantomData,
    };
    reads::<IcmpSend>(&KERNELS, &bytes, 38, &event);
}
