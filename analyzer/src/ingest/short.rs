//! Rings of a flight recorder that do not reach back to the begin of its window: what they held before was overwritten. Since when
//! they were armed the kernel counts that, and how much of it was of the window nobody knows: it is a gap, and no number.
//!
//! In: `end.json` of a flight. Out: the CPUs, and gaps before their first events without a number.

use std::collections::HashSet;

use netmortem_formats::Capture;
use netmortem_formats::bundle::{FlightCpu, FlightEnd};

use super::info::{GapRow, StreamInfo};

/// A ring that begins too late.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ShortRing {
    /// Whose.
    pub cpu: u32,
    /// Its first event, ns on the trace clock; `None`: it has none.
    pub first_ns: Option<i64>,
}

/// Those of a capture.
pub fn short_rings(capture: &Capture) -> Vec<ShortRing> {
    let told = capture.end.as_ref().and_then(|e| e.get("flight"));
    let end: Option<FlightEnd> = told.and_then(|f| serde_json::from_value(f.clone()).ok());
    let short = end.into_iter().flat_map(|e| e.cpus).filter(|c| !c.reaches_back);
    let of = |c: FlightCpu| ShortRing {
        cpu: c.cpu,
        first_ns: c.first_ts.and_then(|t| i64::try_from(t).ok()),
    };
    // A hostile file may name any number of CPUs; those that count have a ring.
    let has_ring: HashSet<u32> = capture.streams.iter().map(|s| s.cpu).collect();
    let mut short: Vec<ShortRing> = short.filter(|c| has_ring.contains(&c.cpu)).map(of).collect();
    short.sort_by_key(|r| r.cpu);
    short.dedup_by_key(|r| r.cpu);
    short
}

/// The loss before the first event of such a ring has no number.
pub fn without_number(s: &mut StreamInfo, gaps: &mut [GapRow]) {
    for gap in gaps.iter_mut().filter(|g| g.start_ns.is_none() && g.cause == "overrun") {
        match gap.lost_events.take() {
            Some(n) => s.lost_events = s.lost_events.saturating_sub(n),
            None => s.losses_of_unknown_size = s.losses_of_unknown_size.saturating_sub(1),
        }
    }
}

#[cfg(test)]
mod tests;
