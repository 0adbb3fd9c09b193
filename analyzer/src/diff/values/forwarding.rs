//! What forwarding takes of a CPU for each packet, by the devices that it comes from and goes to: `softirq.forwarding[wan0, dmz0]`.
//!
//! In: `forwarded` and `softirqs`, as analyzer/src/analyses/forwarding counts them. Out: the metric, of the pairs that matter on a side.

use std::collections::{BTreeMap, BTreeSet};

use super::metrics::{Filling, Table, Which};
use crate::analyses::forwarding::Runs;
use crate::name::Name;
use crate::stat::nearest_rank;

/// The metric, in the ledger `softirq`.
pub(super) const STAGE: &str = "forwarding";
/// Median on a side from which a pair is compared, ns: below it, which is what forwarding takes as a rule, no change is as large as the smallest that is called.
const LEAST_NS: i64 = 30_000;
/// Pairs at most: those with most time on both sides.
const PAIRS: usize = 4;

/// Fills in the values of one recording.
pub(super) fn durations(f: &mut Filling<'_, '_>) {
    let facts = f.of.facts;
    let runs = Runs::of(facts);
    let mut pairs: BTreeMap<(Name, Name), Which> = BTreeMap::new();
    for r in &facts.forwarded {
        let which = pairs.entry((r.from, r.to)).or_insert_with(|| {
            let dev = format!("{}, {}", r.from.text(), r.to.text());
            Which::new("softirq", STAGE).of_dev(&dev)
        });
        match runs.counts(r) {
            true => f.put(which, r.at_ns, Some(r.ns)),
            false => f.exclude(which, r.at_ns),
        }
    }
}

/// Keeps the pairs that are compared.
pub(in crate::diff) fn chosen(names: &mut BTreeSet<&Which>, before: &[Table], after: &[Table]) {
    let values = |side: &[Table], which: &Which| -> Vec<i64> {
        let of = side.iter().filter_map(|t| t.get(which)).flat_map(|v| &v.at);
        of.map(|at| at.value).collect()
    };
    let mut pairs: Vec<(i64, Which)> = vec![];
    for which in names.iter().copied().filter(|w| w.is_forwarding()) {
        let (mut b, mut a) = (values(before, which), values(after, which));
        let sum = b.iter().chain(&a).fold(0i64, |sum, v| sum.saturating_add(*v));
        let much = |of: &mut Vec<i64>| nearest_rank(of, 50).is_some_and(|ns| ns >= LEAST_NS);
        if much(&mut b) || much(&mut a) {
            pairs.push((sum, which.clone()));
        }
    }
    pairs.sort_by(|x, y| y.0.cmp(&x.0).then(x.1.cmp(&y.1)));
    pairs.truncate(PAIRS);
    names.retain(|w| !w.is_forwarding() || pairs.iter().any(|(_, p)| p == *w));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::values::metrics::Values;
    use crate::stat::At;

    fn side(of: &[(&str, i64)]) -> Vec<Table> {
        let table = of.iter().map(|(dev, value)| {
            let at = (0..100)
                .map(|n| At {
                    time_ns: n,
                    value: *value,
                })
                .collect();
            (Which::new("softirq", STAGE).of_dev(dev), Values { at, excluded: 0 })
        });
        vec![table.collect()]
    }

    #[test]
    fn pairs_that_take_long_on_a_side() {
        let before = side(&[("a, b", 600_000), ("b, a", 500_000), ("c, d", 20_000), ("e, f", 29_000)]);
        let after = side(&[("a, b", 20_000), ("b, a", 9_000), ("c, d", 31_000), ("e, f", 2_000)]);
        let mut names: BTreeSet<&Which> = before.iter().chain(&after).flat_map(BTreeMap::keys).collect();
        let other = Which::new("softirq", "run");
        names.insert(&other);
        chosen(&mut names, &before, &after);
        let names: Vec<String> = names.iter().map(|w| w.name()).collect();
        let of = ["a, b", "b, a", "c, d"].map(|d| format!("softirq.forwarding[{d}]"));
        assert_eq!(names, [&of[..], &["softirq.run".to_owned()]].concat());
    }
}
