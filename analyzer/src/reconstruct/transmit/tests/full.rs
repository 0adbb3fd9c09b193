//! Sends that a full buffer refused, and the next ones.

use super::{BASE, PID, Sender};
use crate::facts::{ConnectionId, Facts};
use crate::testing::{Ctx, N};

const MS: u64 = 1_000_000;

/// Sends at these times (ms), with what each returned.
fn after(sends: &[(u64, i64)]) -> Facts {
    let mut s = Sender::new(&[]);
    // It came to its CPU before.
    let v = [("prev_pid", N(3)), ("prev_state", N(0)), ("next_pid", N(PID as u64))];
    s.s.ev(BASE + 90_000, 0, Ctx::Task(3), "sched:sched_switch", &v);
    for (at, ret) in sends {
        let t = BASE + 100_000 + at * MS;
        s.enter(t);
        s.round(t + 10, 16_384);
        s.leave(t + 20, *ret as u64);
    }
    s.facts()
}

#[test]
fn the_next_send_behind_a_refused_one_is_found() {
    let f = after(&[(0, 16_384), (1, -11), (501, 16_384), (502, -11), (503, 16_384)]);
    // What the thread did meanwhile is asked of the scheduler's events, of which there are none here.
    assert_eq!(f.refused_sends, []);
    let slept = |at: u64, s: &mut Sender| {
        let t = BASE + 100_000 + at * MS;
        let switch = |s: &mut Sender, t: u64, prev: i32, next: i32| {
            let (prev_pid, next_pid) = (N(prev as u64), N(next as u64));
            let v = [("prev_pid", prev_pid), ("prev_state", N(1)), ("next_pid", next_pid)];
            s.s.ev(t, 0, Ctx::Task(prev), "sched:sched_switch", &v);
        };
        s.s.ev(t + 100, 0, Ctx::Task(PID), "syscalls:sys_enter_epoll_wait", &[]);
        switch(s, t + 200, PID, 0);
        s.s.ev(
            t + 499 * MS,
            0,
            Ctx::Hard(0),
            "sched:sched_waking",
            &[("pid", N(PID as u64))],
        );
        switch(s, t + 499 * MS + 100, 0, PID);
    };
    let mut s = Sender::new(&[]);
    for (at, ret) in [(0u64, 16_384i64), (1, -11), (501, 16_384)] {
        let t = BASE + 100_000 + at * MS;
        s.enter(t);
        s.round(t + 10, 16_384);
        s.leave(t + 20, ret as u64);
        if ret < 0 {
            slept(at, &mut s);
        }
    }
    let f = s.facts();
    let [one] = f.refused_sends.as_slice() else {
        panic!("{:?}", f.refused_sends)
    };
    assert_eq!((one.connection, one.pid), (ConnectionId(0), PID));
    assert_eq!(one.next_ns - one.at_ns, 500 * MS as i64 - 20);
    assert_eq!(one.slept.0.text(), "epoll_wait");
    assert!(one.slept.1 > 490 * MS as i64, "{one:?}");
}
