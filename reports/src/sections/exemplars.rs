//! Units to look at, of either path: the worst, the 99th percentile and the median of every stage, each with the command that prints its
//! whole story; and whole times by device, CPU, process and connection. In: `Answers::exemplars`, `Answers::breakdown`.

use netmortem_analyzer::analyses::breakdown::{Group, Kind};
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
            blocks: vec![Block::Table(table(
                input,
                &stages,
                "Worst, p99 and median of each stage",
            ))],
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

/// The stages of each unit, one after the other, as parts of its whole time.
fn timeline(of: &[StageExemplars], total: &StageExemplars, rows: &str) -> Figure {
    let share = |unit: &Exemplar, stage: &str| {
        let ns = unit
            .stages
            .iter()
            .find(|time| time.stage == stage)
            .map_or(0, |time| time.ns);
        ns.max(0) as f64 / unit.total_ns.max(1) as f64
    };
    let units = distinct(total);
    let drawn: Vec<(usize, &str)> = of
        .iter()
        .map(|stage| stage.stage)
        .enumerate()
        .filter(|(_, stage)| units.iter().any(|(_, unit)| share(unit, stage) >= DRAWN_SHARE))
        .collect();
    let row = |(which, unit): (String, &Exemplar)| {
        let mut values: Vec<f64> = drawn.iter().map(|(_, stage)| share(unit, stage)).collect();
        values.push((1.0 - values.iter().sum::<f64>()).max(0.0));
        BarRow {
            label: Text::from(format!("{which} {}", unit.id)),
            values,
            shown: Some(format::duration(unit.total_ns).into()),
        }
    };
    let mut parts: Vec<(Text, Tone)> = drawn
        .iter()
        .enumerate()
        .map(|(nth, (_, stage))| (Text::from(words(stage)), Tone::nth(nth)))
        .collect();
    parts.push(("the rest, and no stage".into(), Tone::Grey));
    let plot = Bars {
        label: "part of the unit's own time, in the order of the path".into(),
        unit: Unit::Fraction,
        parts,
        rows: units.into_iter().map(row).collect(),
    };
    let chart = ChartSpec {
        title: Text::from(format!(
            "Where the slowest, the p99 and the median of the {} spent their time",
            rows.to_lowercase()
        )),
        note: Some("each bar is one unit, its whole time written behind it".into()),
        size: Size::Full,
        plot: Plot::Bars(plot),
    };
    figure(
        "exemplars",
        chart,
        "Of units with certain or strong links; of equals the one with the smallest id. The commands below print every event of each.",
    )
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

/// Tables of whole times by what units have in common; those with one group only say nothing and are left out.
pub fn groups(kinds: &[Kind], rows: &str, command: &str) -> Vec<Block> {
    let several = kinds.iter().filter(|kind| kind.groups.len() > 1);
    let tables: Vec<Block> = several
        .map(|kind| Block::Table(group_table(kind, rows, command)))
        .collect();
    let single: Vec<String> = kinds
        .iter()
        .filter_map(|kind| match kind.groups.as_slice() {
            [only] if !only.name.is_empty() => Some(format!("{} {}", kind.by, Text::name(&only.name))),
            _ => None,
        })
        .collect();
    let said = match single.is_empty() {
        true => None,
        false => Some(Block::Paragraph(Text::from(format!(
            "All {rows} belong to {}.",
            single.join(", ")
        )))),
    };
    said.into_iter().chain(tables).collect()
}

fn group_table(kind: &Kind, rows: &str, command: &str) -> Table {
    let time = |ns| Cell::known(ns, Cell::Ns);
    let row = |group: &Group| {
        vec![
            match (group.name.is_empty(), kind.by) {
                (true, _) => Cell::Unknown,
                (false, "connection") => Cell::Id((&group.name).into()),
                (false, _) => name_cell(&group.name),
            },
            Cell::Count(group.n),
            Cell::Fraction(group.share),
            time(group.p50_ns),
            time(group.p99_ns),
            time(group.max_ns),
            Cell::known(group.top, |(stage, _)| Cell::Text(words(stage).into())),
            Cell::known(group.top, |(_, share)| Cell::Fraction(share)),
        ]
    };
    Table {
        caption: Text::from(format!("Whole time by {}", kind.by)),
        columns: vec![
            Column::text(kind.by),
            Column::number("n"),
            Column::number("share of all time"),
            Column::time("p50"),
            Column::time("p99"),
            Column::time("max"),
            Column::text("most of it"),
            Column::number("its share"),
        ],
        rows: kind.groups.iter().map(row).collect(),
        note: (kind.others > 0).then(|| {
            Text::from(format!(
                "Most summed time of {rows} first; {} more are left out: netmortem show {command} INPUT",
                format::count(kind.others)
            ))
        }),
    }
}
