//! PREEMPT_RT: who receives a packet may lose its CPU while it does.

use super::*;

/// Thread that runs the softirq, one of a higher rank, one whose lock the first waits for.
const RUNS: i32 = 1;
const RANK: i32 = 50;
const OWNER: i32 = 60;

/// `flags` are those of the thread that is switched out.
fn switch(s: &mut Script, t: u64, cpu: usize, (prev, flags, state): (i32, u8, u64), next: i32) {
    let name = |pid: i32| match pid {
        77 => "backlog_napi/1",
        RANK => "rank",
        _ => "other",
    };
    let v = [
        ("prev_pid", N(prev as u64)),
        ("prev_comm", S(name(prev))),
        ("prev_state", N(state)),
        ("next_pid", N(next as u64)),
        ("next_comm", S(name(next))),
    ];
    s.ev(T + t, cpu, Ctx::Flags(flags, prev), "sched:sched_switch", &v);
}

/// Softirq 10 to 200: preempted from 20 to 60 before it comes to the packet, at a lock from 105 to 115 in the protocol; a poll between.
#[test]
fn time_that_the_softirq_was_not_on_its_cpu_is_no_stage_of_its_own_work() {
    let mut s = script();
    s.ev(T, 0, Ctx::Hard(1), "irq:irq_handler_entry", &[("name", S("eth0"))]);
    s.ev(T + 4, 0, Ctx::Hard(1), "irq:softirq_raise", &[("vec", N(3))]);
    s.ev(T + 5, 0, Ctx::Hard(1), "irq:irq_handler_exit", &[]);
    soft(&mut s, 10, 0, "entry");
    switch(&mut s, 20, 0, (RUNS, 0x10, 0), RANK);
    switch(&mut s, 60, 0, (RANK, 0, 1), RUNS);
    skb(&mut s, 80, 0, SOFT, "net:napi_gro_receive_entry", A, 1_052);
    s.ev(T + 81, 0, SOFT, "net:napi_gro_receive_exit", &[("ret", N(3))]);
    recv(&mut s, 100, A, 1_000);
    switch(&mut s, 105, 0, (RUNS, 0x10, 2), OWNER);
    switch(&mut s, 115, 0, (OWNER, 0, 0), RUNS);
    probe(&mut s, 130, SOFT, A, 1_000);
    ready(&mut s, 140);
    soft(&mut s, 200, 0, "exit");
    read(&mut s, 300, A, 1_000);
    let r = rx(&s);
    let of = |stage| r[0].stage(stage);
    assert_eq!(
        [
            Stage::PollWait,
            Stage::Gro,
            Stage::Protocol,
            Stage::Ready,
            Stage::Preempted
        ]
        .map(of),
        [Some(30), Some(20), Some(20), Some(10), Some(50)]
    );
    assert_eq!(r[0].preempted_by.text(), "rank");
    let f = s.facts();
    let run = f.softirqs.iter().find(|r| r.vec == 3).unwrap();
    let p = run.preempted.as_ref().unwrap();
    assert_eq!((p.ns, p.lock_ns, &*p.by.text()), (50, 10, "rank"));
    // `explain` lays them where they were: 40 before netif_receive_skb, 10 behind.
    let steps = crate::explain::stages::receive(&r[0], Some((T + 100) as i64));
    let away: Vec<_> = steps.iter().filter(|s| s.stage == "preempted").map(|s| s.ns).collect();
    assert_eq!(away, [40, 10]);
}

/// A thread that polls has bottom halves off; what others do on its CPU between two packets is not of the packet before.
#[test]
fn a_thread_that_polls_is_preempted_too() {
    let mut s = script();
    let poller = Ctx::Flags(0x80, 77);
    let named = [
        ("prev_pid", N(0)),
        ("next_pid", N(77)),
        ("next_comm", S("backlog_napi/1")),
    ];
    s.ev(T, 0, Ctx::Task(0), "sched:sched_switch", &named);
    skb(&mut s, 10, 0, poller, "net:netif_receive_skb", A, 152);
    switch(&mut s, 12, 0, (77, 0x80, 0), RANK);
    // Another that has bottom halves off: not who receives ours.
    switch(&mut s, 20, 0, (RANK, 0x80, 2), OWNER);
    switch(&mut s, 25, 0, (OWNER, 0, 0), RANK);
    switch(&mut s, 40, 0, (RANK, 0, 1), 77);
    SOCK.probe(&mut s, T + 50, 0, poller, &[("skbaddr", N(A)), ("data_len", N(100))]);
    SOCK.ready(&mut s, T + 55, 0, poller);
    let v = [("dev_name", S("eth0")), ("work", N(1)), ("budget", N(64))];
    s.ev(T + 60, 0, poller, "napi:napi_poll", &v);
    switch(&mut s, 70, 0, (77, 0x80, 0), RANK);
    switch(&mut s, 90, 0, (RANK, 0, 1), 77);
    read(&mut s, 200, A, 100);
    let r = rx(&s);
    assert_eq!(r[0].stage(Stage::Preempted), Some(28), "{r:?}");
    assert_eq!(r[0].preempted_by.text(), "rank");
}

/// Without PREEMPT_RT a softirq is never switched out: nothing is set.
#[test]
fn switches_of_other_threads_are_no_preemption() {
    let mut s = script();
    soft(&mut s, 0, 0, "entry");
    arrive(&mut s, 10, A, 100);
    soft(&mut s, 40, 0, "exit");
    switch(&mut s, 50, 0, (RUNS, 0, 0), RANK);
    switch(&mut s, 60, 0, (RANK, 0, 1), RUNS);
    read(&mut s, 100, A, 100);
    let r = rx(&s);
    assert_eq!(
        (r[0].stage(Stage::Preempted), r[0].preempted_by.text().as_ref()),
        (None, "")
    );
    assert!(s.facts().softirqs.iter().all(|r| r.preempted.is_none()));
}

/// RPS hands packets to a thread of the other CPU's backlog there: the packet waits until that thread runs, and in its poll.
#[test]
fn the_backlogs_own_thread_is_waited_for() {
    let mut s = script();
    let thread = Ctx::Flags(0x80, 77);
    switch(&mut s, 0, 1, (RANK, 0, 0), 77);
    switch(&mut s, 1, 1, (77, 0, 1), RANK);
    skb(&mut s, 10, 0, TASK, "net:netif_rx", A, 152);
    s.ev(T + 15, 0, TASK, "sched:sched_waking", &[("pid", N(77))]);
    let queue = [("pid", N(77)), ("target_cpu", N(1))];
    s.ev(T + 20, 1, Ctx::Task(RANK), "sched:sched_wakeup", &queue);
    switch(&mut s, 70, 1, (RANK, 0, 1), 77);
    skb(&mut s, 90, 1, thread, "net:netif_receive_skb", A, 152);
    SOCK.probe(&mut s, T + 95, 1, thread, &[("skbaddr", N(A)), ("data_len", N(100))]);
    SOCK.ready(&mut s, T + 100, 1, thread);
    let v = [("dev_name", S("(no_device)")), ("work", N(1)), ("budget", N(64))];
    s.ev(T + 110, 1, thread, "napi:napi_poll", &v);
    read(&mut s, 300, A, 100);
    let r = rx(&s);
    let of = |stage| r[0].stage(stage);
    assert_eq!(
        [Stage::Rps, Stage::PollWait, Stage::Preempted].map(of),
        [Some(60), Some(20), None]
    );
    assert_eq!(r[0].softirq_blame.unwrap().text(), "task: rank");
    assert_eq!(r[0].softirq_blame.unwrap().ns, 50);
}
