//! What threads did before their first event.

use super::super::Slept;
use super::*;

fn switch(s: &mut Script, t: u64, cpu: usize, prev: u64, next: u64) {
    let v = [("prev_pid", N(prev)), ("prev_state", N(1)), ("next_pid", N(next))];
    s.ev(T + t, cpu, Ctx::Task(prev as i32), "sched:sched_switch", &v);
}

/// CPU 1's first switch is the last to be told; then 8 is woken.
fn woken() -> Script {
    let mut s = Script::new("6.18.44", &[]);
    switch(&mut s, 0, 0, 7, 0);
    switch(&mut s, 50, 1, 3, 0);
    s.ev(T + 200, 0, Ctx::Soft(0), "sched:sched_waking", &[("pid", N(8))]);
    s.ev(T + 210, 0, Ctx::Soft(0), "sched:sched_wakeup", &[("pid", N(8))]);
    s
}

fn of_8(s: &Script) -> (Split, Option<Slept>) {
    of_8_in(s, serde_json::json!({"plan": {"cpus": [0, 1]}}))
}

fn of_8_in(s: &Script, manifest: serde_json::Value) -> (Split, Option<Slept>) {
    let mut c = s.capture();
    c.manifest = Some(manifest);
    let t = Trace::read(&c, &Default::default());
    let threads = Threads::read(&t);
    let (from, to) = (T as i64, T as i64 + 300);
    (threads.split(8, from, to), threads.slept_in(8, from, to))
}

#[test]
fn who_is_woken_first_has_slept_since_all_switches_are_told() {
    let mut s = woken();
    switch(&mut s, 220, 0, 0, 8);
    s.ev(T + 230, 0, Ctx::Task(8), "syscalls:sys_exit_read", &[]);
    let (split, slept) = of_8(&s);
    let expect = Split {
        unknown_ns: 50,
        asleep_ns: 150,
        waking_ns: 10,
        idle_exit_ns: 10,
        running_ns: 80,
        ..Default::default()
    };
    assert_eq!(split, expect);
    let slept = slept.unwrap();
    assert_eq!((slept.call.text().as_ref(), slept.ns), ("read", 150));
}

#[test]
fn after_a_loss_or_while_a_cpu_told_none_nothing_is_known() {
    let mut s = Script::new("6.18.44", &[]);
    switch(&mut s, 0, 0, 7, 0);
    switch(&mut s, 50, 1, 3, 0);
    s.lost(1, Some(1));
    switch(&mut s, 100, 1, 0, 5);
    s.ev(T + 200, 0, Ctx::Soft(0), "sched:sched_waking", &[("pid", N(8))]);
    switch(&mut s, 220, 0, 0, 8);
    let lost = of_8(&s).0;
    assert_eq!((lost.unknown_ns, lost.asleep_ns), (200, 0), "{lost:?}");

    // The one that came meanwhile does not count for it.
    let mut s = Script::new("6.18.44", &[]);
    switch(&mut s, 0, 0, 7, 0);
    switch(&mut s, 50, 2, 4, 0);
    s.ev(T + 200, 0, Ctx::Soft(0), "sched:sched_waking", &[("pid", N(8))]);
    switch(&mut s, 220, 0, 0, 8);
    switch(&mut s, 250, 1, 3, 0);
    assert_eq!(of_8(&s).0.asleep_ns, 0);
}

/// It may have run on a CPU that was not recorded, or as a thread that was not.
#[test]
fn where_only_a_part_of_the_host_was_recorded_nothing_is_known() {
    let mut s = woken();
    switch(&mut s, 220, 0, 0, 8);
    let asleep = |plan: serde_json::Value| of_8_in(&s, serde_json::json!({"plan": plan})).0.asleep_ns;
    let cpus = [0, 1];
    assert_eq!(asleep(serde_json::json!({"cpus": cpus, "filters": ["port 80"]})), 150);
    for part in [
        serde_json::json!({}),
        serde_json::json!({"cpus": [0, 1, 2]}),
        serde_json::json!({"cpus": cpus, "filters": ["port 80", "cpu 0-1"]}),
        serde_json::json!({"cpus": cpus, "perf": {"cgroup": "/sys/fs/cgroup/a"}}),
        serde_json::json!({"cpus": cpus, "perf": {"pids": [4]}}),
    ] {
        assert_eq!(asleep(part.clone()), 0, "{part}");
    }
}
