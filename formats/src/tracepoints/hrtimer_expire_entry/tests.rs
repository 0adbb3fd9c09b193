//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::HrtimerExpireEntry;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads, reads_text, text, without};

const PAYLOAD: &str = "
000010012a000000 common
a80d05048188ffff hrtimer
ae05c9f4e5000000 now
eeffc081ffffffff function
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<HrtimerExpireEntry>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = HrtimerExpireEntry {
        hrtimer: 0xffff_8881_0405_0da8,
        now: 987_654_325_678,
        function: Some(0xffff_ffff_81c0_ffee),
        payload: PhantomData,
    };
    reads::<HrtimerExpireEntry>(&KERNELS, &bytes, 24, &event);
    // Older kernels.
    let text = text("6.1.192", "timer", "hrtimer_expire_entry");
    let text = without(&text, "function");
    reads_text::<HrtimerExpireEntry>(
        &text,
        &bytes,
        24,
        &HrtimerExpireEntry {
            function: None,
            ..event
        },
    );
}
