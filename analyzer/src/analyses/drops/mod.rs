//! What was dropped, why, and does it matter? Groups of `kfree_skb` by reason, place and device, expected frees apart.

use std::collections::BTreeMap;

use crate::analyses::{Outcome, reasons};
use crate::facts::Facts;
use crate::table::Cell;

#[cfg(test)]
mod tests;

/// Drops that share reason, place and device.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Group {
    /// Reason by the recording's own table; empty when not recorded.
    pub reason: String,
    /// Kernel function; empty when not recorded.
    pub location: String,
    /// Device; empty when not known.
    pub dev: String,
    /// true: healthy kernels do this; false: packets were lost; `None`: nothing tells.
    pub expected: Option<bool>,
    /// Rule that decided.
    pub why: &'static str,
    /// Frees.
    pub count: u64,
    /// First.
    pub first_ns: i64,
    /// Last.
    pub last_ns: i64,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Drops {
    /// Whether a `kfree_skb` that happened would be in the recording; else no drop seen is no news.
    pub recorded: bool,
    /// All `kfree_skb`.
    pub total: u64,
    /// Packets lost.
    pub lost: u64,
    /// Frees that healthy kernels do.
    pub expected: u64,
    /// Frees that nothing tells apart.
    pub unclear: u64,
    /// Groups, lost ones first, then by count.
    pub groups: Vec<Group>,
}

/// Reason, place, device, expected, why.
type Key = (String, String, String, Option<bool>, &'static str);

fn text(c: Cell<'_>) -> String {
    match c {
        Cell::Str(s) => s.into_owned(),
        _ => String::new(),
    }
}

/// Asks.
pub fn answer(facts: &Facts) -> Outcome<Drops> {
    if !facts.capture.events.contains_key("skb:kfree_skb") && facts.unknown.iter().any(|r| r.subject == "drops") {
        return Outcome::Unknown(reasons(facts, "drops", "kfree_skb was not recorded"));
    }
    let mut by: BTreeMap<Key, (u64, i64, i64)> = BTreeMap::new();
    for d in &facts.drops {
        let key = (
            text(facts.names.drop_reason(d.reason)),
            text(facts.names.location(d.location)),
            d.dev.text().into_owned(),
            d.expected,
            d.why,
        );
        let e = by.entry(key).or_insert((0, d.time_ns, d.time_ns));
        *e = (e.0 + 1, e.1.min(d.time_ns), e.2.max(d.time_ns));
    }
    let mut groups: Vec<Group> = by
        .into_iter()
        .map(
            |((reason, location, dev, expected, why), (count, first_ns, last_ns))| Group {
                reason,
                location,
                dev,
                expected,
                why,
                count,
                first_ns,
                last_ns,
            },
        )
        .collect();
    let rank = |e: Option<bool>| match e {
        Some(false) => 0,
        None => 1,
        Some(true) => 2,
    };
    groups.sort_by_key(|g| (rank(g.expected), std::cmp::Reverse(g.count)));
    let count = |e: Option<bool>| groups.iter().filter(|g| g.expected == e).map(|g| g.count).sum();
    Outcome::Findings(Drops {
        recorded: facts.capture.recorded("skb:kfree_skb"),
        total: facts.drops.len() as u64,
        lost: count(Some(false)),
        expected: count(Some(true)),
        unclear: count(None),
        groups,
    })
}
