use crate::diff::Diff;
use crate::diff::DiffOptions;
use crate::diff::Outcome;
use crate::diff::Window;
use crate::diff::compare;
use crate::facts::Facts;
use crate::reconstruct::receive::tables::Stage;

pub(in crate::diff) fn facts(path: &str) -> Facts {
    crate::tests::facts(path)
}

pub(super) fn of(before: &Facts, after: &Facts) -> Diff {
    let d = compare(&[before], &[after], &DiffOptions::default());
    for (m, s) in d.metrics.iter().flat_map(|m| m.shifts.iter().map(move |s| (m, s))) {
        let (from, to) = s.interval;
        assert!((from..=to).contains(&s.shift), "{}: {s:?}", m.metric);
    }
    d
}

fn changed(d: &Diff) -> Vec<(&str, Outcome)> {
    let metrics = d.metrics.iter().map(|m| (m.metric.as_str(), m.outcome));
    let all = metrics.chain(d.rates.iter().map(|r| (r.metric.as_str(), r.outcome)));
    all.filter(|c| c.1 != Outcome::Same).collect()
}

#[test]
fn a_recording_is_no_worse_than_itself() {
    for path in ["rpc/rpc.nmb", "sawtooth/sawtooth.nmb"] {
        let f = facts(path);
        let d = of(&f, &f);
        assert_eq!((d.verdict.outcome, changed(&d)), (Outcome::Same, vec![]), "{path}");
        // It did compare: totals and stages, with a smallest detectable change that is no bluff.
        let total = d.metrics.iter().find(|m| m.metric == "rx.total").unwrap();
        let s = &total.shifts[0];
        assert!(
            s.minimum_detectable.unwrap() >= s.threshold && s.threshold >= 30_000,
            "{path}: {s:?}"
        );
        assert!(s.interval.0 <= 0 && s.interval.1 >= 0);
        assert!(d.tests > 50, "{path}: {}", d.tests);
        assert_eq!(d.settings, vec![]);
    }
}

#[test]
fn halves_of_a_recording_do_not_differ() {
    for (path, half) in [("rpc/rpc.nmb", 477_000_000), ("kernel-6.1/netem.nmb", 0)] {
        let f = facts(path);
        let half = if half > 0 { half } else { f.capture.duration_ns / 2 };
        let options = DiffOptions {
            before_window: Some(Window {
                from_ns: 0,
                to_ns: half,
            }),
            after_window: Some(Window {
                from_ns: half,
                to_ns: i64::MAX,
            }),
            ..DiffOptions::default()
        };
        let d = compare(&[&f], &[&f], &options);
        assert_eq!(changed(&d), vec![], "{path}: {:?}", d.verdict);
        assert!(d.tests > 20, "{path}: {}", d.tests);
    }
}

/// 50 us more in one stage of every unit read, in the rows.
pub(super) fn planted(f: &mut Facts, stage: Stage, ns: i64) {
    for r in &mut f.rx {
        if let Some(before) = r.stage(stage) {
            r.stages.set(stage, Some(before + ns));
            r.total_ns += ns;
        }
    }
}

#[test]
fn a_shift_of_one_stage_is_found_in_that_stage_and_back() {
    let f = facts("rpc/rpc.nmb");
    for stage in [Stage::Protocol, Stage::Copy, Stage::ReaderRunning] {
        let mut slow = facts("rpc/rpc.nmb");
        planted(&mut slow, stage, 50_000);
        let d = of(&f, &slow);
        assert_eq!(d.verdict.outcome, Outcome::Worse);
        let name = format!("rx.{}", stage.name());
        // The stage first, then the totals that have it in them; no other stage.
        assert_eq!(changed(&d)[0], (name.as_str(), Outcome::Worse));
        let others = changed(&d)
            .into_iter()
            .filter(|c| *c != (name.as_str(), Outcome::Worse));
        for (metric, outcome) in others {
            assert!(
                (metric.starts_with("rx.total") || metric.starts_with(&name)) && outcome == Outcome::Worse,
                "{metric}"
            );
        }
        assert_eq!(d.metrics[0].shifts[0].shift, 50_000);
        let back = of(&slow, &f);
        assert_eq!(back.verdict.outcome, Outcome::Better);
        assert_eq!(changed(&back)[0], (name.as_str(), Outcome::Better));
    }
}

#[test]
fn other_traffic_and_no_events_are_not_comparable() {
    let (f, empty) = (facts("rpc/rpc.nmb"), Facts::empty());
    let d = of(&f, &empty);
    assert_eq!(d.verdict.outcome, Outcome::NotComparable);
    assert!(
        d.metrics.is_empty() && d.verdict.sentence.contains("no events"),
        "{:?}",
        d.verdict
    );
    let mut lost = facts("rpc/rpc.nmb");
    lost.capture.lost_events = lost.capture.total_events / 50;
    let d = of(&f, &lost);
    assert_eq!(d.verdict.outcome, Outcome::NotComparable);
    assert!(d.verdict.sentence.contains("larger buffers"), "{:?}", d.verdict);
}

#[test]
fn what_one_side_did_not_record_is_withheld() {
    let f = facts("rpc/rpc.nmb");
    let mut less = facts("rpc/rpc.nmb");
    less.capture.events.remove("napi:napi_poll");
    if let Some(e) = &mut less.capture.enabled_events {
        e.retain(|n| n != "napi:napi_poll");
    }
    let d = of(&f, &less);
    let w = d.withheld.iter().find(|w| w.metric == "poll.duration").unwrap();
    assert_eq!(w.because, "napi:napi_poll was not recorded after");
    assert!(!d.metrics.iter().any(|m| m.which.ledger == "poll"));
}

#[test]
fn groups_use_what_varies_between_recordings() {
    let f = facts("rpc/rpc.nmb");
    let runs = |extra: [i64; 3]| {
        extra.map(|ns| {
            let mut g = facts("rpc/rpc.nmb");
            planted(&mut g, Stage::Copy, ns);
            g
        })
    };
    fn refs(side: &[Facts]) -> Vec<&Facts> {
        side.iter().collect()
    }
    // Runs that differ as much among themselves as the groups do: nothing.
    let (a, b) = (runs([0, 40_000, 80_000]), runs([20_000, 60_000, 100_000]));
    let d = compare(&refs(&a), &refs(&b), &DiffOptions::groups());
    assert_eq!(changed(&d), vec![], "{:?}", d.verdict);
    // One of each alone would have called that a change.
    assert_eq!(of(&f, &b[2]).verdict.outcome, Outcome::Worse);
    // Runs that agree among themselves: found.
    let (a, b) = (runs([0, 10, 20]), runs([50_000, 50_010, 50_020]));
    let d = compare(&refs(&a), &refs(&b), &DiffOptions::groups());
    assert_eq!(changed(&d)[0], ("rx.copy", Outcome::Worse), "{:?}", d.verdict);
}

#[test]
fn the_same_whatever_the_threads() {
    let f = facts("rpc/rpc.nmb");
    let mut slow = facts("rpc/rpc.nmb");
    planted(&mut slow, Stage::Copy, 30_000);
    let with = |n: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        pool.install(|| serde_json::to_string(&of(&f, &slow)).unwrap())
    };
    assert_eq!(with(1), with(4));
}

#[test]
fn what_one_recording_of_a_side_has_is_withheld() {
    let all: Vec<Facts> = (0..3).map(|_| facts("rpc/rpc.nmb")).collect();
    let mut others: Vec<Facts> = (0..3).map(|_| facts("rpc/rpc.nmb")).collect();
    for f in &mut others[1..] {
        f.polls.clear();
    }
    fn refs(side: &[Facts]) -> Vec<&Facts> {
        side.iter().collect()
    }
    let d = compare(&refs(&all), &refs(&others), &DiffOptions::groups());
    for metric in ["poll.duration", "poll.packets"] {
        let w = d.withheld.iter().find(|w| w.metric == metric).unwrap();
        assert_eq!(w.because, "only one recording of a side has values of it", "{metric}");
        assert!(d.metrics.iter().all(|m| m.metric != metric) && d.rates.iter().all(|r| r.metric != metric));
    }
    // Two of them tell.
    let d = compare(&refs(&all), &[&all[0], &all[1], &others[1]], &DiffOptions::groups());
    assert!(d.metrics.iter().any(|m| m.metric == "poll.duration"));
    assert!(d.rates.iter().any(|r| r.metric == "poll.packets"));
}
