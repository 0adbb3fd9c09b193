//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::SchedMigrateTask;
use crate::tracepoints::testing::{KERNELS, only_on, payload, reads};

const ON_6_18: &str = "
000010012a000000 common
1c000700 comm
d2040000 pid
78000000 prio
01000000 orig_cpu
06000000 dest_cpu
69706572663300 text
";

const ON_6_1_6_12: &str = "
000010012a000000 common
69706572663300eeeeeeeeeeeeeeeeee comm
d2040000 pid
78000000 prio
01000000 orig_cpu
06000000 dest_cpu
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<SchedMigrateTask>(&KERNELS);
    let bytes = payload(ON_6_18);
    let event = SchedMigrateTask {
        comm: b"iperf3",
        pid: 1234,
        prio: 120,
        orig_cpu: 1,
        dest_cpu: 6,
        payload: PhantomData,
    };
    reads::<SchedMigrateTask>(&["6.18.44"], &bytes, 35, &event);
    let bytes_1 = payload(ON_6_1_6_12);
    let event_1 = SchedMigrateTask { ..event };
    reads::<SchedMigrateTask>(&["6.1.192", "6.12.117"], &bytes_1, 40, &event_1);
}
