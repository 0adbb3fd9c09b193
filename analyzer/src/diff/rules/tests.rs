use super::{State, names};
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
        "app.qdisc[eth0, 10.0.0.7:80].p90, tcp.speed[to 10.0.0.1:443]>20%",
        "drops.FOO",
        "tx.limited_by_rwnd",
    ] {
        assert!(parse(good).is_ok(), "{good}: {:?}", parse(good));
    }
    for (bad, says) in [
        ("", "no rule"),
        ("rx.p98>10%", "p50, p90 and p99"),
        ("latency", "metrics begin with rx, tx"),
        ("rx>ten", "no size after '>'"),
        ("rx>-1%", "no size after '>'"),
        // Mistyped: the nearest first.
        (
            "rx.cop",
            "there is no rx.cop; of rx there are, the nearest first: rx.copy, ",
        ),
        (
            "tx.qdisk.p50>10us",
            "there is no tx.qdisk; of tx there are, the nearest first: tx.qdisc, ",
        ),
        ("rx.bogus>10%", "there is no rx.bogus; of rx there are"),
        ("app.respons.p90>20%", "the nearest first: app.response, "),
        ("device.qdisk[eth0]", "the nearest first: device.qdisc, "),
        ("rx.total.P99", "there is no rx.total.P99"),
        ("rx.p99.9", "p50, p90 and p99"),
        ("rx.total[eth0.p99", "there is no rx.total[eth0"),
        ("rx.met_grow", "the nearest first: rx.met_gro, "),
        ("drops.", "there is no drops."),
        ("respons", "the nearest names: app.response, "),
        // What could never be met.
        ("drops.p99", "drops is a rate"),
        ("tcp.retransmits>10us", "tcp.retransmits is a rate"),
    ] {
        let e = parse(bad).unwrap_err();
        assert!(e.contains(says), "{bad}: {e}");
    }
}

/// The comparison of a recording with itself, one metric of which is made worse by hand.
fn worse(metric: &str, percent: u64) -> Diff {
    let facts: Facts = crate::tests::facts("rpc/rpc.nmb");
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
    ] {
        assert_eq!(broken(passes), 0, "{passes}");
    }
    assert_eq!(broken("drops, rx>10%, tx"), 1);
}

/// Every metric that real recordings give can be named by a rule, and a rate is known as one.
#[test]
fn all_metrics_of_recordings_are_known() {
    let of = |path: &str| crate::tests::facts(path);
    let mut seen = 0;
    for path in [
        "rpc/rpc.nmb",
        "sawtooth/sawtooth.nmb",
        "kernel-6.1/netem.nmb",
        "overlay/overlay.nmb",
        "opens/opens.nmb",
        "datagrams/datagrams.nmb.zst",
        "one-side/loss.nmb.zst",
    ] {
        let f = of(path);
        let d = compare(&[&f], &[&f], &DiffOptions::default());
        let base = |name: &str| name.split('[').next().unwrap().to_owned();
        for m in &d.metrics {
            assert!(
                names::is_known(&base(&m.metric)) && !names::is_rate(&base(&m.metric)),
                "{}",
                m.metric
            );
        }
        for r in &d.rates {
            assert!(names::is_rate(&base(&r.metric)), "{}", r.metric);
            assert!(parse(&r.metric).is_ok(), "{}", r.metric);
        }
        seen += d.metrics.len() + d.rates.len();
    }
    assert!(seen > 300, "{seen}");
}

/// What a rule says, one word for how it stands.
fn said(d: &Diff, rule: &str) -> (State, String) {
    let of = parse(rule).unwrap().states(d).remove(0);
    (of.state, of.says)
}

/// A rule that watches nothing is no rule that held.
#[test]
fn a_rule_of_which_nothing_was_compared_fails_and_says_why() {
    let f = crate::tests::facts("rpc/rpc.nmb");
    let d = compare(&[&f], &[&f], &DiffOptions::default());
    for (rule, why) in [
        ("device.qdisc[nodev]", "compared were device.qdisc["),
        (
            "app.response[10.9.9.9:80].p90>20%",
            "compared were app.response[10.78.1.2:7000]",
        ),
        ("drops.NO_SOKET", "the nearest it lists: NO_SOCKET"),
        ("tcp.speed", "neither side has values of it"),
        (
            "app.response.p99>20%",
            "p99 needs 500 values a side; app.response[10.78.1.2:7000] has 400 before and 400 after",
        ),
    ] {
        let (state, says) = said(&d, rule);
        assert!(
            state == State::NotCompared && says.contains(why),
            "{rule}: {state:?} {says}"
        );
        let broken = parse(rule).unwrap().broken(&d);
        assert_eq!(broken, [format!("{rule}: {says}")]);
    }
    // What was dropped or sent again by nobody is what the rule is for.
    for rule in ["drops", "drops.NO_SOCKET", "tcp.rto", "app.failed_opens"] {
        assert_eq!(
            said(&d, rule),
            (State::Held, "neither side has any of it".to_owned()),
            "{rule}"
        );
    }
    // None of an event that was not recorded is no news: perf record had not been asked for retransmissions.
    let lost = |f: &mut Facts, event: &str| {
        f.capture.events.remove(event);
        if let Some(enabled) = &mut f.capture.enabled_events {
            enabled.retain(|e| e != event);
        }
    };
    let mut less = crate::tests::facts("rpc/rpc.nmb");
    for event in ["tcp:tcp_retransmit_skb", "skb:kfree_skb"] {
        lost(&mut less, event);
    }
    let d = compare(&[&f], &[&less], &DiffOptions::default());
    for (rule, event) in [
        ("tcp.retransmits", "tcp:tcp_retransmit_skb"),
        ("drops", "skb:kfree_skb"),
        ("drops.NO_SOCKET", "skb:kfree_skb"),
    ] {
        let (state, says) = said(&d, rule);
        let why = format!("{event} was not recorded after");
        assert!(
            state == State::NotCompared && says.contains(&why),
            "{rule}: {state:?} {says}"
        );
    }
    assert_eq!(said(&d, "app.failed_opens").0, State::Held);
    // Of other work nothing is compared, and no rule of metrics holds.
    let saw = crate::tests::facts("sawtooth/sawtooth.nmb");
    let d = compare(&[&f], &[&saw], &DiffOptions::default());
    let (state, says) = said(&d, "rx.p99>10%");
    assert!(state == State::NotCompared && says.contains("different work"), "{says}");
    assert_eq!(said(&d, "drops").0, State::NotCompared);
    assert_eq!(
        said(&d, "worse"),
        (State::Held, "the answer is not comparable".to_owned())
    );
}

/// With one recording a side nothing tells what varies from run to run: a size below the threshold for that is met by chance.
#[test]
fn sizes_that_like_recordings_exceed_are_told_where_one_recording_a_side_is_compared() {
    let f = crate::tests::facts("rpc/rpc.nmb");
    let of = |n: usize, rules: &str| {
        let side = vec![&f; n];
        parse(rules)
            .unwrap()
            .too_small(&compare(&side, &side, &DiffOptions::default()))
    };
    let said = of(1, "drops>1%, rx.p99>10%, rx.total.p50>20us, worse").unwrap();
    assert!(
        said.starts_with("rx.p99>10%, rx.total.p50>20us: with one recording a side")
            && said.contains("leave it out (rx.p99)"),
        "{said}"
    );
    for small in [
        "rx>49%",
        "rx.p90>59us",
        "rx.total.p50>24%",
        "tcp.speed>20%",
        "tcp.speed[to 10.0.0.1:80]>20%",
    ] {
        assert!(of(1, small).is_some(), "{small}");
    }
    for large in [
        "rx.p99",
        "rx.p99>50%",
        "rx.p90>60us",
        "rx.total.p50>25%",
        "tcp.speed>25%",
        "drops>1%",
        "worse",
    ] {
        assert_eq!(of(1, large), None, "{large}");
    }
    assert_eq!(of(2, "rx.p99>10%"), None);
}

/// What held says how near it was: an hundredfold p99 that one stall may have made is not passed over.
#[test]
fn a_rule_that_held_says_what_it_saw() {
    let of = |path: &str| crate::tests::facts(path);
    let (b, a) = (of("one-side/delay.nmb.zst"), of("one-side/loss.nmb.zst"));
    let d = compare(&[&b], &[&a], &DiffOptions::default());
    let total = d.metrics.iter().find(|m| m.metric == "rx.total").unwrap();
    let s = total.shifts.iter().find(|s| s.percent == 99).unwrap();
    assert!(s.after > 50 * s.before && !s.significant, "{s:?}");
    let (state, says) = said(&d, "rx.total.p99>10%");
    assert!(
        state == State::Held && says.starts_with("rx.total p99 +") && says.contains(", but not certain (adjusted p "),
        "{says}"
    );
    let (state, says) = said(&d, "rx.p99>10%");
    assert!(
        state == State::Held && says.contains(", but not certain (adjusted p ") && says.contains(" (of "),
        "{says}"
    );
    // What is smaller than asked is said without a p.
    let (state, says) = said(&d, "rx.total.p99>10s");
    assert!(
        state == State::Held && !says.contains("certain") && says.contains(" -> "),
        "{says}"
    );
}

/// Between like and like every p is as likely as any other. Rules of metrics alone, of groups, fail at the level, and no more; adjusted for all tests of
/// the comparison they would hardly ever.
#[test]
fn rules_of_groups_are_a_family_of_their_own_and_keep_the_level() {
    const TURNS: usize = 1_000;
    let f = crate::tests::facts("rpc/rpc.nmb");
    let group = [&f, &f, &f];
    let mut d = compare(&group, &group, &DiffOptions::groups());
    let mut random = crate::stat::SplitMix64::seeded([7]);
    let mut failed = [0; 3];
    let rules = ["rx.total.p50>0%,tx.total.p90>0%", "rx>0%", "worse,rx.total.p50>0%"];
    let rules = rules.map(|r| parse(r).unwrap());
    for _ in 0..TURNS {
        for s in d.metrics.iter_mut().flat_map(|m| &mut m.shifts) {
            s.p = random.below(1 << 30) as f64 / f64::from(1 << 30);
            (s.shift, s.interval) = (1_000, (1, 2_000));
        }
        for r in &mut d.rates {
            r.p = 1.0;
        }
        crate::diff::adjust(&mut d.metrics, &mut d.rates);
        for s in d.metrics.iter_mut().flat_map(|m| &mut m.shifts) {
            s.significant = s.p_adjusted <= d.options.level;
        }
        for (n, rules) in failed.iter_mut().zip(&rules) {
            *n += usize::from(!rules.broken(&d).is_empty());
        }
    }
    // 50 of 1000, and three standard deviations.
    let at_the_level = 29..=71;
    assert!(
        at_the_level.contains(&failed[0]) && at_the_level.contains(&failed[1]),
        "{failed:?}"
    );
    assert!(failed[2] < 29, "{failed:?}");
}

/// With one recording a side what varies between recordings is in no p: all tests of the comparison count.
#[test]
fn rules_of_one_recording_a_side_are_judged_among_all_tests() {
    let f = crate::tests::facts("rpc/rpc.nmb");
    let of = |facts: &[&Facts], options: &DiffOptions| {
        let mut d = compare(facts, facts, options);
        let m = d.metrics.iter_mut().find(|m| m.metric == "rx.total").unwrap();
        let s = m.shifts.iter_mut().find(|s| s.percent == 50).unwrap();
        (s.p, s.shift, s.interval) = (0.01, 1_000_000_000, (1, 2_000_000_000));
        crate::diff::adjust(&mut d.metrics, &mut d.rates);
        for s in d.metrics.iter_mut().flat_map(|m| &mut m.shifts) {
            s.significant = s.p_adjusted <= d.options.level;
        }
        parse("rx.total.p50>10%").unwrap().states(&d).remove(0).state
    };
    assert_eq!(of(&[&f], &DiffOptions::default()), State::Held);
    assert_eq!(of(&[&f, &f], &DiffOptions::groups()), State::Failed);
}
