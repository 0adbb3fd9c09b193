use super::tables::SoftirqRow;
use crate::Confidence;
use crate::reconstruct::context::RunBy;
use crate::testing::{Ctx, N, S, Script};

mod wait;

const T: u64 = 1_000_000;

fn script() -> Script {
    Script::new("6.18.44", &[])
}
fn soft(s: &mut Script, t: u64, cpu: usize, ctx: Ctx, what: &str, vec: u64) {
    s.ev(T + t, cpu, ctx, &format!("irq:softirq_{what}"), &[("vec", N(vec))]);
}
fn rows(s: &Script) -> Vec<SoftirqRow> {
    s.facts().softirqs
}

#[test]
fn a_run_has_its_raise_its_end_and_the_interrupts_inside() {
    let mut s = script();
    s.ev(T, 0, Ctx::Hard(4), "irq:irq_handler_entry", &[("name", S("eth0"))]);
    soft(&mut s, 5, 0, Ctx::Hard(4), "raise", 3);
    s.ev(T + 6, 0, Ctx::Hard(4), "irq:irq_handler_exit", &[]);
    soft(&mut s, 10, 0, Ctx::Soft(4), "entry", 3);
    s.ev(T + 12, 0, Ctx::Hard(4), "irq:irq_handler_entry", &[("name", S("eth0"))]);
    s.ev(T + 15, 0, Ctx::Hard(4), "irq:irq_handler_exit", &[]);
    soft(&mut s, 30, 0, Ctx::Soft(4), "exit", 3);
    let r = rows(&s);
    assert_eq!(r.len(), 1);
    let t = |d: u64| (T + d) as i64;
    assert_eq!(
        (r[0].raise_ns, r[0].start_ns, r[0].end_ns),
        (Some(t(5)), t(10), Some(t(30)))
    );
    assert_eq!((r[0].irq_ns, r[0].run_by, r[0].pid), (Some(3), RunBy::IrqTail, 4));
    assert_eq!(r[0].confidence, Confidence::Certain);
}

/// Where hard interrupts were not recorded, their time inside a run is unknown, not 0.
#[test]
fn interrupts_inside_are_unknown_when_none_were_recorded() {
    let mut s = script();
    soft(&mut s, 10, 0, Ctx::Soft(4), "entry", 3);
    soft(&mut s, 30, 0, Ctx::Soft(4), "exit", 3);
    assert_eq!(rows(&s)[0].irq_ns, None);
}

/// 3c: who runs it. ksoftirqd by its name, a task by the context of its raise, else unknown.
#[test]
fn who_runs_a_softirq() {
    let mut s = script();
    let v = [("prev_pid", N(4)), ("next_pid", N(15)), ("next_comm", S("ksoftirqd/0"))];
    s.ev(T, 0, Ctx::Task(4), "sched:sched_switch", &v);
    soft(&mut s, 5, 0, Ctx::Hard(15), "raise", 3);
    soft(&mut s, 10, 0, Ctx::Soft(15), "entry", 3);
    soft(&mut s, 11, 0, Ctx::Soft(15), "exit", 3);
    soft(&mut s, 20, 0, Ctx::Task(4), "raise", 3);
    soft(&mut s, 21, 0, Ctx::Soft(4), "entry", 3);
    soft(&mut s, 22, 0, Ctx::Soft(4), "exit", 3);
    // Long behind the last exit, with no sign of what ran it.
    soft(&mut s, 20_030, 0, Ctx::Soft(4), "entry", 1);
    soft(&mut s, 20_031, 0, Ctx::Soft(4), "exit", 1);
    let who: Vec<RunBy> = rows(&s).iter().map(|r| r.run_by).collect();
    assert_eq!(who, [RunBy::Ksoftirqd, RunBy::BhEnable, RunBy::Unknown]);
}

/// No raise per poll: what was already pending when the recording began has no wait, not a wait of 0.
#[test]
fn a_run_without_a_raise_has_no_wait() {
    let mut s = script();
    soft(&mut s, 10, 0, Ctx::Soft(4), "entry", 3);
    soft(&mut s, 30, 0, Ctx::Soft(4), "exit", 3);
    assert_eq!(rows(&s)[0].raise_ns, None);
}

/// `handle_softirqs` loops: several runs back to back are several rows, each with its own raise.
#[test]
fn back_to_back_runs_are_apart() {
    let mut s = script();
    soft(&mut s, 1, 0, Ctx::Hard(4), "raise", 3);
    soft(&mut s, 10, 0, Ctx::Soft(4), "entry", 3);
    soft(&mut s, 19, 0, Ctx::Soft(4), "raise", 3);
    soft(&mut s, 20, 0, Ctx::Soft(4), "exit", 3);
    soft(&mut s, 21, 0, Ctx::Soft(4), "entry", 3);
    soft(&mut s, 40, 0, Ctx::Soft(4), "exit", 3);
    let raises: Vec<_> = rows(&s).iter().map(|r| r.raise_ns.map(|x| x as u64 - T)).collect();
    assert_eq!(raises, [Some(1), Some(19)]);
}

#[test]
fn ends_cut_off_by_the_recording_are_unknown() {
    let mut s = script();
    soft(&mut s, 5, 0, Ctx::Soft(4), "exit", 3); // no entry: no row
    soft(&mut s, 10, 0, Ctx::Soft(4), "entry", 3);
    let r = rows(&s);
    assert_eq!((r.len(), r[0].end_ns, r[0].confidence), (1, None, Confidence::Unknown));
}

/// An exit of another vector is not the end of this run; the run stays as one without an end.
#[test]
fn an_exit_of_another_vector_ends_nothing() {
    let mut s = script();
    soft(&mut s, 10, 0, Ctx::Soft(4), "entry", 3);
    soft(&mut s, 20, 0, Ctx::Soft(4), "exit", 1);
    let r = rows(&s);
    assert_eq!((r.len(), r[0].vec, r[0].end_ns), (1, 3, None));
}

/// A loss on one CPU cuts its run and no other CPU's.
#[test]
fn a_loss_cuts_the_run_of_its_cpu_only() {
    let mut s = script();
    soft(&mut s, 10, 0, Ctx::Soft(4), "entry", 3);
    soft(&mut s, 11, 1, Ctx::Soft(5), "entry", 3);
    s.lost(0, Some(9));
    soft(&mut s, 50, 0, Ctx::Soft(4), "exit", 3);
    soft(&mut s, 60, 1, Ctx::Soft(5), "exit", 3);
    let ends: Vec<_> = rows(&s).iter().map(|r| (r.cpu, r.end_ns.is_some())).collect();
    assert_eq!(ends, [(0, false), (1, true)]);
}

#[test]
fn without_its_events_the_table_is_empty_and_says_why() {
    let mut s = Script::new("6.18.44", &["irq:softirq_entry", "irq:softirq_exit"]);
    s.ev(T, 0, Ctx::Task(1), "irq:softirq_raise", &[("vec", N(3))]);
    let f = s.facts();
    assert!(f.softirqs.is_empty());
    let why: Vec<_> = f.unknown.iter().filter(|r| r.subject == "softirqs").collect();
    assert_eq!(why.len(), 2, "{why:?}");
}
