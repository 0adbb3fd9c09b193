//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::NapiPoll;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reading, reads, reads_text, text, without};

const PAYLOAD: &str = "
000010012a000000 common
000102038188ffff napi
1c000500 dev_name
07000000 work
40000000 budget
6574683000 text
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<NapiPoll>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = NapiPoll {
        napi: 0xffff_8881_0302_0100,
        dev_name: b"eth0",
        work: Some(7),
        budget: Some(64),
        payload: PhantomData,
    };
    reads::<NapiPoll>(&KERNELS, &bytes, 33, &event);
    // Older kernels.
    let text = text("6.1.192", "napi", "napi_poll");
    let text = without(&text, "work");
    let text = without(&text, "budget");
    reads_text::<NapiPoll>(
        &text,
        &bytes,
        33,
        &NapiPoll {
            work: None,
            budget: None,
            ..event
        },
    );
}

#[test]
fn reads_a_recorded_poll_of_the_backlog() {
    // Recorded on 6.18.44, which printed:
    // napi poll on napi struct ffff888627c2d1c8 for device (no_device) work 1 budget 64
    let bytes = payload(
        "
f30810012e640000c8d1c2278688ffff1c000c000100000040000000286e6f5f646576696365290000000000
",
    );
    let event = reading::<NapiPoll>("6.18.44", &bytes);
    assert_eq!(event.napi, 0xffff_8886_27c2_d1c8);
    assert_eq!(event.dev_name, b"(no_device)");
    assert_eq!(event.work, Some(1));
    assert_eq!(event.budget, Some(64));
}
