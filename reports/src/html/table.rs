//! A table as HTML: numbers right, durations in the unit of the heading or each in its own. The script sorts, filters and copies it; what it
//! needs for that and cannot read from the text (whole nanoseconds, bytes) is in `data-v`.

use std::collections::HashSet;

use maud::{Markup, html as markup};

use super::blocks::class;
use super::{Page, ids};
use crate::document::{Cell, Column, ColumnKind, Table};
use crate::format::TimeUnit;

/// Words up to this length stay on one line; longer ones get a column wide enough to be read.
const SHORT: usize = 30;

/// Anchors that rows have taken: one per id on a page.
pub type Anchors = HashSet<String>;

pub fn table(table: &Table, page: &mut Page) -> Markup {
    let units = table.time_units();
    let unit = |at: usize| units.get(at).copied().flatten();
    let rows: Vec<(Option<String>, &Vec<Cell>)> = table
        .rows
        .iter()
        .map(|row| (anchor(row, &mut page.anchors), row))
        .collect();
    markup! {
        div.scroll tabindex="0" role="group" aria-label=(label(table)) {
            table {
                @if !table.caption.is_empty() { caption { (table.caption.as_str()) } }
                thead { tr { @for (at, column) in table.columns.iter().enumerate() { (heading(column, is_time(table, at), unit(at))) } } }
                tbody { @for (id, row) in rows { tr id=[id] {
                    @for (at, cell) in row.iter().enumerate() { (data(table.columns.get(at), cell, unit(at), page)) }
                } } }
            }
        }
        @if let Some(note) = &table.note { p.note { (page.said(note.as_str())) } }
    }
}

/// What a screen reader calls it: its caption, else its columns.
fn label(table: &Table) -> String {
    match table.caption.as_str() {
        "" => {
            let titles: Vec<&str> = table.columns.iter().map(|column| column.title.as_str()).collect();
            titles.join(", ")
        }
        caption => caption.to_owned(),
    }
}

/// `rx=45` for a row whose first cell is `rx:45`, unless a row before has it.
fn anchor(row: &[Cell], anchors: &mut Anchors) -> Option<String> {
    let Some(Cell::Id(id)) = row.first() else { return None };
    let anchor = ids::fragment(id)?;
    anchors.insert(anchor.clone()).then_some(anchor)
}

/// Whether a column's cells are durations.
fn is_time(table: &Table, at: usize) -> bool {
    let durations = table.rows.iter().any(|row| matches!(row.get(at), Some(Cell::Ns(_))));
    durations
        || table
            .columns
            .get(at)
            .is_some_and(|column| column.kind == ColumnKind::Time)
}

fn heading(column: &Column, time: bool, unit: Option<TimeUnit>) -> Markup {
    let symbol = match time {
        true => unit.map(TimeUnit::symbol),
        false => column.unit,
    };
    let right = column.kind != ColumnKind::Text;
    markup! {
        th scope="col" class=[right.then_some("n")] data-u=[time.then_some("ns")] {
            // A column of badges needs no heading for who sees them.
            @if column.title.is_empty() { span.vh { "badge" } } @else { (column.title.as_str()) }
            @if let Some(symbol) = symbol { " " i { "(" (symbol) ")" } }
        }
    }
}

/// A path in parts between which a line may break: behind slashes, hyphens and underscores.
fn breakable(path: &str) -> impl Iterator<Item = &str> {
    path.split_inclusive(['/', '-', '_'])
}

fn data(column: Option<&Column>, cell: &Cell, unit: Option<TimeUnit>, page: &Page) -> Markup {
    let right = column.is_some_and(|column| column.kind != ColumnKind::Text);
    let shown = cell.shown(unit);
    let long = shown.chars().count() > SHORT;
    let classes = match (right, *cell == Cell::Unknown) {
        _ if matches!(cell, Cell::Link { .. }) => "l",
        (true, true) => "n u",
        (true, false) => "n",
        (false, true) => "u",
        (false, false) if long => "w",
        (false, false) => "s",
    };
    let value = match cell {
        Cell::Ns(ns) => Some(ns.to_string()),
        Cell::Bytes(bytes) => Some(bytes.to_string()),
        _ => None,
    };
    markup! {
        td class=(classes) data-v=[value] {
            @match cell {
                Cell::Code(_) => code { (shown) },
                Cell::Id(id) => (ids::cell(id, &page.input)),
                Cell::Link { href, .. } => a href=(href) { @for part in breakable(&shown) { (part) wbr; } },
                Cell::More(first, rest) => details { summary { (first.as_str()) } (page.said(rest.as_str())) },
                Cell::Spark(_, said) => code role="img" aria-label=(said.as_str()) title=(said.as_str()) { (shown) },
                Cell::Badge(severity, _) => span class={ "badge " (class(*severity)) } { (shown) },
                Cell::Text(_) => (page.said(&shown)),
                _ => (shown),
            }
        }
    }
}
