use crate::diff::Diff;
use crate::diff::DiffOptions;
use crate::diff::Outcome;
use crate::diff::Rules;
use crate::diff::compare;
use crate::facts::Facts;

fn parse(text: &str) -> Result<Rules, String> {
    text.parse()
}

#[test]
fn rules_are_read_and_wrong_ones_explained() {
    for good in [
        "worse",
        "changed",
        "incomparable",
        "drops",
        "rx",
        "rx.p99>10%",
        "tx.qdisc.p50>200us, drops",
        "device.qdisc[eth0]>1.5ms",
    ] {
        assert!(parse(good).is_ok(), "{good}: {:?}", parse(good));
    }
    for (bad, says) in [
        ("", "no rule"),
        ("rx.p98>10%", "p50, p90 and p99"),
        ("latency", "metrics begin with rx, tx"),
        ("rx>ten", "no size after '>'"),
        ("rx>-1%", "no size after '>'"),
    ] {
        let e = parse(bad).unwrap_err();
        assert!(e.contains(says), "{bad}: {e}");
    }
}

/// The comparison of a recording with itself, one metric of which is made worse by hand.
fn worse(metric: &str, percent: u64) -> Diff {
    let facts: Facts = crate::analyze(&crate::tests::sample("rpc/rpc.nmb"), &Default::default());
    let mut d = compare(&[&facts], &[&facts], &DiffOptions::default());
    let m = d.metrics.iter_mut().find(|m| m.metric == metric).unwrap();
    let s = m.shifts.iter_mut().find(|s| s.percent == percent).unwrap();
    (s.before, s.after, s.shift, s.outcome) = (1_000, 1_300, 300, Outcome::Worse);
    s.significant = true;
    m.outcome = Outcome::Worse;
    d.verdict.outcome = Outcome::Worse;
    d
}

/// A rate that was worse and is not felt in answers is no verdict, and is broken where it is named.
#[test]
fn a_rate_that_is_not_felt_fails_where_it_is_named() {
    let mut d = worse("rx.copy", 90);
    d.verdict.outcome = Outcome::Same;
    let r = d.rates.iter_mut().find(|r| r.metric == "poll.packets").unwrap();
    (r.outcome, r.significant, r.unfelt) = (Outcome::Changed, true, true);
    let broken = |d: &Diff, rules: &str| parse(rules).unwrap().broken(d).len();
    assert_eq!(
        (broken(&d, "poll"), broken(&d, "poll.packets"), broken(&d, "worse")),
        (1, 1, 0)
    );
    let r = d.rates.iter_mut().find(|r| r.metric == "poll.packets").unwrap();
    r.unfelt = false;
    assert_eq!(broken(&d, "poll"), 0);
}

#[test]
fn rules_fail_for_what_they_name_only() {
    let d = worse("rx.copy", 90);
    let broken = |rules: &str| parse(rules).unwrap().broken(&d).len();
    for fails in [
        "worse",
        "changed",
        "rx",
        "rx.copy",
        "rx.p90",
        "rx.copy.p90",
        "rx.copy>29%",
        "rx.copy.p90>250ns",
    ] {
        assert_eq!(broken(fails), 1, "{fails}");
    }
    for passes in [
        "tx",
        "rx.p99",
        "rx.p50",
        "rx.copy>30%",
        "rx.copy>1us",
        "drops",
        "incomparable",
        "rx.cop",
    ] {
        assert_eq!(broken(passes), 0, "{passes}");
    }
    assert_eq!(broken("drops, rx>10%, tx"), 1);
}
