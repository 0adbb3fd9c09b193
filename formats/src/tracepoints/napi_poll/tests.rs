//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::NapiPoll;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads, reads_text, text, without};

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
