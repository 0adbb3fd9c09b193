//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::TimerExpireEntry;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads, reads_text, text, without};

const PAYLOAD: &str = "
000010012a000000 common
500a05048188ffff timer
4d0e020001000000 now
eeffc081ffffffff function
4c0e020001000000 baseclk
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<TimerExpireEntry>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = TimerExpireEntry {
        timer: 0xffff_8881_0405_0a50,
        now: 4_295_102_029,
        function: Some(0xffff_ffff_81c0_ffee),
        baseclk: Some(4_295_102_028),
        payload: PhantomData,
    };
    reads::<TimerExpireEntry>(&KERNELS, &bytes, 24, &event);
    // Older kernels.
    let text = text("6.1.192", "timer", "timer_expire_entry");
    let text = without(&text, "function");
    let text = without(&text, "baseclk");
    reads_text::<TimerExpireEntry>(
        &text,
        &bytes,
        24,
        &TimerExpireEntry {
            function: None,
            baseclk: None,
            ..event
        },
    );
}
