//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::HrtimerStart;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads, reads_text, text, unnamed, without};

const PAYLOAD: &str = "
000010012a000000 common
a80d05048188ffff hrtimer
eeffc081ffffffff function
68f3c8f4e5000000 expires
80efc8f4e5000000 softexpires
0a000000 mode
01 was_armed
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<HrtimerStart>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = HrtimerStart {
        hrtimer: 0xffff_8881_0405_0da8,
        function: 0xffff_ffff_81c0_ffee,
        expires: 987_654_321_000,
        softexpires: 987_654_320_000,
        mode: Some(10),
        was_armed: Some(true),
        payload: PhantomData,
    };
    reads::<HrtimerStart>(&KERNELS, &bytes, 40, &event);
    // Older kernels.
    let text = text("6.1.192", "timer", "hrtimer_start");
    let text = without(&text, "mode");
    let text = without(&text, "was_armed");
    reads_text::<HrtimerStart>(
        &text,
        &bytes,
        40,
        &HrtimerStart {
            mode: None,
            was_armed: None,
            ..event
        },
    );
}

#[test]
fn names_values_as_the_kernel_prints_them() {
    // The text has enumerators in place of numbers.
    unnamed::<HrtimerStart>(&KERNELS, "mode", 0..16);
}
