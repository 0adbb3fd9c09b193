//! Addresses that clients try first and in vain, before they take one of the other family: on one side alone. Who opens a connection waits for that each time, and no answer's time has it.
//!
//! In: attempts that failed while their thread took another address (`analyses::opens`, inferred). Out: a sentence each. Without a test of chance worse (or better): ten or more on one side, a tenth of that rate at
//! most on the other. Not of parts of recordings or some devices, where an attempt may lie across.

use std::collections::BTreeMap;

use super::stopped::{FEW, MANY};
use crate::analyses::opens::{Fallback, fallbacks};
use crate::analyses::verdict::{duration, times};
use crate::diff::sides::options::{Recording, seconds};
use crate::diff::values::attempts::opening;
use crate::reconstruct::opens::tables::OpenEnd;

/// An address that stands so many times as often as it comes to nothing is none.
const OFTENER: u64 = 4;

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
    /// Of these, such that found no route.
    unreachable: u64,
    /// Of the recording with most: how long each waited.
    waited_ns: Option<i64>,
    most: u64,
    /// What was taken then.
    then: String,
    unresolved_on: String,
    task: String,
}

/// By the address that was tried.
type Side = BTreeMap<String, Tried>;

fn side(all: &[Recording<'_>]) -> Side {
    let mut out = Side::new();
    for r in all {
        let mut stood: BTreeMap<String, u64> = BTreeMap::new();
        let opened = r.facts.opens.iter().filter(|o| o.end == OpenEnd::Established);
        for to in opened.filter_map(opening) {
            *stood.entry(to).or_default() += 1;
        }
        // What stands far oftener is no address in vain.
        let vain = |f: &Fallback| {
            stood
                .get(&f.to)
                .is_none_or(|n| *n <= f.attempts.saturating_mul(OFTENER))
        };
        for f in fallbacks(r.facts).into_iter().filter(vain) {
            let of = out.entry(f.to).or_default();
            of.times = of.times.saturating_add(f.attempts);
            of.unreachable = of.unreachable.saturating_add(f.unreachable);
            if f.attempts > of.most {
                (of.most, of.waited_ns, of.then) = (f.attempts, f.waited.p50_ns, f.then);
                (of.unresolved_on, of.task) = (f.unresolved_on, f.task);
            }
        }
    }
    out
}

/// Family and port: who has another address of one instead is where he was.
fn like(to: &str) -> (bool, &str) {
    (to.starts_with('['), to.rsplit_once(':').map_or(to, |(_, port)| port))
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
        let few = |to: &String, times: u64| {
            // The same address, or one that is not tried on this side.
            let same = |o: &String| o == to || like(o) == like(to) && !own.contains_key(o);
            let of = other.iter().filter(|(o, _)| same(o));
            let n = of.map(|(_, t)| t.times).fold(0, u64::saturating_add);
            n as f64 / there.max(1e-9) <= FEW * times as f64 / here.max(1e-9)
        };
        let alone = own.iter().filter(|(to, t)| t.times >= MANY && few(to, t.times));
        alone.map(|(to, t)| (t.times, words(to, t, worse))).collect()
    };
    let mut all = [of((&a, &b, true)), of((&b, &a, false))].concat();
    all.sort_by_key(|(times, _)| std::cmp::Reverse(*times));
    all.into_iter().map(|(_, d)| d).collect()
}

/// `After, and not before, [fd09:2::77]:7556 is tried first, which comes to nothing: 80 times by curl (80 had no answer to a SYN), until p50 250.50 ms later 10.9.2.2:7556 was taken (inferred)`.
fn words(to: &str, t: &Tried, worse: bool) -> Detour {
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
        dev => format!("; neighbour discovery on {dev} never resolved it"),
    };
    let often = times(t.times);
    let came = [
        (t.times.saturating_sub(t.unreachable), "had no answer to a SYN"),
        (t.unreachable, "found no route"),
    ];
    let came: Vec<String> = came
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{n} {what}"))
        .collect();
    Detour {
        worse,
        sentence: format!(
            "{when} {to} is tried first, which comes to nothing: {often} by {} ({}), until{waited} {} was taken (inferred){neighbour}.",
            t.task,
            came.join(", "),
            t.then
        ),
    }
}
