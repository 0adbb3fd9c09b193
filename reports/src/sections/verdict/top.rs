//! What stands above the verdict: the trigger of a flight recorder, where the recording is from, and how far it can be trusted.

use netmortem_analyzer::analyses::quality::{Level, Quality, short};
use netmortem_analyzer::ingest::CaptureInfo;

use crate::clean::Text;
use crate::document::{Block, Severity, Strip, Tile};
use crate::format;
use crate::sections::Input;
use crate::sections::shared::counted;

/// Lines of a trigger's evidence.
const EVIDENCE: usize = 12;

/// What a flight recorder waited for and saw; nothing for an ordinary recording.
pub fn trigger(input: &Input<'_>) -> Vec<Block> {
    let capture = &input.facts.capture;
    let Some(flight) = &capture.flight else {
        return Vec::new();
    };
    let trigger = &flight.trigger;
    // The recorder stamps with CLOCK_MONOTONIC; only a recording on that clock can place it.
    let at = (capture.clock == "mono").then(|| input.since_start(trigger.clock.monotonic_ns));
    let when = at.map_or_else(String::new, |at| format!(" at {} s", format::moment(at)));
    let span = |ns: u64| format::duration(i64::try_from(ns).unwrap_or(i64::MAX));
    let said = match trigger.sentence.is_empty() {
        true => String::new(),
        false => format!(": {}", trigger.sentence.trim_end_matches('.')),
    };
    let mut detail = vec![format!(
        "Asked for: {} before and {} after the trigger.",
        span(flight.before_ns),
        span(flight.after_ns)
    )];
    if let Some(since) = short::since(capture) {
        let (ns, side) = (since.saturating_abs(), if since > 0 { "after" } else { "before" });
        detail.push(format!(
            "Recorded: all CPUs only from {} {side} it on.",
            format::duration(ns)
        ));
    } else if let Some([before, after]) = recorded(capture, trigger.clock.monotonic_ns) {
        detail.push(format!(
            "Recorded: {} before, {} after.",
            format::duration(before),
            format::duration(after)
        ));
    }
    if let Some(per_second) = trigger.threshold_per_s {
        detail.push(format!("Threshold: {} a second.", format::count(per_second)));
    }
    if flight.suppressed > 0 {
        let others = counted(flight.suppressed, "trigger");
        detail.push(format!(
            "{others} before it came too soon after the last and wrote nothing."
        ));
    }
    let mut blocks = vec![Block::Strip(Strip {
        severity: Severity::Notice,
        sentence: Text::from(format!("Triggered by {}{when}{said}.", Text::name(&trigger.on))),
        detail: Some(Text::from(detail.join(" "))),
        see: None,
    })];
    if !trigger.evidence.is_empty() {
        let lines = trigger.evidence.iter().take(EVIDENCE).map(Text::from);
        blocks.push(Block::Details {
            summary: Text::from(format!(
                "What the trigger rests on ({})",
                counted(trigger.evidence.len() as u64, "line")
            )),
            // Text of the recording: no commands to be copied.
            blocks: vec![Block::List(lines.collect())],
        });
    }
    blocks
}

/// For how long it was recorded before and after the trigger. Not from the first event to the last: where nothing happens
/// there are none.
fn recorded(capture: &CaptureInfo, trigger: i64) -> Option<[i64; 2]> {
    let flight = capture.flight.as_ref()?;
    if capture.clock != "mono" {
        return None;
    }
    let events = [capture.start_ns?, capture.end_ns?];
    // Rings that did not reach back lost what is between; a slice has less than was recorded.
    let begin = match capture.lost_events == 0 && flight.window_start_ns > 0 {
        true => flight.window_start_ns.min(events[0]),
        false => events[0],
    };
    let whole = capture.complete && capture.part.slice.is_none() && capture.stop_reason == "trigger";
    let after_ns = i64::try_from(flight.after_ns).unwrap_or(i64::MAX);
    let end = match whole {
        true => trigger.saturating_add(after_ns).max(events[1]),
        false => events[1],
    };
    let before = trigger.saturating_sub(begin);
    (before >= 0).then(|| [before, end.saturating_sub(trigger).max(0)])
}

/// What was captured, and when.
pub fn origin(capture: &CaptureInfo) -> Block {
    let offset = capture.realtime_offset_ns;
    let moment = |ns: Option<i64>| {
        offset
            .zip(ns)
            .map(|(offset, ns)| format::utc(offset.saturating_add(ns)))
    };
    let mut pairs: Vec<(Text, Text)> = Vec::new();
    let mut push = |name: &str, value: String| {
        if !value.is_empty() {
            pairs.push((name.into(), value.into()));
        }
    };
    let events = format!("{} events", format::count(capture.total_events));
    push(
        "Captured",
        match capture.command.is_empty() {
            true => events,
            false => format!("{events} by {}", capture.command),
        },
    );
    let kernel = format!("Linux {} {}", capture.kernel_release, capture.machine);
    push(
        "Where",
        match (capture.hostname.is_empty(), capture.kernel_release.is_empty()) {
            (_, true) => capture.hostname.clone(),
            (true, false) => kernel,
            (false, false) => format!("{}, {kernel}", capture.hostname),
        },
    );
    let when = match (moment(capture.start_ns), moment(capture.end_ns)) {
        (Some(from), Some(to)) => format!("{from} to {to}, {}", format::duration(capture.duration_ns)),
        _ => format!(
            "not known (the recording has no pair of its clock and the wall clock); {} long",
            format::duration(capture.duration_ns)
        ),
    };
    push("When", when);
    Block::KeyValues(pairs)
}

/// Losses, coverage, error bar of the clocks, cost of recording.
pub fn trust(quality: &Quality) -> Block {
    let capture = &quality.capture;
    let worst = match quality.level {
        Level::Bad => Severity::Bad,
        Level::Good | Level::Degraded => Severity::Notice,
    };
    let judged = |good: bool| if good { Severity::Good } else { worst };
    let tile = |severity, label: &str, value: String, detail: String| Tile {
        severity,
        label: label.into(),
        value: value.into(),
        detail: detail.into(),
    };
    let (lost, unknown) = (capture.lost_events, capture.losses_of_unknown_size);
    let unplaced = capture.lost_at_unknown_time;
    let overwritten = capture.short_rings.len() as u64;
    let losses = tile(
        judged(lost == 0 && unknown == 0 && unplaced == 0 && capture.complete && overwritten == 0),
        "Events lost",
        match (lost, unknown) {
            (0, 0) if unplaced > 0 || overwritten > 0 => "not known".to_owned(),
            (0, 0) if !capture.complete => "none seen".to_owned(),
            (0, 0) => "none".to_owned(),
            (0, n) => format!("{} × unknown", format::count(n)),
            (n, 0) => format::count(n),
            (n, _) => format!("≥ {}", format::count(n)),
        },
        match unknown {
            _ if unplaced > 0 => format!(
                "{} {} lost at a time that nothing tells",
                counted(unplaced, "event"),
                if unplaced == 1 { "was" } else { "were" }
            ),
            0 if lost == 0 && overwritten > 0 => {
                format!(
                    "{} begin too late: older events were overwritten",
                    counted(overwritten, "ring")
                )
            }
            0 if lost == 0 && !capture.complete => "what the missing part of the file held is not known".to_owned(),
            0 => format!("{} of all events", format::percent(quality.lost_share)),
            n => format!("{} of unknown size", counted(n, "loss").replace("losss", "losses")),
        },
    );
    let coverage = tile(
        judged(quality.gap_share <= 0.0 && capture.complete),
        "Coverage",
        format::percent(1.0 - quality.gap_share),
        match capture.complete {
            true => "of the CPUs' time lies outside known gaps".to_owned(),
            false => "outside known gaps; the file is cut or damaged".to_owned(),
        },
    );
    let clocks = &quality.clocks;
    let clock = match (capture.cpus, capture.clock_is_ns) {
        (_, false) => tile(
            Severity::Bad,
            "Clock error bar",
            format::UNKNOWN.to_owned(),
            "the clock does not count ns".to_owned(),
        ),
        (0 | 1, _) => tile(
            Severity::Good,
            "Clock error bar",
            "none".to_owned(),
            "one CPU".to_owned(),
        ),
        _ => tile(
            match clocks.error_ns {
                None => Severity::Unknown,
                Some(0) if clocks.consistent => Severity::Good,
                Some(_) => Severity::Notice,
            },
            "Clock error bar",
            // No effect before its cause does not mean no error: then the bound is what is known.
            match (clocks.error_ns, clocks.bound_ns) {
                (Some(0), Some(ns)) => format!("at most {}", format::duration(ns)),
                (Some(0), None) => "none seen".to_owned(),
                (ns, _) => format::or_unknown(ns, format::duration),
            },
            match (clocks.error_ns, clocks.bound_ns) {
                (None, _) => "nothing to compare the CPUs' clocks by".to_owned(),
                (Some(0), Some(_)) => format!(
                    "between CPUs; no effect before its cause in {} pairs",
                    format::count(clocks.pairs)
                ),
                (_, None) => "between CPUs; bounded on one side only".to_owned(),
                (_, Some(ns)) => format!("between CPUs; at most {} apart", format::duration(ns)),
            },
        ),
    };
    let marked = quality.costly_stages.len() as u64;
    let cost = tile(
        match (quality.event_cost_ns, marked) {
            (None, _) => Severity::Unknown,
            (Some(_), 0) => Severity::Good,
            _ => Severity::Info,
        },
        "Cost of recording",
        quality.event_cost_ns.map_or_else(
            || format::UNKNOWN.to_owned(),
            |ns| format!("{} an event", format::duration(ns)),
        ),
        match (quality.event_cost_ns, marked) {
            (None, _) => "the recording does not tell".to_owned(),
            (_, 0) => "no stage is in large part its own recording".to_owned(),
            (_, n) => format!("a large part of {} (marked *)", counted(n, "stage")),
        },
    );
    Block::Tiles(vec![losses, coverage, clock, cost])
}
