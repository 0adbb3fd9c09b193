use super::{Split, Threads};
use crate::ingest::Trace;
use crate::testing::{Ctx, N, Script};

mod began;
mod sleeps;

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

fn parts(p: &Split) -> [i64; 6] {
    [
        p.asleep_ns,
        p.waking_ns,
        p.idle_exit_ns,
        p.run_queue_ns,
        p.running_ns,
        p.unknown_ns,
    ]
}

#[test]
fn an_interval_is_divided_exactly() {
    let s = split(&script(), 50, 350);
    let expect = Split {
        asleep_ns: 50,
        waking_ns: 20,
        idle_exit_ns: 80,
        run_queue_ns: 40,
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
            run_queue_ns: 10,
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
            let parts = parts(&p);
            assert!(parts.iter().all(|ns| *ns >= 0), "{from}..{to}: {p:?}");
            assert_eq!(parts.iter().sum::<i64>(), (to - from) as i64, "{from}..{to}: {p:?}");
        }
    }
}

/// One CPU after another: (time, CPU, prev, prev_state, next).
fn switches(s: &mut Script, of: &[(u64, usize, u64, u64, u64)]) {
    for (t, cpu, prev, state, next) in of {
        let v = [
            ("prev_pid", N(*prev)),
            ("prev_state", N(*state)),
            ("next_pid", N(*next)),
        ];
        s.ev(T + t, *cpu, Ctx::Task(*prev as i32), "sched:sched_switch", &v);
    }
}
fn wakeup(s: &mut Script, t: u64, cpu: usize, pid: u64, target: u64) {
    let v = [("pid", N(pid)), ("target_cpu", N(target))];
    s.ev(T + t, cpu, Ctx::Soft(1), "sched:sched_wakeup", &v);
}
fn threads(s: &Script) -> Threads {
    let c = s.capture();
    let t = Trace::read(&c, &Default::default());
    Threads::read(&t)
}
fn at(t: u64) -> i64 {
    (T + t) as i64
}

/// Woken on a CPU that runs somebody: a run-queue wait, and who had most of it.
#[test]
fn who_ran_instead() {
    let mut s = Script::new("6.18.44", &[]);
    switches(&mut s, &[(0, 0, 7, 1, 20), (50, 0, 20, 0, 21)]);
    wakeup(&mut s, 60, 0, 7, 0);
    switches(&mut s, &[(70, 0, 21, 0, 22), (400, 0, 22, 0, 21), (420, 0, 21, 1, 7)]);
    let t = threads(&s);
    let got = t.split(7, at(60), at(430));
    assert_eq!((got.idle_exit_ns, got.run_queue_ns, got.running_ns), (0, 360, 10));
    assert_eq!(t.ran_instead(7, at(60), at(430)).map(|w| w.0), Some(22));
    // Asked of a part, the longest wait still answers; of none, nobody.
    assert_eq!(t.ran_instead(7, at(415), at(430)).map(|w| w.0), Some(22));
    assert_eq!(t.ran_instead(7, at(420), at(430)), None);
}

/// Woken on an idle CPU, which then takes another thread first: idle exit, then a run queue.
#[test]
fn an_idle_cpu_may_take_another_first() {
    let mut s = Script::new("6.18.44", &[]);
    switches(&mut s, &[(0, 1, 7, 1, 0)]);
    wakeup(&mut s, 100, 0, 7, 1);
    switches(&mut s, &[(130, 1, 0, 0, 9), (190, 1, 9, 1, 7)]);
    let t = threads(&s);
    let got = t.split(7, at(100), at(200));
    assert_eq!((got.idle_exit_ns, got.run_queue_ns, got.running_ns), (30, 60, 10));
    assert_eq!(t.ran_instead(7, at(100), at(200)).map(|w| w.0), Some(9));
}

/// Nothing was seen of the CPU before: whom the thread follows there tells.
#[test]
fn a_cpu_not_seen_before_was_idle_if_the_idle_task_leaves() {
    for (prev, expect) in [(0, (40, 0)), (9, (0, 40))] {
        let mut s = Script::new("6.18.44", &[]);
        wakeup(&mut s, 100, 0, 7, 1);
        switches(&mut s, &[(140, 1, prev, 1, 7)]);
        let got = threads(&s).split(7, at(100), at(150));
        assert_eq!((got.idle_exit_ns, got.run_queue_ns), expect);
    }
}

/// Pulled to an idle CPU from the queue of a busy one: each part is what it was.
#[test]
fn a_thread_moved_to_an_idle_cpu() {
    let mut s = Script::new("6.18.44", &[]);
    switches(&mut s, &[(0, 0, 5, 1, 0), (1, 1, 7, 1, 9)]);
    wakeup(&mut s, 100, 0, 7, 1);
    let v = [("pid", N(7)), ("orig_cpu", N(1)), ("dest_cpu", N(0))];
    s.ev(T + 150, 0, Ctx::Soft(0), "sched:sched_migrate_task", &v);
    switches(&mut s, &[(170, 0, 0, 0, 7)]);
    let t = threads(&s);
    let got = t.split(7, at(100), at(180));
    assert_eq!((got.run_queue_ns, got.idle_exit_ns, got.running_ns), (50, 20, 10));
    assert_eq!(t.ran_instead(7, at(100), at(180)).map(|w| w.0), Some(9));
}

/// Sums at a stride against a walk through every change.
#[test]
fn sums_agree_with_a_walk() {
    let mut s = Script::new("6.18.44", &[]);
    let mut t = 0u64;
    for k in 0..300u64 {
        t += 10 + k * 7 % 13;
        switches(&mut s, &[(t, 0, 7, k % 3, 9)]);
        if k % 3 != 0 {
            t += 3;
            s.ev(T + t, 0, Ctx::Soft(9), "sched:sched_waking", &[("pid", N(7))]);
            wakeup(&mut s, t + 2, 0, 7, 0);
            t += 2;
        }
        t += 5 + k % 4;
        switches(&mut s, &[(t, 0, 9, 0, 7)]);
    }
    let all = threads(&s);
    let step = |from: u64, to: u64| parts(&all.split(7, at(from), at(to)));
    for (from, to) in [(0, t + 50), (3, 400), (77, 2_000), (1_000, 1_003), (t / 2, t)] {
        let mut walked = [0i64; 6];
        (from..to).for_each(|i| walked.iter_mut().zip(step(i, i + 1)).for_each(|(w, n)| *w += n));
        assert_eq!(step(from, to), walked, "{from}..{to}");
    }
}

/// A reader that lags: many questions over many changes.
#[test]
fn a_question_does_not_walk_through_its_interval() {
    let mut s = Script::new("6.18.44", &[]);
    for k in 0..40_000u64 {
        switches(&mut s, &[(k * 10, 0, 7, 0, 9), (k * 10 + 4, 0, 9, 0, 7)]);
    }
    let t = threads(&s);
    let started = std::time::Instant::now();
    for k in 0..40_000u64 {
        let got = t.split(7, at(k), at(399_990));
        assert!(got.run_queue_ns > 0);
        assert_eq!(t.ran_instead(7, at(k), at(399_990)).map(|w| w.0), Some(9));
    }
    // 40,000 walks over 80,000 changes would be 3,200,000,000 steps.
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}

/// The switch from idle to 7 is not recorded, as on some guests: from its own first event on 7 runs, and only between the
/// idle task's last event and that one nothing is known.
#[test]
fn a_switch_that_was_not_recorded_is_seen_by_what_the_cpu_runs() {
    let script = |told: bool| {
        let mut s = Script::new("6.18.44", &[]);
        let switch = |s: &mut Script, t: u64, prev: u64, state: u64, next: u64| {
            let v = [("prev_pid", N(prev)), ("prev_state", N(state)), ("next_pid", N(next))];
            s.ev(T + t, 0, Ctx::Task(prev as i32), "sched:sched_switch", &v);
        };
        switch(&mut s, 0, 7, 1, 0);
        s.ev(T + 120, 0, Ctx::Soft(0), "sched:sched_wakeup", &[("pid", N(7))]);
        s.ev(T + 130, 0, Ctx::Soft(0), "sched:sched_waking", &[("pid", N(9))]);
        if told {
            switch(&mut s, 133, 0, 0, 7);
        }
        s.ev(T + 140, 0, Ctx::Task(7), "sched:sched_waking", &[("pid", N(9))]);
        switch(&mut s, 300, 7, 1, 0);
        s
    };
    let expect = |idle_exit_ns, unknown_ns, running_ns| Split {
        asleep_ns: 120 - 50 + 10,
        idle_exit_ns,
        unknown_ns,
        running_ns,
        ..Default::default()
    };
    assert_eq!(split(&script(true), 50, 310), expect(13, 0, 167));
    assert_eq!(split(&script(false), 50, 310), expect(10, 10, 160));
    let unseen = |told| {
        let c = script(told).capture();
        Threads::read(&Trace::read(&c, &Default::default())).unseen
    };
    assert_eq!((unseen(true), unseen(false)), (0, 1));
}

/// Preempted, and its CPU goes idle: nobody ran instead. A thread that had more of the wait than the idle task is still it.
#[test]
fn a_thread_held_off_an_idle_cpu_waits_for_nobody() {
    for (other, expect) in [(340, 0), (140, 9)] {
        let mut s = Script::new("6.18.44", &[]);
        switches(&mut s, &[(0, 0, 3, 1, 7), (100, 0, 7, 0x100, 0), (other, 0, 0, 0, 9)]);
        switches(&mut s, &[(400, 0, 9, 1, 7)]);
        let t = threads(&s);
        assert_eq!(t.split(7, at(100), at(400)).run_queue_ns, 300);
        assert_eq!(t.ran_instead(7, at(100), at(400)), Some((expect, 300)));
    }
}
