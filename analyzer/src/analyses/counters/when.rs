//! When a counter rose: from the readings of every second.

use std::collections::BTreeMap;

use crate::facts::Facts;

/// When a counter rose; moments are ns since the start of the recording.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct When {
    /// The reading before the first rise; `None`: the one before the recording.
    pub from_ns: Option<i64>,
    /// The reading after the last rise; `None`: the one after the recording.
    pub to_ns: Option<i64>,
    /// Between so many readings, one after the other, it rose; where readings were joined, so many times these.
    pub parts: u64,
    /// Of so many, joined ones alike.
    pub of_parts: u64,
    /// The rise that is told so: that of the recorder's own namespace, less what was lost where it fell.
    pub told: u64,
}

/// Source, device or the like, name.
type Which<'f> = (&'static str, &'f str, &'f str);

/// Of each counter of which readings tell.
pub fn all(facts: &Facts) -> BTreeMap<Which<'_>, When> {
    let over_time = &facts.counters_over_time;
    let start = facts.capture.start_ns.unwrap_or(0);
    let since = |ns: Option<i64>| ns.map(|ns| ns.saturating_sub(start));
    // A row is of so many readings; the one after the recording is the last of them.
    let joined = over_time.joined.max(1);
    let of_parts = (over_time.readings.len() as u64 + 1).div_ceil(joined);
    let part = |to_ns: Option<i64>| {
        let of = |ns| over_time.readings.partition_point(|reading| *reading < ns);
        to_ns.map_or(over_time.readings.len(), of) as u64 / joined
    };
    let mut out: BTreeMap<Which<'_>, (When, Option<u64>)> = BTreeMap::new();
    for row in &over_time.rows {
        let Some(rise) = row.rise.filter(|rise| *rise > 0) else {
            continue;
        };
        let key = &*row.counter;
        let first = When {
            from_ns: since(row.from_ns),
            to_ns: since(row.to_ns),
            of_parts,
            ..When::default()
        };
        let (when, last) = out.entry((key.source, &key.of, &key.name)).or_insert((first, None));
        // In the order in which rows began: where readings were joined, that of one namespace may have grown beyond the next one's.
        // No moment is the earliest there, the latest here.
        when.from_ns = when.from_ns.min(since(row.from_ns));
        when.to_ns = when.to_ns.zip(since(row.to_ns)).map(|(a, b)| a.max(b));
        when.told = when.told.saturating_add(rise);
        // Of several namespaces each may have a row.
        let part = part(row.to_ns);
        if last.replace(part) != Some(part) {
            when.parts += 1;
        }
    }
    out.into_iter().map(|(which, (when, _))| (which, when)).collect()
}
