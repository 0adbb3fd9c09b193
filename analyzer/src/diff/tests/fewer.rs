//! What is worse and nobody's harm.

use super::samples::{facts, of};
use crate::diff::Outcome;
use crate::diff::compare::Metric;
use crate::diff::fewer::in_no_stage;

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
