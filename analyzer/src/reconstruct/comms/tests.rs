use super::Comms;
use crate::ingest::Trace;
use crate::testing::{Ctx, N, S, Script};

fn comms(s: &Script, saved: &[(i32, &str)]) -> Comms {
    let mut c = s.capture();
    c.comms = saved.iter().map(|(p, n)| (*p, n.to_string())).collect();
    Comms::read(&Trace::read(&c, &Default::default()), &c)
}
fn switch(s: &mut Script, ts: u64, prev: (u64, &'static str), next: (u64, &'static str)) {
    let v = [
        ("prev_pid", N(prev.0)),
        ("prev_comm", S(prev.1)),
        ("next_pid", N(next.0)),
        ("next_comm", S(next.1)),
    ];
    s.ev(ts, 0, Ctx::Task(prev.0 as i32), "sched:sched_switch", &v);
}

/// exec: the name before it and the name after it both hold, each in its time.
#[test]
fn the_latest_statement_before_the_question_counts() {
    let mut s = Script::new("6.18.44", &[]);
    switch(&mut s, 100, (1, "init"), (7, "sh"));
    switch(&mut s, 200, (7, "curl"), (1, "init"));
    let c = comms(&s, &[(7, "later")]);
    assert_eq!(c.at(7, 100).text(), "sh");
    assert_eq!(c.at(7, 199).text(), "sh");
    assert_eq!(c.at(7, 200).text(), "curl");
    assert_eq!(c.at(7, 10_000).text(), "curl");
}

#[test]
fn before_the_first_statement_the_first_counts() {
    let mut s = Script::new("6.18.44", &[]);
    switch(&mut s, 100, (1, "init"), (7, "sh"));
    assert_eq!(comms(&s, &[]).at(7, 5).text(), "sh");
}

#[test]
fn saved_names_fill_in_and_strangers_have_none() {
    let mut s = Script::new("6.18.44", &["sched:sched_switch"]);
    s.ev(1, 0, Ctx::Task(1), "napi:napi_poll", &[]);
    let c = comms(&s, &[(9, "saved")]);
    assert_eq!(c.at(9, 50).text(), "saved");
    assert!(c.at(10, 50).is_empty());
}

/// TASK_COMM_LEN is 16 with its NUL; a name that fills the field has no NUL.
#[test]
fn long_and_odd_names_are_kept_as_they_are() {
    let mut s = Script::new("6.18.44", &[]);
    switch(&mut s, 100, (1, "0123456789abcdef"), (7, "a b;\u{7}"));
    let c = comms(&s, &[]);
    assert_eq!(c.at(1, 100).text(), "0123456789abcdef");
    assert_eq!(c.at(7, 100).text(), "a b;\u{7}");
}
