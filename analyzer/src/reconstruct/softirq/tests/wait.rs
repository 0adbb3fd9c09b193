//! What kept a softirq waiting: the parts sum to the wait, and each goes to what had the CPU.

use super::{T, rows, script, soft};
use crate::reconstruct::context::{Part, RunBy};
use crate::reconstruct::softirq::tables::SoftirqRow;
use crate::testing::{Ctx, N, S, Script};

/// Task with bottom halves off; hard interrupt in such a section.
const BH: u8 = 0x80;
const HARD_BH: u8 = 0x88;

fn parts(r: &SoftirqRow) -> Vec<(&'static str, i64)> {
    let wait = r.wait.unwrap();
    assert_eq!(wait.iter().sum::<i64>(), r.start_ns - r.raise_ns.unwrap());
    let of = Part::ALL.iter().zip(wait).filter(|(_, ns)| *ns != 0);
    of.map(|(p, ns)| (p.word(), ns)).collect()
}
fn switch(s: &mut Script, t: u64, prev: (u64, &'static str, u64), next: (u64, &'static str)) {
    let v = [
        ("prev_pid", N(prev.0)),
        ("prev_comm", S(prev.1)),
        ("prev_state", N(prev.2)),
        ("next_pid", N(next.0)),
        ("next_comm", S(next.1)),
    ];
    s.ev(T + t, 0, Ctx::Task(prev.0 as i32), "sched:sched_switch", &v);
}
fn irq(s: &mut Script, from: u64, to: u64, flags: u8, name: &'static str) {
    s.ev(
        T + from,
        0,
        Ctx::Flags(flags, 4),
        "irq:irq_handler_entry",
        &[("name", S(name))],
    );
    s.ev(T + to, 0, Ctx::Flags(flags, 4), "irq:irq_handler_exit", &[]);
}

/// Raised by an interrupt in a plain task: the interrupt's rest and its way out are all the wait.
#[test]
fn at_the_tail_of_its_interrupt() {
    let mut s = script();
    s.ev(T, 0, Ctx::Hard(4), "irq:irq_handler_entry", &[("name", S("eth0"))]);
    soft(&mut s, 5, 0, Ctx::Hard(4), "raise", 3);
    s.ev(T + 600, 0, Ctx::Hard(4), "irq:irq_handler_exit", &[]);
    soft(&mut s, 800, 0, Ctx::Soft(4), "entry", 3);
    let r = &rows(&s)[0];
    assert_eq!(parts(r), [("irq", 795)]);
    assert_eq!(
        (r.run_by, r.blame.unwrap().text()),
        (RunBy::IrqTail, "irq: eth0".into())
    );
}

/// The interrupt hit a section with bottom halves off: the task has to leave it first, and then runs the softirq itself.
#[test]
fn behind_a_task_with_bottom_halves_off() {
    let mut s = script();
    switch(&mut s, 0, (0, "swapper/0", 0), (4, "iperf3"));
    s.ev(
        T + 10,
        0,
        Ctx::Flags(HARD_BH, 4),
        "irq:irq_handler_entry",
        &[("name", S("eth0"))],
    );
    soft(&mut s, 20, 0, Ctx::Flags(HARD_BH, 4), "raise", 3);
    s.ev(T + 30, 0, Ctx::Flags(HARD_BH, 4), "irq:irq_handler_exit", &[]);
    s.ev(T + 1_000, 0, Ctx::Flags(BH, 4), "skb:consume_skb", &[]);
    soft(&mut s, 9_030, 0, Ctx::Soft(4), "entry", 3);
    let r = &rows(&s)[0];
    assert_eq!(parts(r), [("irq", 10), ("bh_off", 9_000)]);
    let b = r.blame.unwrap();
    assert_eq!(
        (r.run_by, b.text(), b.ns),
        (RunBy::BhEnable, "bh_off: iperf3".into(), 9_000)
    );
}

/// The CPU left idle and no sched_switch told (a guest's second CPU): who ran in between is not known, and nobody is blamed.
#[test]
fn an_untold_switch_blames_nobody() {
    let mut s = script();
    switch(&mut s, 0, (4, "iperf3", 1), (0, "swapper/0"));
    soft(&mut s, 100, 0, Ctx::Task(0), "raise", 3);
    // 5 us idle, then another thread's events.
    s.ev(T + 5_100, 0, Ctx::Task(0), "skb:consume_skb", &[]);
    s.ev(T + 90_000, 0, Ctx::Task(9), "skb:consume_skb", &[]);
    soft(&mut s, 91_000, 0, Ctx::Soft(9), "entry", 3);
    let r = &rows(&s)[0];
    assert_eq!(parts(r), [("task", 1_000), ("idle", 5_000), ("unknown", 84_900)]);
    assert_eq!(r.blame.unwrap().text(), "unknown");
}

/// Raised by the task itself inside a section with bottom halves off (a loopback transmit).
#[test]
fn raised_by_the_task_that_runs_it() {
    let mut s = script();
    soft(&mut s, 10, 0, Ctx::Flags(BH, 4), "raise", 3);
    s.ev(T + 50, 0, Ctx::Flags(BH, 4), "net:net_dev_xmit", &[]);
    soft(&mut s, 70, 0, Ctx::Soft(4), "entry", 3);
    let r = &rows(&s)[0];
    assert_eq!((parts(r), r.run_by), (vec![("bh_off", 60)], RunBy::BhEnable));
}

/// Another vector runs first; an interrupt on top of it is the interrupt's.
#[test]
fn behind_another_vector() {
    let mut s = script();
    irq(&mut s, 1, 3, 0x08, "timer");
    soft(&mut s, 4, 0, Ctx::Hard(4), "raise", 1);
    soft(&mut s, 5, 0, Ctx::Hard(4), "raise", 3);
    soft(&mut s, 100, 0, Ctx::Soft(4), "entry", 1);
    irq(&mut s, 200, 260, 0x18, "eth0");
    soft(&mut s, 1_000, 0, Ctx::Soft(4), "exit", 1);
    soft(&mut s, 1_010, 0, Ctx::Soft(4), "entry", 3);
    soft(&mut s, 1_020, 0, Ctx::Soft(4), "exit", 3);
    let r = rows(&s);
    assert_eq!(parts(&r[0]), [("irq", 96)]);
    assert_eq!(parts(&r[1]), [("irq", 95 + 60), ("softirq", 100 + 740 + 10)]);
    assert_eq!(r[1].blame.unwrap().text(), "softirq: TIMER");
    // One loop of handle_softirqs: one episode, run by the same.
    assert_eq!((r[1].episode_ns, r[1].run_by), (r[0].start_ns, RunBy::IrqTail));
}

/// Raised again inside its own run: the run has to end first.
#[test]
fn behind_its_own_run() {
    let mut s = script();
    soft(&mut s, 1, 0, Ctx::Hard(4), "raise", 3);
    soft(&mut s, 10, 0, Ctx::Soft(4), "entry", 3);
    soft(&mut s, 20, 0, Ctx::Soft(4), "raise", 3);
    soft(&mut s, 30, 0, Ctx::Soft(4), "exit", 3);
    soft(&mut s, 31, 0, Ctx::Soft(4), "entry", 3);
    let r = rows(&s);
    assert_eq!(parts(&r[1]), [("softirq", 11)]);
    assert_eq!(r[1].blame.unwrap().text(), "softirq: NET_RX");
}

/// Left to ksoftirqd: from its waking on the wait is its run queue's, and who ran instead is named.
#[test]
fn behind_the_run_queue_of_ksoftirqd() {
    let mut s = script();
    // Idle before: nothing is left of it that would want the CPU.
    switch(&mut s, 0, (4, "stress", 1), (0, "swapper/0"));
    switch(&mut s, 5, (0, "swapper/0", 0), (4, "stress"));
    soft(&mut s, 10, 0, Ctx::Hard(4), "raise", 3);
    soft(&mut s, 20, 0, Ctx::Soft(4), "entry", 3);
    soft(&mut s, 30, 0, Ctx::Soft(4), "raise", 3);
    soft(&mut s, 40, 0, Ctx::Soft(4), "exit", 3);
    let k = [("pid", N(15)), ("comm", S("ksoftirqd/0"))];
    s.ev(T + 50, 0, Ctx::Task(4), "sched:sched_waking", &k);
    s.ev(T + 60, 0, Ctx::Task(4), "sched:sched_wakeup", &k);
    irq(&mut s, 1_000, 1_100, 0x08, "eth0");
    switch(&mut s, 8_000, (4, "stress", 0), (15, "ksoftirqd/0"));
    soft(&mut s, 8_200, 0, Ctx::Soft(15), "entry", 3);
    let r = rows(&s);
    // 40..50 on the way out of the softirq; the interrupt's end left 1100..8000 to the task it interrupted.
    let want = [
        ("irq", 100),
        ("softirq", 10),
        ("ksoftirqd", 10 + 940 + 6_900 + 200),
        ("task", 10),
    ];
    assert_eq!(parts(&r[1]), want);
    assert_eq!(r[1].run_by, RunBy::Ksoftirqd);
    assert_eq!(r[1].blame.unwrap().text(), "ksoftirqd: stress");
    assert_eq!(r[1].episode_ns, r[1].start_ns);
}

/// A raise in a nameless interrupt (IPI) out of idle: the tail, not idle time.
#[test]
fn out_of_idle() {
    let mut s = script();
    switch(&mut s, 0, (4, "curl", 1), (0, "swapper/0"));
    soft(&mut s, 5_000, 0, Ctx::Hard(0), "raise", 3);
    soft(&mut s, 5_400, 0, Ctx::Soft(0), "entry", 3);
    let r = &rows(&s)[0];
    assert_eq!((parts(r), r.run_by), (vec![("irq", 400)], RunBy::IrqTail));
}

/// Before about 6.2 no event tells whether bottom halves were off: only a run at once is surely the interrupt's tail.
#[test]
fn without_the_flag_a_late_run_is_not_known_to_be_a_tail() {
    let mut s = script();
    soft(&mut s, 10, 0, Ctx::Hard(4), "raise", 3);
    soft(&mut s, 50_000, 0, Ctx::Soft(4), "entry", 3);
    assert_eq!(rows(&s)[0].run_by, RunBy::Unknown);
}

/// Behind a loss nothing of the wait is known.
#[test]
fn a_loss_inside_the_wait_leaves_none() {
    let mut s = script();
    soft(&mut s, 10, 0, Ctx::Hard(4), "raise", 3);
    s.lost(0, None);
    soft(&mut s, 50, 0, Ctx::Soft(4), "entry", 3);
    let r = &rows(&s)[0];
    assert_eq!((r.wait, r.blame, r.raise_ns), (None, None, None));
    assert_eq!(r.run_by, RunBy::Unknown);
}

/// `time_squeeze`: the budget is used up, or the run stops with a NAPI left that had not used its weight.
#[test]
fn squeezed_by_budget_or_time() {
    let poll = |s: &mut Script, t: u64, work: u64| {
        let v = [("work", N(work)), ("budget", N(64))];
        s.ev(T + t, 0, Ctx::Soft(4), "napi:napi_poll", &v);
    };
    let run = |polls: &[(u64, u64)], raise: bool| {
        let mut s = script();
        soft(&mut s, 0, 0, Ctx::Soft(4), "entry", 3);
        polls.iter().for_each(|(t, work)| poll(&mut s, *t, *work));
        let end = polls.last().unwrap().0 + 10;
        if raise {
            soft(&mut s, end, 0, Ctx::Soft(4), "raise", 3);
        }
        soft(&mut s, end + 1, 0, Ctx::Soft(4), "exit", 3);
        rows(&s)[0].squeezed
    };
    assert_eq!(
        run(&[(10, 64), (20, 64), (30, 64), (40, 64), (50, 64)], true),
        Some(true)
    ); // 320 >= 300
    assert_eq!(run(&[(10, 64), (20, 64)], true), Some(false)); // re-polled: used its weight
    assert_eq!(run(&[(10, 12)], true), Some(true)); // stopped, and a NAPI is left
    assert_eq!(run(&[(10, 12)], false), Some(false));
    // A run without a poll (only IPIs to send for RPS) is never asked; but without polls recorded nothing is known.
    let mut s = script();
    soft(&mut s, 0, 0, Ctx::Soft(4), "entry", 3);
    soft(&mut s, 10, 0, Ctx::Soft(4), "exit", 3);
    assert_eq!(rows(&s)[0].squeezed, None);
    poll(&mut s, 20, 1);
    assert_eq!(rows(&s)[0].squeezed, Some(false));
    assert_eq!(run(&[(1_500_000, 64)], true), None); // the jiffy's phase decides
    assert_eq!(run(&[(12_500_000, 64)], true), Some(true));
}
