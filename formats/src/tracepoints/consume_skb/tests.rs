//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::ConsumeSkb;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads};

const ON_6_12_6_18: &str = "
000010012a000000 common
000c0b0a8188ffff skbaddr
c4b3a281ffffffff location
";

const ON_6_1: &str = "
000010012a000000 common
000c0b0a8188ffff skbaddr
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<ConsumeSkb>(&KERNELS);
    let bytes = payload(ON_6_12_6_18);
    let event = ConsumeSkb {
        skbaddr: 0xffff_8881_0a0b_0c00,
        location: Some(0xffff_ffff_81a2_b3c4),
        payload: PhantomData,
    };
    reads::<ConsumeSkb>(&["6.12.117", "6.18.44"], &bytes, 16, &event);
    let bytes_1 = payload(ON_6_1);
    let event_1 = ConsumeSkb {
        location: None,
        ..event
    };
    reads::<ConsumeSkb>(&["6.1.192"], &bytes_1, 16, &event_1);
}
