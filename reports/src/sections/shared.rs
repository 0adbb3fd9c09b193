//! Blocks that several sections are made of.

use netmortem_analyzer::Reason;
use netmortem_analyzer::analyses::waits::StageTimes;
use netmortem_analyzer::confidence::speak_for_all;
use netmortem_analyzer::explain::{Id, Kind};
use netmortem_analyzer::stat::Distribution as Summary;

use crate::chart::{Bin, ChartSpec, Distribution, Division, EcdfCurve, EcdfPlot, Mark, Plot, Size, Span, Tone, Unit};
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Figure, Section, Severity, Strip};
use crate::format;
use crate::sections::Input;

/// A section whose question has no answer.
pub fn unanswered(id: &'static str, title: &str, reasons: &[Reason]) -> Section {
    let strips = joined(reasons).into_iter();
    let strips = strips.map(|because| strip(Severity::Unknown, format!("No answer, because {because}.")));
    Section {
        id,
        title: title.into(),
        lead: Text::default(),
        blocks: strips.collect(),
    }
}

/// What is said of an event that this recording cannot have.
const NO_FORMAT: &str = " has no format in this capture";

/// The reasons, each once; events that have no format in one sentence.
fn joined(reasons: &[Reason]) -> Vec<String> {
    let lacking: Vec<&str> = reasons
        .iter()
        .filter_map(|r| r.because.strip_suffix(NO_FORMAT))
        .collect();
    let lacking = match lacking.as_slice() {
        [] | [_] => None,
        several => Some(format!(
            "these events have no format in this capture, which was made without them or by a kernel that lacks them: {}",
            several.join(", ")
        )),
    };
    let each = reasons
        .iter()
        .filter(|r| lacking.is_none() || !r.because.ends_with(NO_FORMAT));
    let mut all: Vec<String> = each.map(|r| r.because.clone()).collect();
    all.splice(..0, lacking);
    let mut said = std::collections::BTreeSet::new();
    all.retain(|because| said.insert(because.clone()));
    all
}

pub fn strip(severity: Severity, sentence: impl Into<Text>) -> Block {
    Block::Strip(Strip {
        severity,
        sentence: sentence.into(),
        detail: None,
        see: None,
    })
}

/// The bins of a distribution of times.
pub fn bins(of: &Summary) -> Vec<Bin> {
    let bin = |b: &netmortem_analyzer::stat::Bin| Bin {
        lo: b.lo_ns,
        hi: b.hi_ns,
        count: b.count,
    };
    of.histogram.iter().map(bin).collect()
}

/// A figure; the caption is its alternative text too, after the title.
pub fn figure(id: impl Into<String>, chart: ChartSpec, caption: &str) -> Figure {
    let alt = [
        chart.title.as_str(),
        chart.note.as_ref().map_or("", Text::as_str),
        caption,
    ];
    let alt: Vec<&str> = alt.into_iter().filter(|part| !part.is_empty()).collect();
    Figure {
        id: id.into(),
        caption: caption.into(),
        alt: Text::from(alt.join(". ")),
        chart,
    }
}

/// `n = 12 345; 17 more of unknown length`.
pub fn n_note(summary: &Summary) -> Text {
    let n = format!("n = {}", format::count(summary.n));
    match summary.unknown {
        0 => Text::from(n),
        unknown => Text::from(format!("{n}; {} more of unknown length", format::count(unknown))),
    }
}

/// Histogram and ECDF of durations on a log axis.
pub fn durations(
    id: impl Into<String>,
    title: Text,
    summary: &Summary,
    size: Size,
    tone: Tone,
    counted: &str,
    caption: &str,
) -> Figure {
    let quantiles = [
        ("p50", summary.p50_ns),
        ("p90", summary.p90_ns),
        ("p99", summary.p99_ns),
        ("max", summary.max_ns),
    ];
    let plot = Distribution {
        label: "time, log scale".into(),
        unit: Unit::Nanoseconds,
        division: Division::Log,
        counted: counted.into(),
        bins: bins(summary),
        ecdf: summary.ecdf.clone(),
        marks: quantiles
            .into_iter()
            .filter_map(|(label, value)| value.map(|value| Mark { label, value }))
            .collect(),
        tone,
    };
    figure(
        id,
        ChartSpec {
            title,
            note: Some(n_note(summary)),
            size,
            plot: Plot::Distribution(plot),
        },
        caption,
    )
}

/// ECDFs of durations over one another; `None` when none has a value.
pub fn compared<'a>(
    id: &str,
    title: &str,
    size: Size,
    curves: impl IntoIterator<Item = (Text, &'a Summary)>,
    caption: &str,
) -> Option<Figure> {
    let filled = curves.into_iter().filter(|(_, summary)| summary.n > 0);
    let curves: Vec<EcdfCurve> = filled
        .enumerate()
        .map(|(at, (name, summary))| EcdfCurve {
            name,
            tone: Tone::nth(at),
            points: summary.ecdf.clone(),
        })
        .collect();
    if curves.is_empty() {
        return None;
    }
    let plot = EcdfPlot {
        label: "time, log scale".into(),
        unit: Unit::Nanoseconds,
        division: Division::Log,
        curves,
    };
    Some(figure(
        id,
        ChartSpec {
            title: title.into(),
            note: None,
            size,
            plot: Plot::Ecdf(plot),
        },
        caption,
    ))
}

/// Headings of [`quantile_cells`].
pub fn quantile_columns() -> [Column; 5] {
    [
        Column::number("n"),
        Column::time("p50"),
        Column::time("p90"),
        Column::time("p99"),
        Column::time("max"),
    ]
}

/// n, p50, p90, p99 and max.
pub fn quantile_cells(summary: &Summary) -> [Cell; 5] {
    let time = |ns| Cell::known(ns, Cell::Ns);
    [
        Cell::Count(summary.n),
        time(summary.p50_ns),
        time(summary.p90_ns),
        time(summary.p99_ns),
        time(summary.max_ns),
    ]
}

/// What `netmortem explain` takes of a row; unknown where the row is not known.
pub fn id_cell(id: Option<Id>) -> Cell {
    Cell::known(id, |id| Cell::Id(Text::from(id.to_string())))
}

/// The same of a connection.
pub fn connection_cell(connection: u32) -> Cell {
    id_cell(Some(Id::new(Kind::Conn, connection)))
}

/// A name from the recording, or unknown when there is none.
pub fn name_cell(name: &str) -> Cell {
    if name.is_empty() {
        Cell::Unknown
    } else {
        Cell::Code(Text::name(name))
    }
}

/// Times of which the verdict's line speaks too, and how many they are: the certain and strong ones where these speak for all,
/// else all; and what the others did.
pub fn spoken(of: &StageTimes) -> (&Summary, String) {
    let (solid, all) = (&of.solid, &of.all);
    let weak = all.n.saturating_sub(solid.n);
    let n = |n: u64| format::count(n);
    let doubt = match (speak_for_all(solid.n, all.n), weak) {
        (_, 0) => format!("n = {}", n(all.n)),
        (true, 1) => format!("n = {}; 1 less certain one is not in it", n(solid.n)),
        (true, weak) => format!("n = {}; {} less certain ones are not in it", n(solid.n), n(weak)),
        (false, _) if solid.n == 0 => format!("n = {}, all of them less certain", n(all.n)),
        (false, weak) => format!(
            "n = {}, {} of them less certain; the other {}, of which the tables are: {} at most",
            n(all.n),
            n(weak),
            n(solid.n),
            format::or_unknown(solid.max_ns, format::duration)
        ),
    };
    match speak_for_all(solid.n, all.n) {
        true => (solid, doubt),
        false => (all, doubt),
    }
}

/// What to say under a table that shows `shown` of `all` rows, ordered by `order`.
pub fn truncation(shown: usize, all: usize, order: &str, command: &str) -> Option<Text> {
    (shown < all).then(|| {
        Text::from(format!(
            "{} of {} rows shown, {order}; all of them: netmortem {command}",
            format::count(shown as u64),
            format::count(all as u64)
        ))
    })
}

/// A word of the tables (`softirq_wait`) as words of a sentence.
pub fn words(name: &str) -> String {
    name.replace('_', " ")
}

/// `1 socket`, `2 sockets`.
pub fn counted(n: u64, one: &str) -> String {
    format!("{} {one}{}", format::count(n), if n == 1 { "" } else { "s" })
}

/// What had a CPU while something waited for it, from the words of the tables.
pub fn had_cpu(part: &str) -> &str {
    match part {
        "irq" => "interrupt handlers",
        "softirq" => "other softirqs, or the same one before",
        "bh_off" => "a task with softirqs off",
        "ksoftirqd" => "left to ksoftirqd, which waited or started",
        "task" => "a task",
        "call" => "the reader slept in a system call",
        "held" => "the reader was stopped by a signal or its tracer",
        "idle" => "nothing: the CPU was idle, or waking up",
        "unknown" => "not told by the recording",
        other => other,
    }
}

/// Holes of any CPU, since the start of the recording; an open end reaches to the end of the recording.
pub fn gaps(input: &Input<'_>) -> Vec<Span> {
    let capture = &input.facts.capture;
    let rows = input.facts.gaps.iter().map(|gap| Span {
        from_ns: gap.start_ns.map_or(0, |ns| input.since_start(ns)),
        to_ns: gap.end_ns.map_or(capture.duration_ns, |ns| input.since_start(ns)),
        tone: Tone::Grey,
        label: "events lost".into(),
    });
    let mut gaps: Vec<Span> = rows.collect();
    gaps.sort_by_key(|gap| (gap.from_ns, gap.to_ns));
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_without_a_format_are_one_sentence() {
        let reason = |because: &str| Reason {
            subject: "receive",
            because: because.into(),
        };
        let one = [
            reason("net:netif_rx has no format in this capture"),
            reason("nothing was read"),
        ];
        assert_eq!(
            joined(&one),
            ["net:netif_rx has no format in this capture", "nothing was read"]
        );
        let several = [
            reason("net:netif_rx has no format in this capture"),
            reason("nothing was read"),
            reason("irq:softirq_entry has no format in this capture"),
            reason("nothing was read"),
        ];
        let said = "these events have no format in this capture, which was made without them or by a kernel that lacks them: net:netif_rx, irq:softirq_entry";
        assert_eq!(joined(&several), [said, "nothing was read"]);
    }
}
