//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::SkDataReady;
use crate::tracepoints::testing::{only_on, payload, reads};

const PAYLOAD: &str = "
000010012a000000 common
000605048188ffff skaddr
0200 family
0600 protocol
eeeeeeee -
efcdab81ffffffff ip
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<SkDataReady>(&["6.12.117", "6.18.44"]);
    let bytes = payload(PAYLOAD);
    let event = SkDataReady {
        skaddr: 0xffff_8881_0405_0600,
        family: 2,
        protocol: 6,
        ip: 0xffff_ffff_81ab_cdef,
        payload: PhantomData,
    };
    reads::<SkDataReady>(&["6.12.117", "6.18.44"], &bytes, 32, &event);
}
