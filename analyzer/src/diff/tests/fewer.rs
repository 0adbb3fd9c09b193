//! What is worse and nobody's harm.

use super::samples::{facts, of};
use crate::diff::Outcome;
use crate::diff::judged::{
    compare::Metric,
    fewer::{harms, in_no_stage, refused_more},
};
use crate::diff::sides::options::Recording;
use crate::facts::Facts;
use crate::reconstruct::opens::tables::{OpenEnd, OpenRow};

/// What becomes of these outcomes of a real comparison's metrics, in which nothing else changed.
fn after(outcomes: &[(&str, Outcome)], rate: Outcome) -> Vec<Outcome> {
    let f = facts("rpc/rpc.nmb");
    let mut d = of(&f, &f);
    let at = |all: &[Metric], name: &str| all.iter().position(|m| m.metric == name).unwrap();
    for (name, outcome) in outcomes {
        let n = at(&d.metrics, name);
        d.metrics[n].outcome = *outcome;
    }
    d.rates[0].outcome = rate;
    in_no_stage(&mut d.metrics, &d.rates);
    outcomes
        .iter()
        .map(|(name, _)| d.metrics[at(&d.metrics, name)].outcome)
        .collect()
}

#[test]
fn what_lies_in_no_stage_is_worse_beside_something_else_alone() {
    use Outcome::{Better, Changed, Same, Worse};
    assert_eq!(after(&[("rx.unattributed", Worse)], Same), [Changed]);
    assert_eq!(
        after(&[("rx.unattributed", Worse), ("rx.total", Worse)], Same),
        [Worse, Worse]
    );
    assert_eq!(
        after(&[("rx.unattributed", Worse), ("rx.total", Better)], Same),
        [Worse, Better]
    );
    assert_eq!(after(&[("rx.unattributed", Worse)], Worse), [Worse]);
}

/// Segments for ports that nobody has are nobody's harm, but where more connects or requests are refused.
#[test]
fn closed_ports_are_harm_where_more_is_refused() {
    let f = facts("rpc/rpc.nmb");
    let mut rate = of(&f, &f).rates.remove(0);
    (rate.metric, rate.outcome) = ("drops.NO_SOCKET".into(), Outcome::Worse);
    assert!(harms(&rate, true) && !harms(&rate, false));
    rate.metric = "drops.NETFILTER_DROP".into();
    assert!(harms(&rate, false));

    let with = |n: i64, end: OpenEnd| {
        let mut f = facts("rpc/rpc.nmb");
        for key in [
            "sock:inet_sock_set_state",
            "tcp:tcp_send_reset",
            "sock:sock_send_length",
        ] {
            f.capture.events.insert(key.into(), 1);
        }
        let start = f.capture.start_ns.unwrap();
        f.opens = (0..n)
            .map(|n| OpenRow {
                connection: None,
                from: None,
                to: None,
                pid: 1,
                task: Default::default(),
                start_ns: start + n,
                end_ns: start + n,
                end,
                error: None,
                message: false,
                syns_again: None,
                confidence: crate::Confidence::Strong,
            })
            .collect();
        f
    };
    let more = |b: &Facts, a: &Facts| refused_more(&Recording::all(&[b], &[], None), &Recording::all(&[a], &[], None));
    let (two, three) = (with(2, OpenEnd::Refused), with(3, OpenEnd::Refused));
    assert!(more(&two, &three) && !more(&three, &two) && !more(&two, &two));
    assert!(!more(&two, &with(3, OpenEnd::Established)));
    // Events that were lost may have been more.
    let mut lost = with(2, OpenEnd::Refused);
    lost.gaps.push(crate::testing::gap(1, 2));
    assert!(more(&two, &lost));
}
