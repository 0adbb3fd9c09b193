//! What is said: with reserve, where it is not known, and of nothing that is withheld.

use super::samples::{facts, of, planted};
use crate::diff::DiffOptions;
use crate::diff::Metric;
use crate::diff::Outcome;
use crate::diff::Window;
use crate::diff::compare;
use crate::diff::devices;
use crate::diff::empty_window;
use crate::diff::said::{lines::share, verdict::Judged};
use crate::facts::Facts;
use crate::reconstruct::receive::tables::{RxEnd, Stage};

#[test]
fn rates_alone_are_no_comparison() {
    let f = facts("sawtooth/sawtooth.nmb");
    let d = of(&f, &f);
    let options = DiffOptions::default();
    let judged = |metrics: &[Metric]| {
        Judged {
            causes: &[],
            reports: &Default::default(),
            speeds: &Default::default(),
            resent: &Default::default(),
            parity: &[],
            metrics,
            rates: &d.rates,
            breakdowns: &[],
            settings: &[],
            settings_of_one_side: (0, 0),
            servers: &Default::default(),
            counters: &[],
            recordings: (1, 1),
            options: &options,
        }
        .verdict()
    };
    assert_eq!(judged(&d.metrics).outcome, Outcome::Same);
    let v = judged(&[]);
    assert_eq!(v.outcome, Outcome::NotComparable);
    let only = format!("Only {} rates could be compared, no duration.", d.rates.len());
    assert!(v.sentence.contains(&only), "{v:?}");
    // Stages and softirqs alone say nothing of how long a packet took.
    let stages: Vec<Metric> = d.metrics.iter().filter(|m| m.which.stage != "total").cloned().collect();
    let v = judged(&stages);
    assert!(v.outcome == Outcome::Same && v.reserved, "{v:?}");
}

/// What holds back what it streams is worse without a test: then there is no chance of a false alarm to tell.
#[test]
fn a_chance_is_told_of_what_was_tested() {
    let (f, mut slow) = (facts("rpc/rpc.nmb"), facts("rpc/rpc.nmb"));
    planted(&mut slow, Stage::Copy, 50_000);
    let options = DiffOptions::default();
    let servers = crate::diff::servers::Servers {
        streams: vec![crate::diff::servers::streams::Streams {
            worse: true,
            sentence: "nginx holds back what it streams".into(),
        }],
        ..Default::default()
    };
    let said = |d: &crate::diff::Diff| {
        let v = Judged {
            causes: &[],
            reports: &Default::default(),
            speeds: &Default::default(),
            resent: &Default::default(),
            parity: &[],
            metrics: &d.metrics,
            rates: &d.rates,
            breakdowns: &[],
            settings: &[],
            settings_of_one_side: (0, 0),
            servers: &servers,
            counters: &[],
            recordings: (1, 1),
            options: &options,
        }
        .verdict();
        assert_eq!(v.outcome, Outcome::Worse);
        v.sentence.contains("Chance of a false alarm")
    };
    assert!(!said(&of(&f, &f)));
    assert!(said(&of(&f, &slow)));
}

#[test]
fn small_groups_say_no_difference_with_reserve() {
    let f = facts("rpc/rpc.nmb");
    let with = |n: usize| compare(&vec![&f; n], &vec![&f; n], &DiffOptions::groups()).verdict;
    for few in [2, 5] {
        let v = with(few);
        assert!(v.outcome == Outcome::Same && v.reserved, "{v:?}");
        let says = format!("{few} a side show only large changes");
        assert!(v.sentence.contains(&says), "{v:?}");
    }
    for enough in [1, 6] {
        let v = with(enough);
        assert!(v.outcome == Outcome::Same && !v.reserved, "{v:?}");
        assert!(!v.sentence.contains("a side"), "{v:?}");
    }
}

#[test]
fn no_difference_names_what_would_be_seen_of_retransmissions_and_drops() {
    let f = facts("sawtooth/sawtooth.nmb");
    let d = of(&f, &f);
    assert_eq!(d.verdict.outcome, Outcome::Same);
    for r in &d.rates {
        let least = r.minimum_detectable.unwrap() * 1e3;
        let named = d
            .verdict
            .sentence
            .contains(&format!("{} by {least:.2} in 1000", r.metric));
        assert_eq!(
            named,
            r.metric == "tcp.retransmits" || r.metric.starts_with("drops."),
            "{}: {}",
            r.metric,
            d.verdict.sentence
        );
    }
    assert!(d.rates.iter().any(|r| r.metric == "tcp.retransmits"));
}

/// A free of which nothing tells whether a packet was lost is called unclear here as in the report.
#[test]
fn a_drop_is_called_what_the_report_calls_it() {
    let f = facts("kernel-6.1/netem.nmb");
    let d = of(&f, &f);
    let drops = crate::analyses::drops::answer(&f);
    let groups = &drops.findings().unwrap().groups;
    let mut unclear = 0;
    for r in d.rates.iter().filter(|r| r.metric.starts_with("drops.")) {
        let named = |g: &&crate::analyses::drops::Group| {
            g.expected != Some(true) && [&g.reason, &g.location].contains(&&r.metric["drops.".len()..].to_owned())
        };
        let group = groups.iter().find(named).unwrap();
        let word = match group.expected {
            Some(_) => "packets lost, per skb",
            None => "unclear frees (nothing tells whether a packet was lost), per skb",
        };
        assert_eq!(r.meaning, word, "{}", r.metric);
        unclear += u64::from(group.expected.is_none());
    }
    assert!(unclear > 0, "the sample has segments to closed ports");
}

fn judged(shift: i64, interval: (i64, i64), p_adjusted: f64) -> Metric {
    let f = facts("rpc/rpc.nmb");
    let d = of(&f, &f);
    let mut m = d.metrics.into_iter().find(|m| m.metric == "rx.total").unwrap();
    let s = &mut m.shifts[0];
    (s.shift, s.interval, s.p_adjusted) = (shift, interval, p_adjusted);
    m.judge(&DiffOptions::default(), d.tests);
    m
}

#[test]
fn seen_from_does_not_contradict_its_row() {
    let least = judged(0, (0, 0), 1.0).shifts[0].minimum_detectable.unwrap();
    // As large as what would be seen, and not significant: then it is not known what would be.
    let m = judged(least + 1, (-1, least), 1.0);
    assert_eq!(m.shifts[0].minimum_detectable, None);
    assert_eq!((m.shifts[0].word(), m.word()), ("not certain", "not certain"));
    let m = judged(least, (-1, least), 1.0);
    assert_eq!(
        (m.shifts[0].minimum_detectable, m.word()),
        (Some(least), "no difference found")
    );
    // Significant, and too small to matter.
    let m = judged(10, (5, 15), 0.0);
    assert_eq!((m.outcome, m.word()), (Outcome::Same, "below the threshold"));
    let m = judged(least + 1, (1, least), 0.0);
    assert_eq!((m.shifts[0].minimum_detectable, m.word()), (Some(least), "worse"));
}

#[test]
fn the_stages_of_a_withheld_total_are_withheld_with_it() {
    let f = facts("rpc/rpc.nmb");
    let mut half = facts("rpc/rpc.nmb");
    assert!(of(&f, &half).breakdowns.iter().any(|b| b.ledger == "rx"));
    planted(&mut half, Stage::Copy, 500_000);
    for r in half.rx.iter_mut().step_by(2) {
        r.end = RxEnd::Queued;
    }
    let d = of(&f, &half);
    let why = |metric: &str| {
        d.withheld
            .iter()
            .find(|w| w.metric == metric)
            .map(|w| w.because.as_str())
    };
    assert!(why("rx.total").unwrap().contains("what is left is not alike"));
    assert_eq!(why("rx.copy"), Some("rx.total is not compared"));
    assert!(!d.metrics.iter().any(|m| m.which.ledger == "rx"));
    let ledgers: Vec<&str> = d.breakdowns.iter().map(|b| b.ledger).collect();
    assert_eq!(ledgers, ["tx"]);
}

#[test]
fn a_share_is_told_only_of_what_is_one() {
    assert_eq!(
        share(20e3, 41e3, "tx"),
        "+20.0 µs of the +41.0 µs that the mean tx changed by"
    );
    let apart = "its mean +19.05 ms, the mean tx \u{2212}41.21 ms";
    assert_eq!(share(19.05e6, -41.21e6, "tx"), apart);
    let more = "its mean +50.0 µs, the mean rx +41.0 µs";
    assert_eq!(share(50e3, 41e3, "rx"), more);
}

#[test]
fn worse_says_what_else_differs() {
    let f = facts("rpc/rpc.nmb");
    let mut slow = facts("rpc/rpc.nmb");
    planted(&mut slow, Stage::Copy, 50_000);
    let v = of(&f, &slow).verdict;
    assert!(v.outcome == Outcome::Worse && !v.sentence.contains("Mind"), "{v:?}");
    slow.capture.kernel_release = "0.1".into();
    let v = of(&f, &slow).verdict;
    assert!(v.sentence.contains("Mind: kernel differs."), "{v:?}");
    slow.capture.cpus += 1;
    let v = of(&f, &slow).verdict;
    assert!(v.sentence.contains("Mind: kernel, CPUs differ."), "{v:?}");
}

#[test]
fn a_device_that_has_all_of_a_stage_is_not_told_twice() {
    let f = facts("rpc/rpc.nmb");
    let d = of(&f, &f);
    for m in d.metrics.iter().filter(|m| m.which.dev.is_some()) {
        let all = d
            .metrics
            .iter()
            .find(|o| o.which.dev.is_none() && (o.which.ledger, o.which.stage) == (m.which.ledger, m.which.stage));
        assert!(all.is_none_or(|o| o.before.n > m.before.n), "{}", m.metric);
    }
    // Each end of the connection has its own part of the totals.
    assert!(d.metrics.iter().any(|m| m.metric.starts_with("rx.total[")));
}

#[test]
fn devices_and_windows_that_leave_nothing_are_known() {
    let f = facts("rpc/rpc.nmb");
    let known = devices(&[&f]);
    assert!(f.rx.iter().all(|r| known.contains(r.dev.text().as_ref())) && !known.contains("nosuch"));
    let window = |from_ns| {
        Some(Window {
            from_ns,
            to_ns: i64::MAX,
        })
    };
    // An open end is no number.
    let json = serde_json::to_value(window(5)).unwrap();
    assert_eq!(json, serde_json::json!({"from_ns": 5, "to_ns": null}));
    let side: [&Facts; 1] = [&f];
    assert_eq!(empty_window(&side, None), None);
    assert_eq!(empty_window(&side, window(500_000_000)), None);
    let (source, _) = empty_window(&side, window(3_600_000_000_000)).unwrap();
    assert_eq!(source, f.capture.source);
}
