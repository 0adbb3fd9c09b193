//! Sizes in rules that are smaller than what varies from run to run, which one recording a side does not tell.

use super::{Least, Named, Rule};
use crate::diff::sides::options::{
    SINGLE_MEDIAN_NS, SINGLE_MEDIAN_RELATIVE, SINGLE_SPEED_RELATIVE, SINGLE_TAIL_NS, SINGLE_TAIL_RELATIVE,
};

/// A sentence about those of the rules; `None`: there is none.
pub(super) fn said(rules: &[Rule]) -> Option<String> {
    let small: Vec<&Named> = rules
        .iter()
        .filter_map(|r| match r {
            Rule::Of(of) if is_small(of) => Some(of),
            _ => None,
        })
        .collect();
    let first = small.first()?;
    let all: Vec<&str> = small.iter().map(|r| r.text.as_str()).collect();
    let (bare, _) = first.text.split_once('>')?;
    Some(format!(
        "{}: with one recording a side such a size is met by recordings of the same, too (rx.p99>10% in 24 of 100 pairs, docs/diff.md): \
         leave it out ({}), or compare groups",
        all.join(", "),
        bare.trim()
    ))
}

/// Whether its size is below the practical threshold of one recording a side, which it stands in for.
fn is_small(rule: &Named) -> bool {
    let (relative, ns) = match (rule.metric.split('[').next(), rule.percent) {
        (Some("tcp.speed"), _) => (SINGLE_SPEED_RELATIVE, 0),
        (Some(rate), _) if super::names::is_rate(rate) => return false,
        (_, Some(50)) => (SINGLE_MEDIAN_RELATIVE, SINGLE_MEDIAN_NS),
        _ => (SINGLE_TAIL_RELATIVE, SINGLE_TAIL_NS),
    };
    match rule.least {
        Some(Least::Relative(of)) => of < relative,
        Some(Least::Ns(of)) => of < ns,
        None => false,
    }
}
