//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::TimerStart;
use crate::tracepoints::testing::{KERNELS, names, only_on, payload, reads, reads_text, text, without};

const ON_6_12_6_18: &str = "
000010012a000000 common
500a05048188ffff timer
eeffc081ffffffff function
4e0e020001000000 expires
800e020001000000 bucket_expiry
4d0e020001000000 now
06004010 flags
";

const ON_6_1: &str = "
000010012a000000 common
500a05048188ffff timer
eeffc081ffffffff function
4e0e020001000000 expires
4d0e020001000000 now
06004010 flags
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<TimerStart>(&KERNELS);
    let bytes = payload(ON_6_12_6_18);
    let event = TimerStart {
        timer: 0xffff_8881_0405_0a50,
        function: 0xffff_ffff_81c0_ffee,
        expires: 4_295_102_030,
        bucket_expiry: Some(4_295_102_080),
        now: 4_295_102_029,
        flags: Some(272_629_766),
        payload: PhantomData,
    };
    reads::<TimerStart>(&["6.12.117", "6.18.44"], &bytes, 48, &event);
    let bytes_1 = payload(ON_6_1);
    let event_1 = TimerStart {
        bucket_expiry: None,
        ..event
    };
    reads::<TimerStart>(&["6.1.192"], &bytes_1, 40, &event_1);
    // Older kernels.
    let text = text("6.1.192", "timer", "timer_start");
    let text = without(&text, "flags");
    reads_text::<TimerStart>(&text, &bytes_1, 40, &TimerStart { flags: None, ..event_1 });
}

#[test]
fn names_timer_flags() {
    names::<TimerStart>(
        &KERNELS,
        "flags",
        &[(0x4_0000, "M"), (0x8_0000, "D"), (0x10_0000, "P"), (0x18_0000, "D|P")],
    );
}
