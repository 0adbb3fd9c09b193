//! Drops of a group beside what the kernel counted while they happened.
//!
//! Needs `counters`, or (of a slice, which has no counters of its own) `counters_over_time`: then the readings that lie inside of the recording, and the drops between the first and the last of
//! them. The texts are read within milliseconds after the time that is said.

use std::ops::RangeInclusive;

use super::full::MOSTLY;
use crate::counters::tables::refused;
use crate::facts::Facts;
use crate::reconstruct::drops::tables::DropRow;

/// Drops of a time, and how counters rose then.
pub(super) struct Counted<'f, 'r> {
    facts: &'f Facts,
    /// Readings, where the whole recording was not counted.
    between: Option<RangeInclusive<i64>>,
    pub(super) rows: Vec<&'r DropRow>,
    /// Those of all of the recording.
    all: usize,
}

impl<'f, 'r> Counted<'f, 'r> {
    /// Beside counters of one source.
    pub(super) fn of(facts: &'f Facts, rows: &[&'r DropRow], source: &str) -> Self {
        let whole = facts.counters.iter().any(|c| c.source == source) || facts.counters_over_time.rows.is_empty();
        let between = (!whole).then(|| within(facts)).flatten();
        let of = |d: &&&DropRow| between.as_ref().is_none_or(|b| b.contains(&d.time_ns));
        Counted {
            facts,
            rows: rows.iter().filter(of).copied().collect(),
            all: rows.len(),
            between,
        }
    }
    /// By how much a counter of that source rose, in all namespaces.
    pub(super) fn rise(&self, source: &str, name: &str) -> u64 {
        let Some(between) = &self.between else {
            return refused(&self.facts.counters, |s, n| s == source && n == name);
        };
        let inside = |ns: Option<i64>| ns.is_some_and(|ns| between.contains(&ns));
        let rows = self.facts.counters_over_time.rows.iter();
        let rows = rows.filter(|r| r.counter.source == source && r.counter.name == name);
        let rows = rows.filter(|r| inside(r.from_ns) && inside(r.to_ns));
        rows.filter_map(|r| r.rise).fold(0, u64::saturating_add)
    }
    /// Whether most of the group lie between the readings: else these do not tell of it.
    pub(super) fn is_of_most(&self) -> bool {
        self.rows.len() as f64 >= MOSTLY * self.all as f64
    }
    /// ` in 1.003 s of it`, where it is not all of the recording.
    pub(super) fn when(&self) -> String {
        let length = |b: &RangeInclusive<i64>| crate::analyses::verdict::duration(b.end().saturating_sub(*b.start()));
        self.between
            .as_ref()
            .map_or_else(String::new, |b| format!(" in {} of it", length(b)))
    }
}

/// From the first to the last reading of the recording's time.
fn within(facts: &Facts) -> Option<RangeInclusive<i64>> {
    let recorded = facts.capture.start_ns?..=facts.capture.end_ns?;
    let mut inside = facts
        .counters_over_time
        .readings
        .iter()
        .filter(|ns| recorded.contains(ns));
    let (first, last) = (*inside.next()?, *inside.next_back()?);
    Some(first..=last)
}
