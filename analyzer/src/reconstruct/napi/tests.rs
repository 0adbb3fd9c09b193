use super::tables::{PollContext, PollRow};
use crate::Confidence;
use crate::testing::{Ctx, N, S, Script};

const T: u64 = 1_000_000;

fn poll(s: &mut Script, t: u64, cpu: usize, ctx: Ctx, work: u64, budget: u64) {
    let v = [
        ("napi", N(0xffff_8880_0000_1000)),
        ("dev_name", S("eth0")),
        ("work", N(work)),
        ("budget", N(budget)),
    ];
    s.ev(T + t, cpu, ctx, "napi:napi_poll", &v);
}
fn soft(s: &mut Script, t: u64, cpu: usize, what: &str, vec: u64) {
    let key = format!("irq:softirq_{what}");
    s.ev(T + t, cpu, Ctx::Soft(4), &key, &[("vec", N(vec))]);
}
fn rows(s: &Script) -> Vec<PollRow> {
    s.facts().polls
}

/// 3c: `napi_poll` fires when the poll returns; the first began with the run, the next where the last ended.
#[test]
fn napi_poll_is_an_end() {
    let mut s = Script::new("6.18.44", &[]);
    soft(&mut s, 10, 0, "entry", 3);
    poll(&mut s, 25, 0, Ctx::Soft(4), 3, 64);
    poll(&mut s, 40, 0, Ctx::Soft(4), 64, 64);
    soft(&mut s, 50, 0, "exit", 3);
    let r = rows(&s);
    let spans: Vec<_> = r
        .iter()
        .map(|p| (p.start_ns.map(|s| s as u64 - T), p.end_ns as u64 - T, p.nth))
        .collect();
    assert_eq!(spans, [(Some(10), 25, Some(0)), (Some(25), 40, Some(1))]);
    assert!(r.iter().all(|p| p.confidence == Confidence::Strong));
    assert!(r.iter().all(|p| p.context == PollContext::Softirq));
    assert_eq!(
        (r[1].work, r[1].budget, r[1].dev.text()),
        (Some(64), Some(64), "eth0".into())
    );
}

/// Threaded NAPI and busy polling: no softirq, so no start.
#[test]
fn a_poll_in_a_task_has_no_start() {
    let mut s = Script::new("6.18.44", &[]);
    poll(&mut s, 25, 0, Ctx::Task(77), 1, 8);
    let r = rows(&s);
    assert_eq!(
        (r[0].context, r[0].start_ns, r[0].nth, r[0].confidence),
        (PollContext::Task, None, None, Confidence::Unknown)
    );
}

/// A poll in a run of another vector (netpoll in TIMER) does not start with that run.
#[test]
fn a_poll_in_another_vector_has_no_start() {
    let mut s = Script::new("6.18.44", &[]);
    soft(&mut s, 10, 0, "entry", 1);
    poll(&mut s, 25, 0, Ctx::Soft(4), 1, 64);
    let r = rows(&s);
    assert_eq!((r[0].context, r[0].start_ns), (PollContext::Unknown, None));
}

#[test]
fn after_a_loss_the_start_is_not_known() {
    let mut s = Script::new("6.18.44", &[]);
    soft(&mut s, 10, 0, "entry", 3);
    s.lost(0, None);
    poll(&mut s, 25, 0, Ctx::Soft(4), 1, 64);
    assert_eq!(rows(&s)[0].start_ns, None);
}

/// Before 4.8 the event has no work and no budget: empty, not 0 and not exhausted.
#[test]
fn work_that_was_not_recorded_is_empty() {
    let mut s = Script::new("6.18.44", &[]);
    s.drop_field("napi:napi_poll", "work");
    s.drop_field("napi:napi_poll", "budget");
    poll(&mut s, 25, 0, Ctx::Soft(4), 1, 64);
    let f = s.facts();
    assert_eq!((f.polls[0].work, f.polls[0].budget), (None, None));
    let tables = f.tables();
    let t = tables.iter().find(|t| t.name() == "polls").unwrap();
    let exhausted = t.columns().iter().position(|c| c.name == "exhausted").unwrap();
    assert_eq!(t.cell(0, exhausted), crate::table::Cell::Null);
}

/// 3c: a poll of full weight flushes GRO behind its end marker; what that delivers is its own, and the next poll begins there.
#[test]
fn the_flush_behind_a_full_poll_is_its_own() {
    let receive = |s: &mut Script, t: u64| {
        s.ev(T + t, 0, Ctx::Soft(4), "net:netif_receive_skb", &[]);
    };
    let mut s = Script::new("6.18.44", &[]);
    soft(&mut s, 10, 0, "entry", 3);
    receive(&mut s, 12); // inside the first poll
    poll(&mut s, 25, 0, Ctx::Soft(4), 64, 64);
    receive(&mut s, 27);
    receive(&mut s, 29);
    s.ev(T + 31, 0, Ctx::Soft(4), "net:napi_gro_receive_entry", &[]);
    receive(&mut s, 33); // of the next
    poll(&mut s, 40, 0, Ctx::Soft(4), 1, 64);
    soft(&mut s, 50, 0, "exit", 3);
    let f = s.facts();
    let ends: Vec<_> = f.polls.iter().map(|p| p.flush_end_ns.map(|t| t as u64 - T)).collect();
    assert_eq!(ends, [Some(29), None]);
    assert_eq!(f.polls[1].start_ns, Some((T + 29) as i64));
    let ran = super::Ran::new(&f.softirqs, &f.polls);
    let nth = |t: u64| ran.poll(0, (T + t) as i64).and_then(|p| p.nth);
    assert_eq!([12, 27, 29, 33].map(nth), [Some(0), Some(0), Some(0), Some(1)]);
    assert_eq!((nth(9), nth(41), ran.poll(7, T as i64)), (None, None, None));
    assert_eq!(ran.softirq(0, (T + 10) as i64).unwrap().vec, 3);
    assert_eq!(ran.softirq(0, (T + 11) as i64), None);
}

/// The backlog has no GRO entry: packets between two of its polls may be either's.
#[test]
fn packets_before_a_backlog_poll_are_nobodys_flush() {
    let mut s = Script::new("6.18.44", &[]);
    soft(&mut s, 10, 0, "entry", 3);
    poll(&mut s, 25, 0, Ctx::Soft(4), 64, 64);
    s.ev(T + 30, 0, Ctx::Soft(4), "net:netif_receive_skb", &[]);
    let v = [("dev_name", S("(no_device)")), ("work", N(1)), ("budget", N(64))];
    s.ev(T + 40, 0, Ctx::Soft(4), "napi:napi_poll", &v);
    let r = rows(&s);
    assert_eq!((r[0].flush_end_ns, r[1].start_ns), (None, Some((T + 25) as i64)));
}

/// Who polls outside softirq: the NAPI's own thread, a task with the busy poll's budget, or nobody known (netpoll).
#[test]
fn who_polls() {
    let mut s = Script::new("6.18.44", &[]);
    let next = [
        ("prev_pid", N(1)),
        ("next_pid", N(77)),
        ("next_comm", S("napi/eth0-257")),
    ];
    s.ev(T, 0, Ctx::Task(1), "sched:sched_switch", &next);
    poll(&mut s, 10, 0, Ctx::Flags(0x80, 77), 1, 64);
    poll(&mut s, 20, 0, Ctx::Flags(0x80, 1), 1, 8);
    poll(&mut s, 30, 0, Ctx::Task(1), 0, 0);
    s.ev(T + 35, 0, Ctx::Hard(1), "irq:irq_handler_entry", &[("name", S("eth0"))]);
    soft(&mut s, 40, 0, "entry", 3);
    poll(&mut s, 50, 0, Ctx::Soft(4), 1, 64);
    soft(&mut s, 60, 0, "exit", 3);
    let who: Vec<_> = rows(&s).iter().map(|p| p.run_by.word()).collect();
    assert_eq!(who, ["threaded_napi", "busy_poll", "unknown", "irq_tail"]);
    let f = s.facts();
    let ran = super::Ran::new(&f.softirqs, &f.polls);
    let by = |softirq: Option<u64>, t: u64| ran.run_by(0, softirq.map(|t| (T + t) as i64), (T + t) as i64).word();
    assert_eq!(
        [by(None, 15), by(Some(40), 45), by(None, 45)],
        ["busy_poll", "irq_tail", "unknown"]
    );
}

/// A NAPI thread is woken, waits behind another task and polls; the next time its CPU is idle and nothing tells when it began to run.
#[test]
fn a_napi_thread_waits_for_its_cpu() {
    let mut s = Script::new("6.18.44", &[]);
    let switch = |s: &mut Script, t: u64, prev: (i32, &'static str, u64), next: (i32, &'static str)| {
        let v = [
            ("prev_pid", N(prev.0 as u64)),
            ("prev_comm", S(prev.1)),
            ("prev_state", N(prev.2)),
            ("next_pid", N(next.0 as u64)),
            ("next_comm", S(next.1)),
        ];
        s.ev(T + t, 0, Ctx::Task(prev.0), "sched:sched_switch", &v);
    };
    let wake = |s: &mut Script, t: u64| {
        let v = [("pid", N(77)), ("comm", S("napi/eth0-5")), ("target_cpu", N(0))];
        s.ev(T + t, 1, Ctx::Hard(0), "sched:sched_waking", &v);
        s.ev(T + t + 1_000, 0, Ctx::Hard(0), "sched:sched_wakeup", &v);
    };
    poll(&mut s, 10, 0, Ctx::Task(77), 1, 64);
    switch(&mut s, 1_000, (77, "napi/eth0-5", 1), (9, "burn"));
    wake(&mut s, 1_000_000);
    switch(&mut s, 31_000_000, (9, "burn", 0), (77, "napi/eth0-5"));
    poll(&mut s, 31_020_000, 0, Ctx::Task(77), 1, 64);
    switch(&mut s, 31_030_000, (77, "napi/eth0-5", 1), (0, "swapper/0"));
    let f = s.facts();
    let told: Vec<_> = f.polls.iter().map(|p| p.threaded.as_deref().unwrap()).collect();
    assert_eq!(told[0].wait_ns, None, "the poll before it is not recorded");
    assert_eq!(
        (told[1].wait_ns, told[1].behind.text()),
        (Some(30_000_000), "burn".into())
    );
    assert_eq!((told[1].pid, told[1].task.text()), (77, "napi/eth0-5".into()));
}
