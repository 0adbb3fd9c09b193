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

/// How the words begin on a flight that had not been armed for as long as was asked for.
pub const LATE: &str = "the flight had been armed for";
/// Less is as long as was asked for, ns.
const LATE_NS: i64 = 1_000_000;

/// That a flight was armed, or armed again, less than the time before its trigger: there is no more of it, and nothing of that was lost.
pub fn late(c: &CaptureInfo) -> Option<String> {
    // A slice says that it is one.
    let f = c.flight.as_ref().filter(|_| c.part.slice.is_none())?;
    let (armed, trigger) = (f.armed.monotonic_ns, f.trigger.clock.monotonic_ns);
    let had = trigger.saturating_sub(armed);
    let asked = i64::try_from(f.before_ns).unwrap_or(i64::MAX);
    if armed <= 0 || had < 0 || asked.saturating_sub(had) < LATE_NS {
        return None;
    }
    let seconds = |ns: i64| ns as f64 / 1e9;
    Some(format!(
        "{LATE} {:.3} s when it triggered ({:.3} s before it were asked for)",
        seconds(had),
        seconds(asked)
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
