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
