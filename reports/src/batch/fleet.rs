//! All recordings together: verdicts, stages of both paths, drops.

use netmortem_analyzer::fleet::{Fleet, FleetStage};

use crate::chart::{ChartSpec, Division, EcdfCurve, EcdfPlot, Plot, Size, Tone, Unit};
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Figure, Section, Severity, Table};
use crate::format;
use crate::sections::shared::words;

/// Curves of one chart.
const CURVES: usize = 5;
/// Rows of the table of drops.
const DROPS: usize = 50;

pub fn sections(fleet: &Fleet) -> Vec<Section> {
    if fleet.ranked.is_empty() {
        return vec![];
    }
    let path = |id, title: &str, stages: &[FleetStage]| {
        (!stages.is_empty()).then(|| Section {
            id,
            title: title.into(),
            lead: lead(stages),
            blocks: vec![Block::Figure(Box::new(ecdfs(id, stages))), table(stages)],
        })
    };
    [
        Some(verdicts(fleet)),
        path("receive", "Receive path, all recordings", &fleet.rx),
        path("transmit", "Transmit path, all recordings", &fleet.tx),
        Some(drops(fleet)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn verdicts(fleet: &Fleet) -> Section {
    let tones = [
        ("bad", Severity::Bad),
        ("notice", Severity::Notice),
        ("unknown", Severity::Unknown),
        ("ok", Severity::Good),
    ];
    let mut columns = vec![Column::text("subject")];
    columns.extend(tones.map(|(_, severity)| Column::number(severity.word())));
    let rows = fleet.tones.iter().map(|(subject, by_tone)| {
        let mut row = vec![Cell::Text(Text::name(subject))];
        row.extend(tones.map(|(word, _)| Cell::Count(by_tone.get(word).map_or(0, |n| *n as u64))));
        row
    });
    Section {
        id: "verdicts",
        title: "Verdicts".into(),
        lead: "How many recordings have which answer to each question.".into(),
        blocks: vec![Block::Table(Table {
            caption: "Recordings by question and answer".into(),
            columns,
            rows: rows.collect(),
            note: None,
        })],
    }
}

fn lead(stages: &[FleetStage]) -> Text {
    let total = stages.iter().find(|s| s.name == "total");
    let most = stages.iter().find(|s| s.name != "total");
    let Some(total) = total else { return Text::default() };
    let mut lead = format!(
        "{} units, p99 at most {}",
        format::count(total.n),
        format::duration(total.p99_ns)
    );
    if let (Some(most), true) = (most, total.sum_ns > 0) {
        let share = format::percent(most.sum_ns as f64 / total.sum_ns as f64);
        lead.push_str(&format!(
            "; the largest part of the time ({share}) went to {}",
            words(&most.name)
        ));
    }
    Text::from(lead + ".")
}

fn ecdfs(id: &str, stages: &[FleetStage]) -> Figure {
    let curves = stages.iter().take(CURVES).zip(Tone::SERIES).map(|(s, tone)| EcdfCurve {
        name: Text::from(words(&s.name)),
        tone,
        points: points(s),
    });
    let caption =
        "The total and the stages that took most of the time; each point is the upper edge of a bin of the histogram.";
    crate::sections::figure(
        format!("{id}-ecdf"),
        ChartSpec {
            title: "Share of units that were at most so long".into(),
            note: None,
            size: Size::Full,
            plot: Plot::Ecdf(EcdfPlot {
                label: "time, log scale".into(),
                unit: Unit::Nanoseconds,
                division: Division::Log,
                curves: curves.collect(),
            }),
        },
        caption,
    )
}

fn points(stage: &FleetStage) -> Vec<(i64, f64)> {
    let n = stage.n.max(1) as f64;
    let mut seen = 0u64;
    let cumulated = stage.bins.iter().map(|(_, hi, count)| {
        seen = seen.saturating_add(*count);
        (*hi, (seen as f64 / n).min(1.0))
    });
    cumulated.collect()
}

fn table(stages: &[FleetStage]) -> Block {
    let rows = stages.iter().map(|s| {
        let (name, ns) = match &s.worst {
            Some((name, ns)) => (Cell::Code(Text::name(name)), Cell::Ns(*ns)),
            None => (Cell::Unknown, Cell::Unknown),
        };
        vec![
            Cell::Text(Text::from(words(&s.name))),
            Cell::Count(s.recordings as u64),
            Cell::Count(s.n),
            Cell::Ns(s.p50_ns),
            Cell::Ns(s.p90_ns),
            Cell::Ns(s.p99_ns),
            Cell::Ns(s.max_ns),
            name,
            ns,
        ]
    });
    Block::Table(Table {
        caption: "Stages, most time first".into(),
        columns: vec![
            Column::text("stage"),
            Column::number("recordings"),
            Column::number("units"),
            Column::time("p50"),
            Column::time("p90"),
            Column::time("p99"),
            Column::time("largest"),
            Column::text("recording with the largest p99"),
            Column::time("its p99"),
        ],
        rows: rows.collect(),
        note: Some("Certain and strong units only. Percentiles of all recordings are the upper edge of a bin, at most 25 % above the value; the largest and the worst recording's own p99 are exact.".into()),
    })
}

fn drops(fleet: &Fleet) -> Section {
    let rows = fleet.drops.iter().take(DROPS).map(|d| {
        let (severity, word) = match d.expected {
            Some(true) => (Severity::Good, "ordinary"),
            Some(false) => (Severity::Bad, "lost"),
            None => (Severity::Unknown, "not clear"),
        };
        vec![
            Cell::Code(Text::name(&d.reason)),
            Cell::Code(Text::name(&d.location)),
            Cell::Badge(severity, word.into()),
            Cell::Count(d.count),
            Cell::Count(d.recordings as u64),
        ]
    });
    let without = match fleet.without_drops {
        0 => String::new(),
        n => format!(" In {} recordings drops were not recorded.", format::count(n as u64)),
    };
    let left = fleet.drops.len().saturating_sub(DROPS);
    Section {
        id: "drops",
        title: "Drops, all recordings".into(),
        lead: Text::from(format!(
            "{} kinds of drops.{without}",
            format::count(fleet.drops.len() as u64)
        )),
        blocks: vec![Block::Table(Table {
            caption: "Drops by reason and function, lost packets first".into(),
            columns: vec![
                Column::text("reason"),
                Column::text("function"),
                Column::text(""),
                Column::number("packets"),
                Column::number("recordings"),
            ],
            rows: rows.collect(),
            note: (left > 0)
                .then(|| Text::from(format!("{} more kinds are in index.json.", format::count(left as u64)))),
        })],
    }
}
