//! Readings of every second in a slice of time: those of its time, and one on either side, from which and to which counters rose.
//!
//! In: a bundle. Out: the members that stay, and each one's number among them. Must not hold them all decoded.

use std::collections::HashMap;

use netmortem_formats::Capture;
use netmortem_formats::bundle::{is_seconds_name, seconds};

use crate::ingest::TraceClock;

/// Those of a window (units of the recorded clock); none where nothing tells when they were made.
pub fn of_window(capture: &Capture, (from, to): (u64, u64)) -> HashMap<&str, u64> {
    let clock = TraceClock::of(capture);
    let [from, to] = [from, to].map(|ns| i64::try_from(ns).unwrap_or(i64::MAX));
    let names = capture.members.iter().map(|m| m.name.as_str());
    let all: Vec<(&str, Option<i64>)> = names
        .filter(|name| is_seconds_name(name))
        .zip(seconds(capture))
        // One that cannot be read stays one that cannot be read.
        .map(|(name, second)| (name, second.ok().and_then(|s| clock.of_pair(&s.clock))))
        .collect();
    let is = |at: &Option<i64>, is: &dyn Fn(i64) -> bool| at.is_some_and(is);
    let first = all.iter().rposition(|(_, at)| is(at, &|at| at < from));
    let last = all.iter().position(|(_, at)| is(at, &|at| at > to));
    let known = all.iter().any(|(_, at)| at.is_some());
    let (first, last) = (first.unwrap_or(0), last.unwrap_or(all.len()));
    let kept = all.get(first..=last.min(all.len().saturating_sub(1)));
    // In no order of time (`first` behind `last`) they are of no time.
    let kept = kept.filter(|_| known).unwrap_or(&[]);
    kept.iter().map(|(name, _)| *name).zip(1..).collect()
}
