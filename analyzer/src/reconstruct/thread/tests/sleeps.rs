//! In which call a thread slept, what held it, and who ended it.

use super::{T, at, script, switches, threads};
use crate::ingest::Trace;
use crate::reconstruct::thread::{Threads, UNRECORDED};
use crate::testing::{Ctx, N, Script};

/// In which call 7 slept 0..100 of `script`, with these calls around it, and again after a loss.
fn slept_in(enter: Option<u64>, exit: Option<u64>, lost: bool) -> Option<(String, i64)> {
    let mut s = Script::new("6.18.44", &[]);
    let call = |s: &mut Script, t: Option<u64>, key: &str| {
        if let Some(t) = t {
            s.ev(t, 0, Ctx::Task(7), key, &[]);
        }
    };
    let switch = |s: &mut Script, t: u64, prev: u64, next: u64| {
        let v = [("prev_pid", N(prev)), ("prev_state", N(1)), ("next_pid", N(next))];
        s.ev(t, 0, Ctx::Task(prev as i32), "sched:sched_switch", &v);
    };
    switch(&mut s, T - 90, 3, 7);
    call(&mut s, enter, "syscalls:sys_enter_recvfrom");
    if lost {
        s.lost(0, Some(2));
        s.ev(T - 10, 0, Ctx::Task(7), "net:netif_rx", &[]);
    }
    switch(&mut s, T, 7, 3);
    switch(&mut s, T + 100, 3, 7);
    call(&mut s, exit, "syscalls:sys_exit_recvfrom");
    let c = s.capture();
    let t = Trace::read(&c, &Default::default());
    let (from, to) = (T as i64 + 30, T as i64 + 500);
    let found = Threads::read(&t).slept_in(7, from, to);
    found.map(|s| (s.call.text().into_owned(), s.ns))
}

/// Between its begin and its end; by its end alone where the begin was not recorded; in no recorded call between two calls.
#[test]
fn a_sleep_is_in_the_call_around_it() {
    let recv = Some(("recvfrom".to_string(), 70));
    assert_eq!(slept_in(Some(T - 50), Some(T + 120), false), recv);
    assert_eq!(slept_in(Some(T - 50), None, false), recv);
    assert_eq!(slept_in(None, Some(T + 120), false), recv);
    assert_eq!(slept_in(None, None, false), None);
}

/// What a loss hid may be the call's end, and another's begin.
#[test]
fn a_loss_hides_the_call() {
    assert_eq!(slept_in(Some(T - 50), None, true), None);
    // Its end tells.
    assert_eq!(
        slept_in(Some(T - 50), Some(T + 120), true),
        Some(("recvfrom".into(), 70))
    );
}

#[test]
fn asleep_between_calls_is_asleep_in_none_that_is_recorded() {
    let mut s = script();
    let mut early = Script::new("6.18.44", &[]);
    let v = [("prev_pid", N(3)), ("prev_state", N(1)), ("next_pid", N(7))];
    early.ev(T - 90, 0, Ctx::Task(3), "sched:sched_switch", &v);
    early.ev(T - 50, 0, Ctx::Task(7), "syscalls:sys_exit_read", &[]);
    let v = [("prev_pid", N(7)), ("prev_state", N(1)), ("next_pid", N(0))];
    early.ev(T, 0, Ctx::Task(7), "sched:sched_switch", &v);
    early.ev(T + 100, 0, Ctx::Soft(0), "sched:sched_waking", &[("pid", N(7))]);
    s.ev(T + 400, 0, Ctx::Task(7), "syscalls:sys_exit_read", &[]);
    let of = |s: &Script| {
        let c = s.capture();
        let t = Trace::read(&c, &Default::default());
        let found = Threads::read(&t).slept_in(7, T as i64 - 100, T as i64 + 350);
        found.map(|s| (s.call.text().into_owned(), s.ns))
    };
    assert_eq!(of(&early), Some((UNRECORDED.to_string(), 100)));
    // The begin was not seen: its end says that it was in that call all along.
    assert_eq!(of(&s), Some(("read".to_string(), 100)));
}

/// In state D in no recorded call: fsync, a page, a lock in the kernel. In a recorded call it is that call (a socket's lock is such a sleep).
#[test]
fn an_uninterruptible_sleep_outside_recorded_calls_is_told_apart() {
    let of = |call: &str, state: u64| {
        let mut s = Script::new("6.18.44", &[]);
        let switch = |s: &mut Script, t: u64, prev: u64, state: u64, next: u64| {
            let v = [("prev_pid", N(prev)), ("prev_state", N(state)), ("next_pid", N(next))];
            s.ev(t, 0, Ctx::Task(prev as i32), "sched:sched_switch", &v);
        };
        switch(&mut s, T - 90, 3, 1, 7);
        s.ev(T - 50, 0, Ctx::Task(7), call, &[]);
        switch(&mut s, T, 7, state, 3);
        switch(&mut s, T + 100, 3, 1, 7);
        let c = s.capture();
        let t = Trace::read(&c, &Default::default());
        let found = Threads::read(&t).slept_in(7, T as i64, T as i64 + 500);
        found.map(|s| s.call.text().into_owned())
    };
    let said = |of: Option<String>| of.unwrap();
    assert_eq!(said(of("syscalls:sys_exit_recvfrom", 2)), "uninterruptible");
    assert_eq!(said(of("syscalls:sys_exit_recvfrom", 1)), UNRECORDED);
    assert_eq!(said(of("syscalls:sys_enter_recvfrom", 2)), "recvfrom");
    assert_eq!(said(of("syscalls:sys_enter_recvfrom", 4)), "stopped");
}

/// Stopped in the way out of a call, or by its tracer inside one: neither is a sleep of that call; it needs no system calls.
#[test]
fn a_stopped_thread_does_not_sleep_in_a_call() {
    let held = |state: u64, calls: bool| {
        let mut s = Script::new("6.18.44", &[]);
        switches(&mut s, &[(0, 0, 3, 1, 7)]);
        if calls {
            s.ev(T + 10, 0, Ctx::Task(7), "syscalls:sys_enter_recvfrom", &[]);
        }
        switches(&mut s, &[(20, 0, 7, 1, 3)]);
        s.ev(T + 50, 0, Ctx::Soft(3), "sched:sched_waking", &[("pid", N(7))]);
        switches(&mut s, &[(60, 0, 3, 0, 7), (100, 0, 7, state, 3)]);
        s.ev(T + 400, 0, Ctx::Task(3), "sched:sched_waking", &[("pid", N(7))]);
        switches(&mut s, &[(420, 0, 3, 0, 7)]);
        if calls {
            s.ev(T + 450, 0, Ctx::Task(7), "syscalls:sys_exit_recvfrom", &[]);
        }
        let t = threads(&s);
        assert_eq!(t.split(7, at(0), at(450)).asleep_ns, 30 + 300);
        let found = t.slept_in(7, at(0), at(450));
        found.map(|s| (s.call.text().into_owned(), s.ns))
    };
    for calls in [true, false] {
        assert_eq!(held(4, calls), Some(("stopped".to_string(), 300)));
        assert_eq!(held(8, calls), Some(("traced".to_string(), 300)));
    }
    assert_eq!(held(1, true), Some(("recvfrom".to_string(), 330)));
}

/// Who ended a sleep: another thread in its own context, of the longest such sleep; not a softirq on its CPU, nor an event
/// without flags (in a waking interrupts are off, which is one).
#[test]
fn a_sleep_that_another_thread_ended_keeps_who() {
    const OFF: u8 = 1;
    let woken = |by: Ctx, later: Ctx| {
        let mut s = Script::new("6.18.44", &[]);
        switches(&mut s, &[(0, 0, 3, 1, 7)]);
        s.ev(T + 10, 0, Ctx::Task(7), "syscalls:sys_exit_read", &[]);
        switches(&mut s, &[(20, 0, 7, 1, 9)]);
        s.ev(T + 220, 0, by, "sched:sched_waking", &[("pid", N(7))]);
        switches(&mut s, &[(230, 0, 9, 0, 7), (300, 0, 7, 1, 8)]);
        s.ev(T + 400, 0, later, "sched:sched_waking", &[("pid", N(7))]);
        switches(&mut s, &[(410, 0, 8, 0, 7)]);
        s.ev(T + 450, 0, Ctx::Task(7), "syscalls:sys_enter_read", &[]);
        let t = threads(&s);
        let all = t.slept_in(7, at(0), at(460)).unwrap();
        assert_eq!((&*all.call.text(), all.ns), ("unrecorded", 300));
        // Of a part: what lies inside.
        let tail = t.slept_in(7, at(170), at(460)).unwrap();
        (all.woken_by, tail.woken_by)
    };
    let (task, soft) = (|pid| Ctx::Flags(OFF, pid), Ctx::Flags(OFF | 0x10, 9));
    assert_eq!(woken(task(9), task(8)), (Some((9, 200)), Some((8, 100))));
    assert_eq!(woken(soft, task(8)), (Some((8, 100)), Some((8, 100))));
    assert_eq!(woken(soft, Ctx::Flags(OFF | 8, 8)), (None, None));
    assert_eq!(woken(Ctx::Flags(0, 9), Ctx::Flags(0, 8)), (None, None));
}

/// The call that a thread slept in tells whose socket it read, whatever came of it: by `sock_recv_length`, before Linux 6.3 by what it took.
#[test]
fn a_receive_call_tells_which_socket_its_sleep_was_for() {
    const MS: u64 = 1_000_000;
    let of = |call: &str, told: &str, long: u64| {
        let mut s = Script::new("6.18.44", &[]);
        for of in ["enter", "exit"] {
            s.like(
                &format!("syscalls:sys_{of}_recvfrom"),
                &format!("sys_{of}_io_uring_enter"),
            );
            s.like(&format!("syscalls:sys_{of}_recvfrom"), &format!("sys_{of}_epoll_wait"));
        }
        let switch = |s: &mut Script, t: u64, prev: u64, next: u64| {
            let v = [("prev_pid", N(prev)), ("prev_state", N(1)), ("next_pid", N(next))];
            s.ev(T + t, 0, Ctx::Task(prev as i32), "sched:sched_switch", &v);
        };
        switch(&mut s, 0, 3, 7);
        s.ev(T + 10, 0, Ctx::Task(7), &format!("syscalls:sys_enter_{call}"), &[]);
        switch(&mut s, 20, 7, 3);
        if told == "nothing, behind a loss" {
            s.lost(0, Some(2));
        }
        switch(&mut s, long, 3, 7);
        let sock = crate::testing::tcp::SOCK;
        match told {
            "nothing" | "nothing, behind a loss" => sock.recv_length(&mut s, T + long + 5, 0, 7, 0, 0),
            "again" => sock.recv_length(&mut s, T + long + 5, 0, 7, -11, 0),
            "taken" => sock.ev(&mut s, T + long + 5, 0, Ctx::Task(7), "tcp:tcp_rcv_space_adjust", &[]),
            _ => {}
        }
        s.ev(
            T + long + 10,
            0,
            Ctx::Task(7),
            &format!("syscalls:sys_exit_{call}"),
            &[],
        );
        if told == "later" {
            sock.recv_length(&mut s, T + long + 15, 0, 7, 5, 0);
        }
        let c = s.capture();
        let t = Trace::read(&c, &Default::default());
        let from = T as i64 + 100_020;
        let found = Threads::read(&t).slept_in(7, from, T as i64 + 100 * MS as i64)?.read?;
        assert_eq!((found.sk, found.from), (sock.sk, T as i64 + 20));
        assert_eq!(found.ns, found.to - from);
        Some(found.to - T as i64)
    };
    for told in ["nothing", "again", "taken"] {
        assert_eq!(of("recvfrom", told, 3 * MS), Some(3 * MS as i64), "{told}");
    }
    // In no such call, or of another one; a sleep that is none to speak of; any of its sockets.
    assert_eq!(of("epoll_wait", "later", 3 * MS), None);
    assert_eq!(of("recvfrom", "", 3 * MS), None);
    assert_eq!(of("recvfrom", "nothing", MS / 2), None);
    // What was lost may have been the end of that call.
    assert_eq!(of("recvfrom", "nothing, behind a loss", 3 * MS), None);
    assert_eq!(of("io_uring_enter", "nothing", 3 * MS), None);
}
