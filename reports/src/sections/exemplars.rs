//! Units to look at, of either path: the worst, the 99th percentile and the median of every stage, each with the command that prints its
//! whole story. In: `Answers::exemplars`.

use netmortem_analyzer::analyses::exemplars::{Exemplar, StageExemplars, TOTAL};

use super::shared::{figure, name_cell, words};
use crate::chart::{BarRow, Bars, ChartSpec, Plot, Size, Tone, Unit};
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Figure, Table};
use crate::format;
use crate::sections::Input;

/// Stages below this share of all three units are drawn together.
const DRAWN_SHARE: f64 = 0.02;

/// The exemplars of a path; `rows` is what its units are called.
pub fn blocks(input: &Input<'_>, of: &[StageExemplars], rows: &str) -> Vec<Block> {
    let Some(total) = of.iter().find(|stage| stage.stage == TOTAL) else {
        return Vec::new();
    };
    let caption = format!("{rows} to look at: the slowest, the 99th percentile and the median");
    let mut blocks = vec![
        Block::Figure(Box::new(timeline(of, total, rows))),
        Block::Table(table(input, &[total], &caption)),
        Block::Code(
            distinct(total)
                .iter()
                .map(|(_, unit)| Text::from(format!("netmortem explain INPUT {}", unit.id)))
                .collect(),
        ),
    ];
    let stages: Vec<&StageExemplars> = of.iter().filter(|stage| stage.stage != TOTAL).collect();
    if !stages.is_empty() {
        blocks.push(Block::Details {
            summary: Text::from(format!("The same of each of {} stages", stages.len())),
            blocks: vec![
                Block::Figure(Box::new(timelines(of, &stages, rows))),
                Block::Table(table(input, &stages, "Worst, p99 and median of each stage")),
            ],
        });
    }
    blocks
}

/// Worst, p99 and median; of few units one may be two of them or all, and is there once.
fn distinct(stage: &StageExemplars) -> Vec<(String, &Exemplar)> {
    let mut out: Vec<(String, &Exemplar)> = Vec::new();
    for (which, unit) in [("worst", &stage.worst), ("p99", &stage.p99), ("median", &stage.median)] {
        match out.iter_mut().find(|(_, known)| known.id == unit.id) {
            Some((names, _)) => *names = format!("{names}, {which}"),
            None => out.push((which.to_owned(), unit)),
        }
    }
    out
}

/// Of whole times.
fn timeline(of: &[StageExemplars], total: &StageExemplars, rows: &str) -> Figure {
    let units = distinct(total);
    let labelled = units
        .into_iter()
        .map(|(which, unit)| (format!("{which} {}", unit.id), unit));
    let title = format!(
        "Where the slowest, the p99 and the median of the {} spent their time",
        rows.to_lowercase()
    );
    drawn(
        "exemplars",
        &title,
        of,
        labelled.collect(),
        "Of units with certain or strong links; of equals the one with the smallest id. The commands below print every event of each.",
    )
}

/// Of the times in each stage.
fn timelines(of: &[StageExemplars], stages: &[&StageExemplars], rows: &str) -> Figure {
    let units = stages.iter().flat_map(|stage| {
        let each = distinct(stage).into_iter();
        each.map(|(which, unit)| (format!("{}: {which} {}", words(stage.stage), unit.id), unit))
    });
    let title = format!(
        "The whole time of the {} that were worst, p99 and median in each stage",
        rows.to_lowercase()
    );
    drawn(
        "exemplars-by-stage",
        &title,
        of,
        units.collect(),
        "Each bar is the whole time of one unit, from its begin to its end; the table below has the time in the stage that it stands for.",
    )
}

/// The stages of units, one after the other, as parts of each unit's whole time.
fn drawn(id: &str, title: &str, of: &[StageExemplars], units: Vec<(String, &Exemplar)>, caption: &str) -> Figure {
    let share = |unit: &Exemplar, stage: &str| {
        let of = unit.stages.iter().find(|time| time.stage == stage);
        of.map_or(0, |time| time.ns).max(0) as f64 / unit.total_ns.max(1) as f64
    };
    let seen = |stage: &str| units.iter().any(|(_, unit)| share(unit, stage) >= DRAWN_SHARE);
    let stages: Vec<&str> = of.iter().map(|of| of.stage).filter(|stage| seen(stage)).collect();
    let row = |(label, unit): &(String, &Exemplar)| {
        let mut values: Vec<f64> = stages.iter().map(|stage| share(unit, stage)).collect();
        values.push((1.0 - values.iter().sum::<f64>()).max(0.0));
        BarRow {
            label: Text::from(label.as_str()),
            values,
            shown: Some(format::duration(unit.total_ns).into()),
        }
    };
    let mut parts: Vec<(Text, Tone)> = stages
        .iter()
        .enumerate()
        .map(|(nth, stage)| (Text::from(words(stage)), Tone::nth(nth)))
        .collect();
    parts.push(("the rest, and no stage".into(), Tone::Grey));
    let plot = Bars {
        label: "part of the unit's own time, in the order of the path".into(),
        unit: Unit::Fraction,
        parts,
        rows: units.iter().map(row).collect(),
    };
    let chart = ChartSpec {
        title: title.into(),
        note: Some("each bar is one unit, its whole time written behind it".into()),
        size: Size::Full,
        plot: Plot::Bars(plot),
    };
    figure(id, chart, caption)
}

fn table(input: &Input<'_>, stages: &[&StageExemplars], caption: &str) -> Table {
    let row = |stage: &StageExemplars, which: String, unit: &Exemplar| {
        vec![
            Cell::Id((&unit.id).into()),
            Cell::Text(words(stage.stage).into()),
            Cell::Text(Text::from(which)),
            Cell::Ns(unit.ns),
            Cell::Ns(unit.total_ns),
            Cell::At(input.since_start(unit.start_ns)),
            name_cell(&unit.dev),
            name_cell(&unit.task),
            Cell::known(unit.connection.as_ref(), |id| Cell::Id(id.into())),
            Cell::Count(u64::from(unit.cpu)),
            Cell::Text(unit.confidence.into()),
        ]
    };
    Table {
        caption: caption.into(),
        columns: vec![
            Column::text("id"),
            Column::text("of"),
            Column::text("which"),
            Column::time("time in it"),
            Column::time("whole"),
            Column::in_unit("at", "s"),
            Column::text("device"),
            Column::text("task"),
            Column::text("connection"),
            Column::number("CPU"),
            Column::text("confidence"),
        ],
        rows: stages
            .iter()
            .flat_map(|stage| distinct(stage).into_iter().map(|(which, unit)| row(stage, which, unit)))
            .collect(),
        note: Some(
            "An id is what `netmortem explain INPUT ID` takes; with the script, a click copies that command.".into(),
        ),
    }
}
