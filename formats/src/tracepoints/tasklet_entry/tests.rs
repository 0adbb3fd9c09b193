//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::TaskletEntry;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads, reads_text, text, without};

const PAYLOAD: &str = "
000010012a000000 common
000706058188ffff tasklet
eeffc081ffffffff func
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<TaskletEntry>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = TaskletEntry {
        tasklet: Some(0xffff_8881_0506_0700),
        func: 0xffff_ffff_81c0_ffee,
        payload: PhantomData,
    };
    reads::<TaskletEntry>(&KERNELS, &bytes, 24, &event);
    // Older kernels.
    let text = text("6.1.192", "irq", "tasklet_entry");
    let text = without(&text, "tasklet");
    reads_text::<TaskletEntry>(&text, &bytes, 24, &TaskletEntry { tasklet: None, ..event });
}
