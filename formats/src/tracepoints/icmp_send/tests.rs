//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::IcmpSend;
use crate::tracepoints::testing::{A4, B4, KERNELS, only_on, payload, reading, reads};

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

#[test]
fn reads_a_recorded_port_unreachable() {
    // Recorded on 6.18.44, which printed:
    // type=3, code=3. From 10.77.0.1:49589 to 10.77.0.2:99 ulen=14 skbaddr=ffff888102456b00
    let bytes = payload("0a0990026f280000006b45028188ffff03000000030000000a4d00010a4d0002b5c163000e000000");
    let event = reading::<IcmpSend>("6.18.44", &bytes);
    assert_eq!(event.r#type, 3);
    assert_eq!(event.code, 3);
    assert_eq!(event.saddr, [10, 77, 0, 1]);
    assert_eq!(event.sport, 49_589);
    assert_eq!(event.daddr, [10, 77, 0, 2]);
    assert_eq!(event.dport, 99);
    assert_eq!(event.ulen, 14);
}
