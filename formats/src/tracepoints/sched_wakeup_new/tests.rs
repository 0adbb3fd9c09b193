//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::SchedWakeupNew;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads, reads_text, written};

const PAYLOAD: &str = "
000010012a000000 common
69706572663300eeeeeeeeeeeeeeeeee comm
d2040000 pid
78000000 prio
06000000 target_cpu
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<SchedWakeupNew>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = SchedWakeupNew {
        comm: b"iperf3",
        pid: 1234,
        prio: 120,
        success: None,
        target_cpu: 6,
        payload: PhantomData,
    };
    reads::<SchedWakeupNew>(&KERNELS, &bytes, 36, &event);
}

#[test]
fn reads_the_success_field_of_older_kernels() {
    let fields = [
        "char comm[16] 8 16 1",
        "pid_t pid 24 4 1",
        "int prio 28 4 1",
        "int success 32 4 1",
        "int target_cpu 36 4 1",
    ];
    let bytes = payload(
        "000010012a000000 69706572663300eeeeeeeeeeeeeeeeee d204000078000000 01000000 06000000"
            .replace(' ', "\n")
            .as_str(),
    );
    let event = SchedWakeupNew {
        comm: b"iperf3",
        pid: 1234,
        prio: 120,
        success: Some(1),
        target_cpu: 6,
        payload: PhantomData,
    };
    reads_text::<SchedWakeupNew>(&written("sched_wakeup_new", &fields), &bytes, 40, &event);
}
