//! Addresses that clients try first and in vain, before they take one of the other family: on one side alone. Who opens a connection waits for that each time, and no answer's time has it.
//!
//! In: attempts that came to nothing while their thread took another address (`analyses::opens`, inferred). Out: a sentence each. Without a test of chance worse (or better): ten or more on one side, a tenth of that rate at
//! most on the other. Not of parts of recordings, where an attempt may lie across.

use std::collections::BTreeMap;

use super::stopped::{FEW, MANY};
use crate::analyses::opens::fallbacks;
use crate::analyses::verdict::{counted, duration};
use crate::diff::sides::options::{Recording, seconds};

/// One address.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::diff) struct Detour {
    pub worse: bool,
    pub sentence: String,
}

/// What one side has of it.
#[derive(Debug, Default)]
struct Tried {
    times: u64,
    /// Of the recording with most: how long each waited.
    waited_ns: Option<i64>,
    most: u64,
    unresolved_on: String,
    task: String,
}

/// By the address that was tried, and the one that was taken then.
type Side = BTreeMap<(String, String), Tried>;

fn side(all: &[Recording<'_>]) -> Side {
    let mut out = Side::new();
    for f in all.iter().flat_map(|r| fallbacks(r.facts)) {
        let of = out.entry((f.to, f.then)).or_default();
        of.times = of.times.saturating_add(f.attempts);
        if f.attempts > of.most {
            (of.most, of.waited_ns) = (f.attempts, f.waited.p50_ns);
            (of.unresolved_on, of.task) = (f.unresolved_on, f.task);
        }
    }
    out
}

/// All of them, those tried most often first.
pub(in crate::diff) fn of(before: &[Recording<'_>], after: &[Recording<'_>]) -> Vec<Detour> {
    let (b, a) = (side(before), side(after));
    let long = [seconds(before), seconds(after)];
    let of = |(own, other, worse): (&Side, &Side, bool)| -> Vec<(u64, Detour)> {
        let [of_before, of_after] = long;
        let (here, there) = if worse {
            (of_after, of_before)
        } else {
            (of_before, of_after)
        };
        let few = |key: &(String, String), times: u64| {
            let n = other.get(key).map_or(0, |t| t.times);
            n as f64 / there.max(1e-9) <= FEW * times as f64 / here.max(1e-9)
        };
        let alone = own.iter().filter(|(key, t)| t.times >= MANY && few(key, t.times));
        alone.map(|(key, t)| (t.times, words(key, t, worse))).collect()
    };
    let mut all = [of((&a, &b, true)), of((&b, &a, false))].concat();
    all.sort_by_key(|(times, _)| std::cmp::Reverse(*times));
    all.into_iter().map(|(_, d)| d).collect()
}

/// `After, and not before, [fd09:2::77]:7556 is tried first, and in vain: 80 times by curl, until p50 250.50 ms later 10.9.2.2:7556 was taken (inferred)`.
fn words((to, then): &(String, String), t: &Tried, worse: bool) -> Detour {
    let when = if worse {
        "After, and not before,"
    } else {
        "Before, and not after,"
    };
    let waited = t
        .waited_ns
        .map_or_else(String::new, |ns| format!(" p50 {} later", duration(ns)));
    let neighbour = match t.unresolved_on.as_str() {
        "" => String::new(),
        dev => format!("; neighbour discovery on {dev} never had an address for it"),
    };
    let times = counted(t.times, "time", "times");
    Detour {
        worse,
        sentence: format!(
            "{when} {to} is tried first, and no SYN to it is answered: {times} by {}, until{waited} {then} was taken (inferred){neighbour}.",
            t.task
        ),
    }
}
