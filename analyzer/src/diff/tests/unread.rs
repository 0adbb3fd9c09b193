//! Requests that lie unread longer, and who waits for their answers: planted by bytes and times.

use super::kinds::{MS, SERVER, answers};
use super::samples::{facts, of};
use crate::diff::judged::compare::Metric;
use crate::diff::judged::unread::moderate;
use crate::diff::values::moves::Moves;
use crate::diff::{DiffOptions, Outcome};

const US: i64 = 1_000;

/// p90 of the time unread, 86 us before and 167 us after.
fn metric(before: usize, after: usize) -> Metric {
    let f = facts("rpc/rpc.nmb");
    let mut m = (of(&f, &f).metrics.into_iter()).find(|m| m.which.is_unread()).unwrap();
    (m.which.service, m.outcome) = (Some(SERVER.into()), Outcome::Worse);
    (m.before.n, m.after.n) = (before as u64, after as u64);
    m.shifts.retain(|s| s.percent == 90);
    let s = &mut m.shifts[0];
    (s.before, s.after, s.shift, s.outcome) = (86 * US, 167 * US, 81 * US, Outcome::Worse);
    m
}

fn judged(before: Vec<Moves>, after: Vec<Moves>) -> (Outcome, bool) {
    let mut metrics = [metric(before.len(), after.len())];
    moderate(&mut metrics, &[before, after], &DiffOptions::default());
    (metrics[0].outcome, metrics[0].unfelt)
}

/// So many of twenty are of the slow kind (100 ms), the others take 1 ms and so much longer.
fn mixed(slow: i64, longer_ns: i64) -> Vec<Moves> {
    let longer = |m: Moves| {
        let by = if m.request == Some(100) { longer_ns } else { 0 };
        let ns = m.response_ns.map(|ns| ns + by);
        Moves { response_ns: ns, ..m }
    };
    answers(slow, 100 * MS, 5_000).into_iter().map(longer).collect()
}

#[test]
fn nobody_waits_longer_for_what_is_not_in_the_answers_of_any_size() {
    let changed = (Outcome::Changed, true);
    let worse = (Outcome::Worse, false);
    // More of the slow kind, and each as quick as before; of one mixture.
    assert_eq!(judged(mixed(2, 0), mixed(6, 0)), changed);
    assert_eq!(judged(mixed(2, 0), mixed(2, 0)), changed);
    // Answers of the quick kind are as much later, though it is less than their threshold: it is felt, and more so where it is more.
    for by in [45, 81, 700] {
        assert_eq!(judged(mixed(2, 0), mixed(6, by * US)), worse, "{by}");
    }
    // A part of it, less than half; and beside answers of which it is less than a twentieth.
    assert_eq!(judged(mixed(2, 0), mixed(6, 30 * US)), changed);
    assert_eq!(judged(mixed(2, 2 * MS), mixed(6, 2 * MS + 81 * US)), changed);
    // Few of the quick ones are much later: no other percentile of theirs shows it.
    let mut tail = mixed(6, 0);
    for m in tail.iter_mut().filter(|m| m.request == Some(100)).step_by(5) {
        m.response_ns = m.response_ns.map(|ns| ns + 5 * MS);
    }
    assert_eq!(judged(mixed(2, 0), tail), worse);
}

#[test]
fn it_is_worse_where_who_waits_is_not_known_or_waits_longer() {
    let worse = (Outcome::Worse, false);
    // Of no more than these it is known who asked.
    let known = |of: Vec<Moves>, nth: i64| -> Vec<Moves> {
        let unknown = |m: Moves| match m.at_ns / MS / 10 % nth {
            0 => Moves { response_ns: None, ..m },
            _ => m,
        };
        of.into_iter().map(unknown).collect()
    };
    assert_eq!(judged(known(mixed(2, 0), 5), mixed(6, 0)), worse);
    assert_eq!(judged(mixed(2, 0), known(mixed(6, 0), 5)), worse);
    // Of a size that the other side has not.
    let other = mixed(6, 0).into_iter().map(|m| Moves {
        request: m.request.map(|n| n * 2),
        ..m
    });
    assert_eq!(judged(mixed(2, 0), other.collect()), worse);
    // Its answers are worse by themselves.
    let n = mixed(2, 0).len();
    let mut answer = metric(n, n);
    answer.which.stage = "turnaround";
    let mut metrics = [metric(n, n), answer];
    moderate(&mut metrics, &[mixed(2, 0), mixed(2, 0)], &DiffOptions::default());
    assert_eq!(metrics[0].outcome, Outcome::Worse);
    // What comes again and again is of fewer than percentiles tell.
    let mut again = [metric(n, n)];
    again[0].recurs = true;
    moderate(&mut again, &[mixed(2, 0), mixed(2, 0)], &DiffOptions::default());
    assert_eq!(again[0].outcome, Outcome::Worse);
}
