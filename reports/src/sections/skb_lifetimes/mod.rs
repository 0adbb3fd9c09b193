//! skb lifetimes: how long an skb of each kind lived on each device. In: `Answers::lifetimes`. A life whose end is not known is counted, and never
//! drawn as a short or a long one.

use std::collections::BTreeSet;

use netmortem_analyzer::analyses::Outcome;
use netmortem_analyzer::analyses::lifetimes::{Group, Lifetimes};

use super::shared::{durations, id_cell, name_cell, quantile_cells, quantile_columns, truncation, unanswered, words};
use crate::chart::{Size, Tone};
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Figure, Section, Table};
use crate::format;
use crate::sections::Input;

const ID: &str = "skb-lifetimes";
const TITLE: &str = "skb lifetimes";
/// Groups whose pictures are open; the others are folded away.
const OPEN: usize = 6;
/// Groups with a picture at all.
const DRAWN: usize = 24;
/// Rows of the tables.
const ROWS: usize = 60;

/// Builds the section.
#[must_use]
pub fn section(input: &Input<'_>) -> Section {
    match &input.answers.lifetimes {
        Outcome::Unknown(reasons) => unanswered(ID, TITLE, reasons),
        Outcome::Findings(lifetimes) => Section {
            id: ID,
            title: TITLE.into(),
            lead: lead(lifetimes),
            blocks: blocks(lifetimes),
        },
    }
}

fn lead(lifetimes: &Lifetimes) -> Text {
    Text::from(format!(
        "{} lives on {} addresses; {} have both ends ({}).",
        format::count(lifetimes.lives),
        format::count(lifetimes.addresses),
        format::count(lifetimes.measured),
        format::share(lifetimes.measured, lifetimes.lives)
    ))
}

/// What a class is, for a reader who does not know the word.
fn kind(class: &str) -> String {
    match class {
        "rx" => "received".to_owned(),
        "tx" => "sent".to_owned(),
        "tx_segment" => "sent: built by software segmentation".to_owned(),
        "tx_original" => "sent: TCP original".to_owned(),
        "tx_clone" => "sent: clone for the device".to_owned(),
        "tx_other" => "sent: ACK, copy, not TCP".to_owned(),
        other => words(other),
    }
}

fn tone(class: &str) -> Tone {
    match class {
        "rx" => Tone::Blue,
        "tx_original" => Tone::Orange,
        "tx" | "tx_segment" => Tone::Green,
        "tx_clone" => Tone::Purple,
        "tx_other" => Tone::Teal,
        _ => Tone::Brown,
    }
}

fn blocks(lifetimes: &Lifetimes) -> Vec<Block> {
    let mut groups: Vec<&Group> = lifetimes.groups.iter().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.solid.n));
    let mut figures: Vec<Figure> = groups
        .iter()
        .take(DRAWN)
        .enumerate()
        .filter(|(_, group)| group.solid.n > 0)
        .map(picture)
        .collect();
    let folded = figures.split_off(figures.len().min(OPEN));
    let mut blocks = vec![
        Block::Paragraph("An address is re-used within microseconds, so a life is one use of it. Most TCP skbs die without an event; their end is known only where another event tells it.".into()),
        Block::Figures(figures),
    ];
    if !folded.is_empty() {
        let summary = Text::from(format!("{} more", folded.len()));
        blocks.push(Block::Details {
            summary,
            blocks: vec![Block::Figures(folded)],
        });
    }
    blocks.push(Block::Table(lives(&groups)));
    blocks.push(Block::Details {
        summary: "How they ended".into(),
        blocks: vec![Block::Table(deaths(&groups))],
    });
    blocks.push(Block::Code(vec!["netmortem show skbs INPUT --format csv".into()]));
    blocks
}

fn picture((at, group): (usize, &&Group)) -> Figure {
    let dev = if group.dev.is_empty() {
        "device not known".into()
    } else {
        Text::name(&group.dev)
    };
    let title = Text::from(format!("{}, {dev}", kind(group.class)));
    durations(
        format!("life-{}-{at}", group.class),
        title,
        &group.solid,
        Size::Half,
        tone(group.class),
        "skbs per bin",
        "",
    )
}

fn lives(groups: &[&Group]) -> Table {
    let mut columns = vec![Column::text("kind"), Column::text("device")];
    columns.extend(quantile_columns());
    columns.extend([
        Column::text("the longest"),
        Column::number("end unknown"),
        Column::number("n of all"),
        Column::time("p99 of all"),
    ]);
    let row = |group: &&Group| {
        let mut row = vec![Cell::Text(kind(group.class).into()), name_cell(&group.dev)];
        row.extend(quantile_cells(&group.solid));
        row.push(id_cell(group.worst));
        row.extend([
            Cell::Count(group.all.unknown),
            Cell::Count(group.all.n),
            Cell::known(group.all.p99_ns, Cell::Ns),
        ]);
        row
    };
    Table {
        caption: "Lives by kind and device".into(),
        columns,
        rows: groups.iter().take(ROWS).map(row).collect(),
        note: Some(
            truncation(groups.len().min(ROWS), groups.len(), "most measured lives first", "show skbs INPUT").unwrap_or_else(|| {
                "n to max are of certain and strong lives with both ends; “of all” counts weak ones too; “end unknown” is in neither.".into()
            }),
        ),
    }
}

fn deaths(groups: &[&Group]) -> Table {
    let kinds: BTreeSet<&'static str> = groups.iter().flat_map(|group| group.deaths.keys().copied()).collect();
    let mut columns = vec![Column::text("kind"), Column::text("device")];
    columns.extend(kinds.iter().map(|kind| Column::number(&words(kind))));
    let row = |group: &&Group| {
        let mut row = vec![Cell::Text(kind(group.class).into()), name_cell(&group.dev)];
        row.extend(
            kinds
                .iter()
                .map(|kind| Cell::Count(group.deaths.get(kind).copied().unwrap_or(0))),
        );
        row
    };
    Table {
        caption: Text::default(),
        columns,
        rows: groups.iter().take(ROWS).map(row).collect(),
        note: None,
    }
}

#[cfg(test)]
mod tests;
