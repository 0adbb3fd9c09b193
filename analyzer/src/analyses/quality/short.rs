//! How far back the rings of a flight recorder reach, where that is less than was asked for.

use crate::ingest::CaptureInfo;

/// CPUs that are named.
const NAMED: usize = 4;

/// What is to be said of them, and whether one of them has nothing from before the trigger.
pub fn told(c: &CaptureInfo) -> Option<(bool, String)> {
    if c.short_rings.is_empty() {
        return None;
    }
    let cpus: Vec<String> = c.short_rings.iter().map(|r| r.cpu.to_string()).collect();
    let which = match cpus.len() {
        1 => format!("the ring of CPU {} holds", cpus.concat()),
        n if n <= NAMED => format!("the rings of CPUs {} hold", cpus.join(", ")),
        n => format!("the rings of {n} CPUs hold"),
    };
    let seconds = |ns: i64| ns as f64 / 1e9;
    // The recorder stamps the trigger with CLOCK_MONOTONIC; a ring without an event has nothing at all.
    let trigger = c.flight.as_ref().filter(|_| c.clock == "mono");
    let first = c.short_rings.iter().map(|r| r.first_ns.or(c.end_ns)).max().flatten();
    let reach = trigger
        .zip(first)
        .map(|(f, first)| f.trigger.clock.monotonic_ns.saturating_sub(first));
    let asked = c.flight.as_ref().map_or_else(String::new, |f| {
        format!(" ({:.3} s before it were asked for)", f.before_ns as f64 / 1e9)
    });
    let what = match reach {
        Some(ns @ 0..) => format!("nothing older than {:.3} s before the trigger{asked}", seconds(ns)),
        Some(ns) => format!(
            "nothing from before the trigger, and begin up to {:.3} s after it{asked}",
            seconds(ns.saturating_neg())
        ),
        None => format!("less than the time before the trigger{asked}"),
    };
    let what = match cpus.len() {
        1 => what.replace("begin up to", "begins"),
        _ => what,
    };
    Some((
        reach.is_some_and(|ns| ns < 0),
        format!("{which} {what}: what was older was overwritten, and how much that was nothing tells"),
    ))
}

/// Since when every CPU was recorded, ns after the trigger (before it: negative).
#[must_use]
pub fn since(c: &CaptureInfo) -> Option<i64> {
    let trigger = c.flight.as_ref().filter(|_| c.clock == "mono")?;
    let first = c.short_rings.iter().map(|r| r.first_ns.or(c.end_ns)).max().flatten()?;
    Some(first.saturating_sub(trigger.trigger.clock.monotonic_ns))
}

#[cfg(test)]
mod tests;
