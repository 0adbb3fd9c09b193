//! Neighbours that had another link-layer address for a while, and what went wrong then; addresses that two hosts have. In: `Answers::neighbours`,
//! `Answers::flapping`.

use netmortem_analyzer::analyses::neighbours::{Flapping, Spell};
use netmortem_analyzer::explain::{Id, Kind};

use crate::clean::Text;
use crate::document::{Block, Cell, Column, Severity, Table};
use crate::sections::Input;
use crate::sections::shared::{id_cell, name_cell, truncation};

/// Rows of the table.
const ROWS: usize = 20;

/// What the figures are.
const HOW: &str = "Astray: frames queued on the device in that time that came to a device they were not addressed to; sent again: TCP \
                   segments queued on it then that were; that either went by this neighbour is inferred.";

/// What these are.
const TWICE: &str = "Changes of entries of all namespaces, each by what a neighbour sent. That two hosts have the address is inferred: a pair of \
                     routers that takes it over again and again looks the same.";

/// The table and how to see every event; nothing where no address changed.
pub fn changed(input: &Input<'_>) -> Vec<Block> {
    let spells = &input.answers.neighbours;
    let twice = flapping(input);
    if spells.is_empty() {
        return twice;
    }
    let row = |s: &Spell| {
        let judged = match (s.strayed, s.resent) {
            (0, 0) => Cell::Text("changed".into()),
            (0, _) => Cell::Badge(Severity::Notice, "look".into()),
            _ => Cell::Badge(Severity::Bad, "look".into()),
        };
        vec![
            judged,
            name_cell(&s.address),
            name_cell(&s.dev),
            name_cell(&format!("{} {}", s.lladdr, s.state)),
            Cell::At(input.since_start(s.from_ns)),
            s.to_ns
                .map_or(Cell::Text("the end".into()), |to| Cell::At(input.since_start(to))),
            Cell::Count(s.strayed),
            Cell::Count(s.resent),
            Cell::Text(Text::name(&s.by)),
            name_cell(&s.before),
            s.after.as_deref().map_or(Cell::Unknown, name_cell),
            id_cell(s.id),
            id_cell(first_drop(s)),
        ]
    };
    let table = Table {
        caption: "Neighbours whose link-layer address changed".into(),
        columns: vec![
            Column::text(""),
            Column::text("neighbour"),
            Column::text("device"),
            Column::text("was"),
            Column::in_unit("from", "s"),
            Column::in_unit("to", "s"),
            Column::number("astray"),
            Column::number("sent again"),
            Column::text("set by"),
            Column::text("before"),
            Column::text("after"),
            Column::text("the change"),
            Column::text("first astray"),
        ],
        rows: spells.iter().take(ROWS).map(row).collect(),
        note: truncation(
            spells.len().min(ROWS),
            spells.len(),
            "those with most frames astray first",
            "show neighbours INPUT",
        ),
    };
    let spells = [
        Block::Table(table),
        Block::Paragraph(HOW.into()),
        Block::Code(vec!["netmortem show neighbours INPUT".into()]),
    ];
    twice.into_iter().chain(spells).collect()
}

fn first_drop(s: &Spell) -> Option<Id> {
    let at = usize::try_from(s.first_drop?).ok()?;
    Id::at(Kind::Drop, at)
}

/// Addresses that two hosts have.
fn flapping(input: &Input<'_>) -> Vec<Block> {
    let all = &input.answers.flapping;
    if all.is_empty() {
        return vec![];
    }
    let row = |f: &Flapping| {
        vec![
            Cell::Badge(Severity::Notice, "look".into()),
            name_cell(&f.address),
            name_cell(&f.lladdr),
            name_cell(&f.other),
            Cell::Count(f.there),
            Cell::Count(f.back),
            Cell::At(f.first_ns),
            Cell::At(f.last_ns),
            id_cell(f.first),
        ]
    };
    let table = Table {
        caption: "Addresses whose entries went between two link-layer addresses".into(),
        columns: vec![
            Column::text(""),
            Column::text("neighbour"),
            Column::text("one"),
            Column::text("the other"),
            Column::number("there"),
            Column::number("back"),
            Column::in_unit("first", "s"),
            Column::in_unit("last", "s"),
            Column::text("the first"),
        ],
        rows: all.iter().take(ROWS).map(row).collect(),
        note: truncation(
            all.len().min(ROWS),
            all.len(),
            "those with most changes first",
            "show neighbours INPUT",
        ),
    };
    vec![
        Block::Table(table),
        Block::Paragraph(TWICE.into()),
        Block::Code(vec!["netmortem show neighbours INPUT".into()]),
    ]
}
