//! Binding and reading on the recorded format texts.

use std::marker::PhantomData;

use super::SchedSwitch;
use crate::tracepoints::testing::{KERNELS, names, only_on, payload, reading, reads};

const PAYLOAD: &str = "
000010012a000000 common
69706572663300eeeeeeeeeeeeeeeeee prev_comm
d2040000 prev_pid
78000000 prev_prio
0200000000000000 prev_state
6b736f6674697271642f3100eeeeeeee next_comm
37020000 next_pid
62000000 next_prio
";

#[test]
fn reads_what_the_kernel_wrote() {
    only_on::<SchedSwitch>(&KERNELS);
    let bytes = payload(PAYLOAD);
    let event = SchedSwitch {
        prev_comm: b"iperf3",
        prev_pid: 1234,
        prev_prio: 120,
        prev_state: 2,
        next_comm: b"ksoftirqd/1",
        next_pid: 567,
        next_prio: 98,
        payload: PhantomData,
    };
    reads::<SchedSwitch>(&KERNELS, &bytes, 64, &event);
}

#[test]
fn names_task_states() {
    names::<SchedSwitch>(
        &KERNELS,
        "prev_state",
        &[(1, "S"), (2, "D"), (0x20, "Z"), (0x80, "I"), (3, "S|D")],
    );
}

#[test]
fn reads_a_recorded_switch() {
    // Recorded on 6.18.44, which printed:
    // prev_comm=rustc prev_pid=10308 prev_prio=120 prev_state=R ==> next_comm=ksoftirqd/0 next_pid=14
    //   next_prio=120
    let bytes = payload(
        "
740101024428000072757374630000000000000000000000442800007800000000000000000000006b736f6674697271642f300000000000
0e00000078000000
",
    );
    let event = reading::<SchedSwitch>("6.18.44", &bytes);
    assert_eq!(event.prev_comm, b"rustc");
    assert_eq!(event.prev_pid, 10_308);
    assert_eq!(event.prev_prio, 120);
    assert_eq!(event.prev_state, 0);
    assert_eq!(event.next_comm, b"ksoftirqd/0");
    assert_eq!(event.next_pid, 14);
    assert_eq!(event.next_prio, 120);
}
