//! What was dropped, why, and does it matter? Groups of `kfree_skb` by reason, place and device, expected frees apart.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

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

/// What a free is called by what is known of it: the report and `diff` say it from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    /// As in `drops`.
    pub expected: Option<bool>,
    /// One word.
    pub word: &'static str,
    /// Several of them, as a title.
    pub title: &'static str,
    /// What is counted of them per skb.
    pub meaning: &'static str,
}

/// Every kind, what matters most first.
pub const KINDS: [Kind; 3] = [
    Kind {
        expected: Some(false),
        word: "lost",
        title: "Packets lost",
        meaning: "packets lost, per skb",
    },
    Kind {
        expected: None,
        word: "unclear",
        title: "Unclear frees",
        meaning: "unclear frees (nothing tells whether a packet was lost), per skb",
    },
    Kind {
        expected: Some(true),
        word: "expected",
        title: "Frees that healthy kernels do",
        meaning: "frees that healthy kernels do, per skb",
    },
];

/// The kind of a free.
pub fn kind(expected: Option<bool>) -> &'static Kind {
    let [lost, unclear, usual] = &KINDS;
    match expected {
        Some(false) => lost,
        None => unclear,
        Some(true) => usual,
    }
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

/// How many, the first and the last.
type Count = (u64, i64, i64);

fn add(sum: &mut Count, of: Count) {
    *sum = (sum.0 + of.0, sum.1.min(of.1), sum.2.max(of.2));
}

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
    let mut by_number: FxHashMap<_, Count> = FxHashMap::default();
    for d in &facts.drops {
        let one = (1, d.time_ns, d.time_ns);
        let key = (d.reason, d.location, d.dev, d.expected, d.why);
        by_number.entry(key).and_modify(|of| add(of, one)).or_insert(one);
    }
    // Different numbers may have one name.
    let mut by: BTreeMap<Key, Count> = BTreeMap::new();
    for ((reason, location, dev, expected, why), of) in by_number {
        let (reason, location) = (facts.names.drop_reason(reason), facts.names.location(location));
        let key = (text(reason), text(location), dev.text().into_owned(), expected, why);
        by.entry(key).and_modify(|sum| add(sum, of)).or_insert(of);
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
