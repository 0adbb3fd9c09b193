//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::WorkqueueExecuteEnd;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads, reads_text, text, without};

const PAYLOAD: &str = "
000010012a000000 common
050403028188ffff work
eeffc081ffffffff function
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<WorkqueueExecuteEnd>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = WorkqueueExecuteEnd {
        work: 0xffff_8881_0203_0405,
        function: Some(0xffff_ffff_81c0_ffee),
        payload: PhantomData,
    };
    reads::<WorkqueueExecuteEnd>(&KERNELS, &bytes, 16, &event);
    // Older kernels.
    let text = text("6.1.192", "workqueue", "workqueue_execute_end");
    let text = without(&text, "function");
    reads_text::<WorkqueueExecuteEnd>(
        &text,
        &bytes,
        16,
        &WorkqueueExecuteEnd {
            function: None,
            ..event
        },
    );
}
