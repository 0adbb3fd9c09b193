use super::{Split, Threads};
use crate::ingest::Trace;
use crate::testing::{Ctx, N, Script};

const T: u64 = 1_000_000;

/// asleep 0..100, waking ..120, runnable ..200, running ..260, preempted (runnable) ..300, running.
fn script() -> Script {
    let mut s = Script::new("6.18.44", &[]);
    let switch = |s: &mut Script, t: u64, prev: u64, state: u64, next: u64| {
        let v = [("prev_pid", N(prev)), ("prev_state", N(state)), ("next_pid", N(next))];
        s.ev(T + t, 0, Ctx::Task(prev as i32), "sched:sched_switch", &v);
    };
    switch(&mut s, 0, 7, 1, 0);
    s.ev(T + 100, 0, Ctx::Soft(0), "sched:sched_waking", &[("pid", N(7))]);
    s.ev(T + 120, 0, Ctx::Soft(0), "sched:sched_wakeup", &[("pid", N(7))]);
    switch(&mut s, 200, 0, 0, 7);
    switch(&mut s, 260, 7, 0x100, 9); // R+
    switch(&mut s, 300, 9, 1, 7);
    s
}

fn split(s: &Script, from: u64, to: u64) -> Split {
    let c = s.capture();
    let t = Trace::read(&c, &Default::default());
    Threads::read(&t).split(7, (T + from) as i64, (T + to) as i64)
}

#[test]
fn an_interval_is_divided_exactly() {
    let s = split(&script(), 50, 350);
    let expect = Split {
        asleep_ns: 50,
        waking_ns: 20,
        runnable_ns: 80 + 40,
        running_ns: 60 + 50,
        unknown_ns: 0,
    };
    assert_eq!(s, expect);
}

#[test]
fn before_the_first_event_and_for_strangers_nothing_is_known() {
    let c = script().capture();
    let t = Trace::read(&c, &Default::default());
    let threads = Threads::read(&t);
    assert_eq!(
        threads.split(7, T as i64 - 30, T as i64 + 10),
        Split {
            asleep_ns: 10,
            unknown_ns: 30,
            ..Default::default()
        }
    );
    assert_eq!(
        threads.split(8, 0, 10),
        Split {
            unknown_ns: 10,
            ..Default::default()
        }
    );
}

#[test]
fn a_loss_makes_the_rest_unknown_until_the_next_event() {
    let mut s = script();
    s.lost(0, None);
    s.ev(
        T + 500,
        0,
        Ctx::Task(7),
        "sched:sched_switch",
        &[("prev_pid", N(7)), ("prev_state", N(1))],
    );
    let got = split(&s, 290, 520);
    assert_eq!(
        got,
        Split {
            runnable_ns: 10,
            unknown_ns: 200,
            asleep_ns: 20,
            ..Default::default()
        }
    );
}

/// A state seen while another CPU loses events may have changed there: unknown until the thread is seen again.
#[test]
fn a_state_seen_during_a_loss_elsewhere_is_not_believed() {
    let mut s = Script::new("6.18.44", &[]);
    let switch = |s: &mut Script, t: u64, cpu: usize, prev: u64, next: u64| {
        let v = [("prev_pid", N(prev)), ("prev_state", N(1)), ("next_pid", N(next))];
        s.ev(T + t, cpu, Ctx::Task(prev as i32), "sched:sched_switch", &v);
    };
    switch(&mut s, 0, 1, 3, 0);
    switch(&mut s, 10, 0, 7, 0); // asleep, on CPU 0, while CPU 1 loses events
    s.lost(1, Some(50));
    switch(&mut s, 100, 1, 3, 0);
    switch(&mut s, 200, 0, 0, 7);
    let expect = Split {
        unknown_ns: 190,
        running_ns: 50,
        ..Default::default()
    };
    assert_eq!(split(&s, 10, 250), expect);
}

/// A waking of a thread that still runs (or is already queued) changes nothing.
#[test]
fn a_waking_of_a_running_thread_is_no_sleep() {
    let mut s = script();
    s.ev(T + 310, 0, Ctx::Soft(7), "sched:sched_waking", &[("pid", N(7))]);
    assert_eq!(split(&s, 300, 350).running_ns, 50);
}

/// Idle (pid 0) and kernel oddities have no state of their own.
#[test]
fn pid_zero_is_nobody() {
    let c = script().capture();
    let t = Trace::read(&c, &Default::default());
    let got = Threads::read(&t).split(0, T as i64, T as i64 + 100);
    assert_eq!(got.unknown_ns, 100);
}

/// Nested writers of old kernels leave times that go back on one CPU: the parts still sum to the whole.
#[test]
fn changes_out_of_order_still_sum() {
    let mut s = Script::new("6.18.44", &[]);
    for (t, prev, next) in [(100, 7, 0), (300, 0, 7), (250, 7, 0), (280, 0, 7), (400, 7, 0)] {
        let v = [("prev_pid", N(prev)), ("prev_state", N(1)), ("next_pid", N(next))];
        s.ev(T + t, 0, Ctx::Task(0), "sched:sched_switch", &v);
    }
    s.lost(0, None);
    let v = [("prev_pid", N(0)), ("next_pid", N(7))];
    s.ev(T + 500, 0, Ctx::Task(0), "sched:sched_switch", &v);
    for from in (50..=550).step_by(10) {
        for to in (from..=600).step_by(10) {
            let p = split(&s, from, to);
            let parts = [p.asleep_ns, p.waking_ns, p.runnable_ns, p.running_ns, p.unknown_ns];
            assert!(parts.iter().all(|ns| *ns >= 0), "{from}..{to}: {p:?}");
            assert_eq!(parts.iter().sum::<i64>(), (to - from) as i64, "{from}..{to}: {p:?}");
        }
    }
}
