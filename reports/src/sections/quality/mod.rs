//! Data quality, before anything else: what was captured, what was lost and where. In: `Answers::quality`. Losses are shown at their place in
//! time, per CPU; a loss of unknown size is said to be one.

mod conservation;
mod coverage;
pub(super) mod told;

use netmortem_analyzer::analyses::quality::{Level, Quality};
use netmortem_analyzer::ingest::{CaptureInfo, GapRow, Severity as StatSeverity, StatRow};
use netmortem_analyzer::reconstruct::observer::tables::MARKED_SHARE;

use super::shared::{counted, name_cell, strip, truncation, words};
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Section, Severity, Strip, Table};
use crate::format;
use crate::sections::Input;

/// Rows of the tables of streams, gaps and problems.
const ROWS: usize = 64;

/// Builds the section.
#[must_use]
pub fn section(input: &Input<'_>) -> Section {
    let quality = &input.answers.quality;
    let capture = &quality.capture;
    let mut blocks = vec![Block::Strip(Strip {
        severity: severity(quality.level),
        sentence: (&quality.sentence).into(),
        detail: Some(Text::from(format!(
            "{} of the recorded time of all CPUs lies outside known gaps.",
            format::percent(1.0 - quality.gap_share)
        ))),
        see: None,
    })];
    blocks.extend(told::strips(&quality.told, ROWS));
    blocks.extend(
        capture
            .problems
            .iter()
            .take(ROWS)
            .map(|problem| strip(Severity::Notice, problem)),
    );
    let mut origin = origin(capture);
    origin.extend(errors(quality));
    blocks.push(Block::KeyValues(origin));
    blocks.extend(conservation::blocks(quality));
    let used = &input.facts.gaps;
    if !used.is_empty() {
        blocks.push(Block::Figure(Box::new(coverage::picture(input))));
        blocks.push(Block::Table(gaps(input, used)));
    }
    let unused = capture.gaps.len().saturating_sub(used.len());
    if unused > 0 {
        let count = counted(unused as u64, "gap");
        blocks.push(Block::Paragraph(Text::from(format!(
            "{count} more in ring buffers that the reconstruction does not use (see Streams)."
        ))));
    }
    let table = Block::Table(streams(input, capture));
    match capture.lost_events == 0 && capture.lost_at_unknown_time == 0 && unused == 0 {
        // nothing to look at in it: the verdict comes sooner
        true => blocks.push(Block::Details {
            summary: "Streams".into(),
            blocks: vec![table],
        }),
        false => blocks.push(table),
    }
    let serious = |row: &&StatRow| row.severity != StatSeverity::Info;
    let (warnings, infos): (Vec<&StatRow>, Vec<&StatRow>) = quality.stats.iter().partition(serious);
    if !warnings.is_empty() {
        blocks.push(Block::Table(counters("What weakens the answers", &warnings)));
    }
    blocks.push(Block::Details {
        summary: "Events by name".into(),
        blocks: vec![Block::Table(events(capture))],
    });
    if !capture.missing_events.is_empty() {
        let missing = capture.missing_events.iter().map(Text::from).collect();
        blocks.push(Block::Details {
            summary: "Not in this recording".into(),
            blocks: vec![Block::List(missing)],
        });
    }
    if !infos.is_empty() {
        let table = Block::Table(counters("Counters of the analysis", &infos));
        blocks.push(Block::Details {
            summary: "Counters of the analysis".into(),
            blocks: vec![table],
        });
    }
    Section {
        id: "quality",
        title: "Data quality".into(),
        lead: lead(quality),
        blocks,
    }
}

fn severity(level: Level) -> Severity {
    match level {
        Level::Good => Severity::Good,
        Level::Degraded => Severity::Notice,
        Level::Bad => Severity::Bad,
    }
}

/// The stages that are in large part the recording's own, in the words of their sections.
fn costly(quality: &Quality) -> String {
    let stage = |(name, share): &(String, f64)| {
        let path = match name.split_once(' ') {
            Some(("rx", stage)) => format!("receive path {}", words(stage)),
            Some(("tx", stage)) => format!("transmit path {}", words(stage)),
            _ => words(name),
        };
        format!("{path} ({})", format::percent(*share))
    };
    let stages: Vec<String> = quality.costly_stages.iter().map(stage).collect();
    match stages.is_empty() {
        true => String::new(),
        false => format!(
            "; over {:.0} % of these stages: {}",
            MARKED_SHARE * 100.0,
            stages.join(", ")
        ),
    }
}

/// The two errors that every printed time has: of the clocks, and what recording added.
fn errors(quality: &Quality) -> Vec<(Text, Text)> {
    let clocks = match quality.capture.cpus {
        0 | 1 => "one CPU: no error between CPUs".to_owned(),
        _ => quality.clocks.sentence(),
    };
    let cost = match quality.event_cost_ns {
        None => format::UNKNOWN.to_owned(),
        Some(ns) => format!("about {} per event, estimated{}", format::duration(ns), costly(quality)),
    };
    vec![
        ("Clocks".into(), clocks.into()),
        ("Cost of recording".into(), cost.into()),
    ]
}

fn lead(quality: &Quality) -> Text {
    let capture = &quality.capture;
    let lost = match (capture.lost_events, capture.losses_of_unknown_size) {
        (0, 0) if !capture.short_rings.is_empty() => "what some rings held before was overwritten".to_owned(),
        (0, 0) if capture.lost_at_unknown_time > 0 => "whether some were lost is not known".to_owned(),
        (0, 0) => "none was lost".to_owned(),
        (0, unknown) => format!("{} losses of unknown size", format::count(unknown)),
        (lost, 0) => format!(
            "{} were lost ({})",
            format::count(lost),
            format::percent(quality.lost_share)
        ),
        (lost, unknown) => format!(
            "{} were lost, and {} losses have no known size",
            format::count(lost),
            format::count(unknown)
        ),
    };
    Text::from(format!(
        "{} events from {} CPUs over {}; {lost}.",
        format::count(capture.total_events),
        capture.cpus,
        format::duration(capture.duration_ns)
    ))
}

fn origin(capture: &CaptureInfo) -> Vec<(Text, Text)> {
    let text = |value: &str| {
        if value.is_empty() {
            Text::from(format::UNKNOWN)
        } else {
            Text::from(value)
        }
    };
    let offset = capture.realtime_offset_ns;
    let moment =
        |ns: Option<i64>| format::or_unknown(offset.zip(ns), |(offset, ns)| format::utc(offset.saturating_add(ns)));
    let format_name = format!("{} {}", capture.format, capture.format_version);
    let kernel = format!("{} {}", capture.kernel_release, capture.machine);
    vec![
        ("Recording".into(), text(&capture.source)),
        ("Format".into(), text(format_name.trim())),
        ("Host".into(), text(&capture.hostname)),
        ("Kernel".into(), text(kernel.trim())),
        ("First event".into(), moment(capture.start_ns).into()),
        ("Last event".into(), moment(capture.end_ns).into()),
        ("Trace clock".into(), text(&capture.clock)),
        ("Ring-buffer data".into(), format::bytes(capture.ring_bytes).into()),
        ("Recorded by".into(), text(&capture.command)),
        ("Stopped by".into(), text(&capture.stop_reason)),
    ]
}

fn gaps(input: &Input<'_>, gaps: &[GapRow]) -> Table {
    let seconds = |ns: Option<i64>| Cell::known(ns, |ns| Cell::At(input.since_start(ns)));
    let row = |gap: &GapRow| {
        vec![
            Cell::Count(u64::from(gap.cpu)),
            seconds(gap.start_ns),
            seconds(gap.end_ns),
            Cell::known(gap.start_ns.zip(gap.end_ns), |(from, to)| {
                Cell::Ns(to.saturating_sub(from))
            }),
            Cell::known(gap.lost_events, Cell::Count),
            Cell::Text(gap.cause.into()),
        ]
    };
    Table {
        caption: "Gaps".into(),
        columns: vec![
            Column::number("CPU"),
            Column::in_unit("from", "s"),
            Column::in_unit("to", "s"),
            Column::time("length"),
            Column::number("events lost"),
            Column::text("cause"),
        ],
        rows: gaps.iter().take(ROWS).map(row).collect(),
        note: truncation(gaps.len().min(ROWS), gaps.len(), "first ones first", "show gaps INPUT"),
    }
}

fn streams(input: &Input<'_>, capture: &CaptureInfo) -> Table {
    let seconds = |ns: Option<i64>| Cell::known(ns, |ns| Cell::At(input.since_start(ns)));
    let rows = capture.streams.iter().take(ROWS).map(|stream| {
        vec![
            Cell::Count(u64::from(stream.cpu)),
            name_cell(&stream.instance),
            Cell::Count(stream.events),
            Cell::Count(stream.lost_events),
            Cell::Count(stream.losses_of_unknown_size),
            Cell::Bytes(stream.bytes),
            seconds(stream.first_ns),
            seconds(stream.last_ns),
            Cell::Text(if stream.used { "yes" } else { "no" }.into()),
        ]
    });
    Table {
        caption: "Streams".into(),
        columns: vec![
            Column::number("CPU"),
            Column::text("instance"),
            Column::number("events"),
            Column::number("lost"),
            Column::number("losses of unknown size"),
            Column::number("data"),
            Column::in_unit("first", "s"),
            Column::in_unit("last", "s"),
            Column::text("used"),
        ],
        rows: rows.collect(),
        note: truncation(
            capture.streams.len().min(ROWS),
            capture.streams.len(),
            "in order of CPU",
            "check INPUT",
        ),
    }
}

fn counters(caption: &str, rows: &[&StatRow]) -> Table {
    let badge = |severity| match severity {
        StatSeverity::Info => Cell::Badge(Severity::Info, "info".into()),
        StatSeverity::Warning => Cell::Badge(Severity::Notice, "warning".into()),
        StatSeverity::Error => Cell::Badge(Severity::Bad, "error".into()),
    };
    let row = |row: &&StatRow| {
        vec![
            badge(row.severity),
            Cell::Code(row.name.into()),
            Cell::Count(row.value),
            Cell::Text(row.advice.into()),
        ]
    };
    Table {
        caption: caption.into(),
        columns: vec![
            Column::text(""),
            Column::text("counter"),
            Column::number("value"),
            Column::text("meaning"),
        ],
        rows: rows.iter().map(row).collect(),
        note: None,
    }
}

fn events(capture: &CaptureInfo) -> Table {
    let row = |(name, count): (&String, &u64)| {
        vec![
            Cell::Code(Text::name(name)),
            Cell::Count(*count),
            Cell::Fraction(*count as f64 / capture.total_events.max(1) as f64),
        ]
    };
    Table {
        caption: Text::default(),
        columns: vec![
            Column::text("event"),
            Column::number("records"),
            Column::number("share"),
        ],
        rows: capture.events.iter().map(row).collect(),
        note: None,
    }
}

#[cfg(test)]
mod tests;
