//! Answers of which the slowest take far longer on one side than on the other, where that is not judged: between the percentiles that are tested, or of few blocks.
//! One stall makes many slow answers, so this is said, and is no verdict.

use super::compare::Metric;
use crate::analyses::verdict::duration;
use crate::diff::said::verdict::Outcome;
use crate::diff::servers::{answers::LEDGER, clients::server_of};
use crate::stat::Distribution;

/// Fewest answers on each side.
const LEAST: u64 = 100;
/// Fewest answers after that took longer than any before: of a hundred answers the slowest hundredth are two, and which side these are on is a toss.
const BEYOND: u64 = 6;
/// So many times as long, and so much longer, ns, is the p99 after.
const TIMES: i64 = 10;
const LONGER_NS: i64 = 10_000_000;
/// So many times as long is the p90 after, where a tenth of the answers took longer than any before.
const TENTH_TIMES: i64 = 2;
/// And so much longer, ns.
const TENTH_LONGER_NS: i64 = 500_000;
/// Servers told.
const TOLD: usize = 2;

/// Answers after that surely took longer than any before.
fn beyond(most: i64, after: &Distribution) -> u64 {
    let bins = after.histogram.iter().filter(|b| b.lo_ns > most);
    bins.map(|b| b.count).sum()
}

/// The slowest hundredth after took longer than any before, many times as long as its slowest hundredth.
fn longer(before: &Distribution, after: &Distribution) -> bool {
    let Some(((b, a), most)) = before.p99_ns.zip(after.p99_ns).zip(before.max_ns) else {
        return false;
    };
    let enough = before.n.min(after.n) >= LEAST && beyond(most, after) >= BEYOND;
    enough && a > most && a >= b.saturating_mul(TIMES) && a.saturating_sub(b) >= LONGER_NS
}

/// A tenth after took longer than any before, and that is much.
fn a_tenth(before: &Distribution, after: &Distribution) -> bool {
    let Some(((b, a), most)) = before.p90_ns.zip(after.p90_ns).zip(before.max_ns) else {
        return false;
    };
    let enough = before.n.min(after.n) >= LEAST;
    enough && a > most && a >= b.saturating_mul(TENTH_TIMES) && a.saturating_sub(b) >= TENTH_LONGER_NS
}

/// A figure of a distribution by the name that is printed.
type Figure = (&'static str, fn(&Distribution) -> Option<i64>);

/// `p90 610.9 us -> 1.68 ms, max 1.36 ms -> 9.86 ms, n 654 -> 654`
fn figures(m: &Metric, of: &[Figure]) -> String {
    let ns = |ns: Option<i64>| ns.map_or_else(|| "-".into(), duration);
    let each = of
        .iter()
        .map(|(name, value)| format!("{name} {} -> {}, ", ns(value(&m.before)), ns(value(&m.after))));
    format!("{}n {} -> {}", each.collect::<String>(), m.before.n, m.after.n)
}

const ALL: [Figure; 4] = [
    ("p50", |d| d.p50_ns),
    ("p90", |d| d.p90_ns),
    ("p99", |d| d.p99_ns),
    ("max", |d| d.max_ns),
];
const SLOWEST: [Figure; 2] = [("p99", |d| d.p99_ns), ("max", |d| d.max_ns)];

fn server(m: &Metric) -> &str {
    m.which.service.as_deref().unwrap_or("all servers")
}

/// What is no chance, and below its threshold, is no stall.
fn surely(m: &Metric) -> bool {
    m.shifts.iter().any(|s| s.percent == 90 && s.significant)
}

/// Of which percentile it would be told that the slowest are slower after, or were before.
pub(super) fn told(m: &Metric, outcome: Outcome) -> Option<u64> {
    let (x, y) = match outcome {
        Outcome::Better => (&m.after, &m.before),
        _ => (&m.before, &m.after),
    };
    match (!surely(m) && a_tenth(x, y), longer(x, y)) {
        (true, _) => Some(90),
        (_, true) => Some(99),
        _ => None,
    }
}

fn words(m: &Metric) -> Option<String> {
    let server = server(m);
    if !surely(m) && a_tenth(&m.before, &m.after) {
        return Some(format!(
            "A tenth of the answers from {server} took longer than any before: {}; by the test of chance that may be single stalls, so it is not judged: see the slow ones in a report of each.",
            figures(m, &ALL)
        ));
    }
    longer(&m.before, &m.after).then(|| {
        format!(
            "The slowest answers from {server} take far longer: {}; not judged, since one stall makes many of them: see the slow ones in a report of each.",
            figures(m, &SLOWEST)
        )
    })
}

/// The other way round: slow answers that are gone.
fn words_gone(m: &Metric) -> Option<String> {
    let server = server(m);
    if !surely(m) && a_tenth(&m.after, &m.before) {
        return Some(format!(
            "A tenth of the answers from {server} took longer before than any after: {}; by the test of chance that may have been single stalls, so it is not judged: see the slow ones in a report of each.",
            figures(m, &ALL)
        ));
    }
    longer(&m.after, &m.before).then(|| {
        format!(
            "The slowest answers from {server} take far less long: {}; not judged, since one stall makes many of them: see the slow ones in a report of each.",
            figures(m, &SLOWEST)
        )
    })
}

/// Behind a slowest hundredth that is judged: that it is a tenth, which by itself is not.
pub(in crate::diff) fn beside(m: &Metric) -> String {
    let judged = |percent: u64| {
        let of = |s: &&super::compare::Shift| s.percent == percent && s.outcome != Outcome::Same;
        m.shifts.iter().any(|s| of(&s))
    };
    if !judged(99) || judged(90) || judged(50) {
        return String::new();
    }
    let when = match (a_tenth(&m.before, &m.after), a_tenth(&m.after, &m.before)) {
        (true, _) => "longer than any before",
        (_, true) => "longer before than any after",
        _ => return String::new(),
    };
    let ns = |ns: Option<i64>| ns.map_or_else(|| "-".into(), duration);
    let each = ALL.iter().take(2);
    let each = each.map(|(name, value)| format!("{name} {} -> {}", ns(value(&m.before)), ns(value(&m.after))));
    format!(
        "; a tenth of them took {when} ({})",
        each.collect::<Vec<_>>().join(", ")
    )
}

fn of_servers(metrics: &[Metric], words: fn(&Metric) -> Option<String>) -> Vec<String> {
    let told = asked(metrics);
    let of = metrics
        .iter()
        .zip(told)
        .filter(|(m, told)| *told && m.outcome == Outcome::Same);
    of.filter_map(|(m, _)| words(m)).take(TOLD).collect()
}

/// Which metrics tell how long who asks a server waits: its answers, and of one whose clients are not recorded what it takes itself.
pub(super) fn asked(metrics: &[Metric]) -> Vec<bool> {
    let is = |m: &Metric, stage: &str| m.which.ledger == LEDGER && m.which.stage == stage;
    let alone = |m: &Metric| {
        let own =
            |o: &Metric| is(o, "response") && o.which.service.as_deref().map(server_of) == m.which.service.as_deref();
        is(m, "turnaround") && !metrics.iter().any(own)
    };
    metrics.iter().map(|m| is(m, "response") || alone(m)).collect()
}

/// A sentence for each server whose slow answers are new.
pub(in crate::diff) fn said(metrics: &[Metric]) -> Vec<String> {
    of_servers(metrics, words)
}

/// And for each whose slow answers are gone.
pub(in crate::diff) fn gone(metrics: &[Metric]) -> Vec<String> {
    of_servers(metrics, words_gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of so many answers of 0.2 ms a part took that many ms.
    fn answers(n: u64, slow: u64, ms: i64) -> Distribution {
        let one = |i: u64| if i < slow { ms * 1_000_000 + i as i64 } else { 200_000 };
        Distribution::of((0..n).map(one).collect(), 0)
    }

    #[test]
    fn a_tail_that_was_not_there_is_told() {
        let usual = answers(230, 3, 1);
        assert!(longer(&usual, &answers(238, 14, 88)));
        // One of them; a tail as before; shorter; too few; not by much.
        assert!(!longer(&usual, &answers(238, 1, 88)));
        assert!(!longer(&answers(230, 1, 90), &answers(238, 14, 88)));
        assert!(!longer(&answers(238, 14, 88), &usual));
        assert!(!longer(&usual, &answers(90, 14, 88)));
        assert!(!longer(&usual, &answers(238, 14, 9)));
        // Two of a hundred, and five, are chance as much; six are not, nor the slowest hundredth of 500.
        assert!(!longer(&answers(100, 1, 1), &answers(100, 2, 88)));
        assert!(!longer(&usual, &answers(238, 5, 88)));
        assert!(longer(&usual, &answers(238, 6, 88)) && longer(&answers(500, 3, 1), &answers(500, 6, 88)));
    }

    #[test]
    fn a_tenth_beyond_all_before_is_told() {
        let usual = answers(230, 3, 1);
        assert!(a_tenth(&usual, &answers(238, 30, 3)));
        // Fewer than a tenth; no longer than the longest before; too few.
        assert!(!a_tenth(&usual, &answers(238, 20, 3)));
        assert!(!a_tenth(&answers(230, 1, 4), &answers(238, 30, 3)));
        assert!(!a_tenth(&usual, &answers(90, 30, 3)));
        // Longer than any, and by nothing that anyone minds.
        let short = |n: u64, slow: u64, ns: i64| {
            Distribution::of((0..n).map(|i| if i < slow { ns } else { 20_000 }).collect(), 0)
        };
        assert!(!a_tenth(&short(230, 3, 30_000), &short(238, 30, 50_000)));
    }

    #[test]
    fn a_tenth_is_told_behind_the_hundredth_that_is_judged() {
        let f = crate::tests::facts("rpc/rpc.nmb");
        let d = crate::diff::compare(&[&f], &[&f], &Default::default());
        let mut m = d.metrics.into_iter().find(|m| m.which.stage == "response").unwrap();
        (m.before, m.after) = (answers(600, 3, 1), answers(600, 80, 3));
        let one = m.shifts[0].clone();
        let shift = |percent, outcome| {
            let mut s = one.clone();
            (s.percent, s.outcome) = (percent, outcome);
            s
        };
        m.shifts = vec![shift(90, Outcome::Same), shift(99, Outcome::Worse)];
        let told = "; a tenth of them took longer than any before (p50 200.0 \u{b5}s -> 200.0 \u{b5}s, p90 200.0 \u{b5}s -> 3.00 ms)";
        assert_eq!(beside(&m), told);
        m.shifts[0].outcome = Outcome::Worse;
        assert_eq!(beside(&m), "");
        m.shifts = vec![shift(99, Outcome::Same)];
        assert_eq!(beside(&m), "");
    }

    #[test]
    fn what_is_no_chance_is_not_said_to_be_one() {
        let f = crate::tests::facts("rpc/rpc.nmb");
        let d = crate::diff::compare(&[&f], &[&f], &Default::default());
        let mut m = d.metrics.into_iter().find(|m| m.which.stage == "response").unwrap();
        (m.before, m.after) = (answers(230, 3, 1), answers(238, 30, 3));
        assert!(words(&m).is_some_and(|w| w.contains("by the test of chance")));
        // The other way round, and never both.
        assert_eq!(words_gone(&m), None);
        std::mem::swap(&mut m.before, &mut m.after);
        assert!(words_gone(&m).is_some_and(|w| w.contains("took longer before than any after: p50")));
        assert_eq!(words(&m), None);
        std::mem::swap(&mut m.before, &mut m.after);
        for s in m.shifts.iter_mut().filter(|s| s.percent == 90) {
            s.significant = true;
        }
        assert_eq!(words(&m), None);
    }
}
