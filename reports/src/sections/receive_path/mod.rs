//! The receive path: where delivered packets spent their time. In: `Answers::receive`.
//!
//! ```text
//! lead (p50, p99, max of the whole) -> waterfall -> table of stages -> ECDFs compared -> histogram + ECDF each -> by device, by reader -> worst units
//! ```
//! Percentiles are those of the certain and strong units; the tables give all units beside them. Shares are of the summed time, so they add up.

use std::collections::BTreeMap;

use netmortem_analyzer::analyses::Outcome;
use netmortem_analyzer::analyses::receive::{Example, Receive, StageTimes};
use netmortem_analyzer::stat::Distribution as Summary;

use super::shared::{
    compared, durations, figure, name_cell, quantile_cells, quantile_columns, truncation, unanswered, words,
};
use crate::chart::{ChartSpec, Plot, Size, Stage, Tone, Waterfall};
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Figure, Section, Table};
use crate::format;
use crate::sections::Input;

const ID: &str = "receive-path";
const TITLE: &str = "Receive path";
/// Stages whose pictures are open; the others are folded away.
const OPEN_STAGES: usize = 6;
/// Devices or readers in a table, and curves in a picture.
const NAMES: usize = 20;
const CURVES: usize = 6;

/// Builds the section.
#[must_use]
pub fn section(input: &Input<'_>) -> Section {
    match &input.answers.receive {
        Outcome::Unknown(reasons) => unanswered(ID, TITLE, reasons),
        Outcome::Findings(receive) => Section {
            id: ID,
            title: TITLE.into(),
            lead: lead(receive),
            blocks: blocks(input, receive),
        },
    }
}

fn lead(receive: &Receive) -> Text {
    let total = &receive.total.solid;
    let time = |ns| format::or_unknown(ns, format::duration);
    Text::from(format!(
        "From its first event to the end of the read that took it, a packet needed {} at the median, {} at p99, {} at most (n = {}).",
        time(total.p50_ns),
        time(total.p99_ns),
        time(total.max_ns),
        format::count(total.n)
    ))
}

/// Which units the percentiles leave out, and why.
fn excluded(receive: &Receive) -> String {
    let of = |why: &str| receive.excluded.get(why).copied().unwrap_or(0);
    let cut: Vec<String> = [
        ("loss", "shadowed by lost events"),
        ("censored_start", "under way when recording began"),
        ("censored_end", "not read by its end"),
    ]
    .into_iter()
    .filter(|(why, _)| of(why) > 0)
    .map(|(why, text)| format!("{} {text}", format::count(of(why))))
    .collect();
    let none = match cut.is_empty() {
        true => "No unit is left out of the percentiles".to_string(),
        false => format!(
            "Left out of every percentile, because their time is only known to be at least something: {}",
            cut.join(", ")
        ),
    };
    format!(
        "{none}; {} of weak or unknown links are in the percentiles of all, and not in those of certain and strong links.",
        format::count(of("not_solid"))
    )
}

fn blocks(input: &Input<'_>, receive: &Receive) -> Vec<Block> {
    let confidence: Vec<String> = receive
        .by_confidence
        .iter()
        .rev()
        .map(|(word, n)| format!("{} {word}", format::count(*n)))
        .collect();
    let mut blocks = vec![
        Block::Paragraph(Text::from(format!(
            "{} units (an skb after GRO) were read, {} carried no payload and ended in the protocol, {} were queued and not seen read. Confidence: {}.",
            format::count(receive.read),
            format::count(receive.protocol_only),
            format::count(receive.queued),
            confidence.join(", ")
        ))),
        Block::Paragraph(Text::from(excluded(receive))),
        Block::Figure(Box::new(waterfall(receive))),
        Block::Table(stages(receive)),
        Block::Details {
            summary: "What passes in each stage".into(),
            blocks: vec![Block::Table(meanings(receive))],
        },
    ];
    let order = by_share(receive);
    let tone = |stage: &StageTimes| tone(receive, stage);
    let curves = order
        .iter()
        .take(CURVES)
        .map(|stage| (Text::from(words(stage.stage)), &stage.solid));
    blocks.extend(
        compared(
            "compared",
            "The stages that took most, compared",
            Size::Full,
            curves,
            "The share of units (up) that needed at most that time (right): a curve further right is a slower stage.",
        )
        .map(|figure| Block::Figure(Box::new(figure))),
    );

    let picture = |stage: &StageTimes, size| {
        let title = Text::from(match stage.stage {
            "total" => "whole time".to_owned(),
            "rcvq" => "receive queue: all stages of the reader".to_owned(),
            name => words(name),
        });
        durations(
            format!("stage-{}", stage.stage),
            title,
            &stage.solid,
            size,
            tone(stage),
            "units per bin",
            stage.meaning,
        )
    };
    blocks.push(Block::Figures(vec![
        picture(&receive.total, Size::Half),
        picture(&receive.rcvq, Size::Half),
    ]));
    // Pictures in path order; the biggest are open.
    let open: Vec<&str> = order.iter().take(OPEN_STAGES).map(|stage| stage.stage).collect();
    let drawn = || every(receive).filter(|stage| stage.solid.n > 0);
    let figures = |is_open: bool| -> Vec<Figure> {
        drawn()
            .filter(|stage| open.contains(&stage.stage) == is_open)
            .map(|stage| picture(stage, Size::Half))
            .collect()
    };
    blocks.push(Block::Figures(figures(true)));
    let rest = figures(false);
    if !rest.is_empty() {
        let summary = Text::from(format!("The {} stages that took least", rest.len()));
        blocks.push(Block::Details {
            summary,
            blocks: vec![Block::Figures(rest)],
        });
    }
    blocks.extend(by_name("device", "Whole time by receiving device", &receive.by_dev));
    blocks.extend(by_name("reader", "Whole time by reading task", &receive.by_task));
    if !receive.worst.is_empty() {
        blocks.push(Block::Table(worst(input, &receive.worst)));
    }
    blocks.push(Block::Code(vec!["netmortem show rx INPUT --format csv".into()]));
    blocks
}

/// Stages and the unattributed rest, in path order.
fn every(receive: &Receive) -> impl Iterator<Item = &StageTimes> {
    receive.stages.iter().chain([&receive.unattributed])
}

fn by_share(receive: &Receive) -> Vec<&StageTimes> {
    let mut order: Vec<&StageTimes> = every(receive).filter(|stage| stage.solid.n > 0).collect();
    order.sort_by(|a, b| b.share.total_cmp(&a.share));
    order
}

fn tone(receive: &Receive, stage: &StageTimes) -> Tone {
    if stage.stage == receive.unattributed.stage {
        return Tone::Grey;
    }
    receive
        .stages
        .iter()
        .position(|other| other.stage == stage.stage)
        .map_or(Tone::Blue, Tone::nth)
}

fn waterfall(receive: &Receive) -> Figure {
    let stage = |times: &StageTimes| Stage {
        name: words(times.stage).into(),
        n: times.solid.n,
        share: (times.all.n > 0).then_some(times.share),
        p50_ns: times.solid.p50_ns,
        p90_ns: times.solid.p90_ns,
        p99_ns: times.solid.p99_ns,
        max_ns: times.solid.max_ns,
        tone: tone(receive, times),
    };
    let plot = Waterfall {
        share_label: "share of the summed time".into(),
        unit_label: "time per unit, log scale".into(),
        stages: every(receive).map(stage).collect(),
    };
    let chart = ChartSpec {
        title: "Where received packets spent their time".into(),
        note: Some(Text::from(format!(
            "{} units read; percentiles of the certain and strong ones",
            format::count(receive.read)
        ))),
        size: Size::Full,
        plot: Plot::Waterfall(plot),
    };
    figure(
        "waterfall",
        chart,
        "In the order of the path. Left: each stage's share of the time of all units that were read; the shares add up to all of it. Right: the bar goes from p50 to p99.",
    )
}

fn stages(receive: &Receive) -> Table {
    let mut columns = vec![Column::text("stage")];
    columns.extend(quantile_columns());
    columns.extend([
        Column::number("share"),
        Column::number("n of all"),
        Column::time("p99 of all"),
    ]);
    let row = |times: &StageTimes| {
        let mut row = vec![Cell::Text(words(times.stage).into())];
        row.extend(quantile_cells(&times.solid));
        row.extend([
            Cell::known((times.all.n > 0).then_some(times.share), Cell::Fraction),
            Cell::Count(times.all.n),
            Cell::known(times.all.p99_ns, Cell::Ns),
        ]);
        row
    };
    let mut rows: Vec<Vec<Cell>> = every(receive).map(row).collect();
    rows.push(row(&receive.total));
    Table {
        caption: "Stages".into(),
        columns,
        rows,
        note: Some("n, p50, p90, p99 and max are of the certain and strong units; “of all” counts weak ones too. A stage's n counts the units in which it happened and was seen.".into()),
    }
}

fn meanings(receive: &Receive) -> Table {
    let row = |times: &StageTimes| vec![Cell::Text(words(times.stage).into()), Cell::Text(times.meaning.into())];
    Table {
        caption: Text::default(),
        columns: vec![Column::text("stage"), Column::text("from, to")],
        rows: every(receive).chain([&receive.total, &receive.rcvq]).map(row).collect(),
        note: None,
    }
}

fn by_name(what: &str, title: &str, groups: &BTreeMap<String, Summary>) -> Vec<Block> {
    let mut order: Vec<(&String, &Summary)> = groups.iter().collect();
    order.sort_by_key(|(_, summary)| std::cmp::Reverse(summary.n));
    if order.is_empty() {
        return Vec::new();
    }
    let mut columns = vec![Column::text(what)];
    columns.extend(quantile_columns());
    let row = |(name, summary): &(&String, &Summary)| {
        let mut row = vec![name_cell(name)];
        row.extend(quantile_cells(summary));
        row
    };
    let table = Table {
        caption: title.into(),
        columns,
        rows: order.iter().take(NAMES).map(row).collect(),
        note: truncation(order.len().min(NAMES), order.len(), "most units first", "show rx INPUT"),
    };
    let mut blocks = vec![Block::Table(table)];
    if order.len() > 1 {
        let curves = order.iter().take(CURVES).map(|(name, summary)| (shown(name), *summary));
        let picture = compared(&format!("by-{what}"), title, Size::Full, curves, "");
        blocks.extend(picture.map(|figure| Block::Figure(Box::new(figure))));
    }
    blocks
}

fn shown(name: &str) -> Text {
    if name.is_empty() {
        "not known".into()
    } else {
        Text::name(name)
    }
}

fn worst(input: &Input<'_>, examples: &[Example]) -> Table {
    let row = |example: &Example| {
        vec![
            Cell::Count(u64::from(example.skb_id)),
            Cell::At(input.since_start(example.start_ns)),
            Cell::Ns(example.total_ns),
            Cell::Text(words(example.top_stage).into()),
            Cell::Ns(example.top_ns),
            name_cell(&example.dev),
            name_cell(&example.task),
            Cell::known(example.connection, |id| Cell::Count(u64::from(id))),
            Cell::Text(example.confidence.into()),
        ]
    };
    Table {
        caption: "The slowest units".into(),
        columns: vec![
            Column::number("skb"),
            Column::in_unit("at", "s"),
            Column::time("whole"),
            Column::text("longest stage"),
            Column::time("its time"),
            Column::text("device"),
            Column::text("reader"),
            Column::number("connection"),
            Column::text("confidence"),
        ],
        rows: examples.iter().map(row).collect(),
        note: None,
    }
}

#[cfg(test)]
mod tests;
