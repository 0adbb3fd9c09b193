//! A table as HTML: numbers right, one unit of time for all durations, named in the heading.

use maud::{Markup, html as markup};

use super::blocks::class;
use crate::document::{Cell, Column, ColumnKind, Table};
use crate::format::TimeUnit;

/// Words up to this length stay on one line; longer ones get a column wide enough to be read.
const SHORT: usize = 30;

pub fn table(table: &Table) -> Markup {
    let unit = table.time_unit();
    markup! {
        div.scroll tabindex="0" role="group" aria-label=(table.caption.as_str()) {
            table {
                @if !table.caption.is_empty() { caption { (table.caption.as_str()) } }
                thead { tr { @for column in &table.columns { (heading(column, unit)) } } }
                tbody { @for row in &table.rows { tr { @for (at, cell) in row.iter().enumerate() { (data(table.columns.get(at), cell, unit)) } } } }
            }
        }
        @if let Some(note) = &table.note { p.note { (note.as_str()) } }
    }
}

fn heading(column: &Column, unit: TimeUnit) -> Markup {
    let symbol = match column.kind {
        ColumnKind::Time => Some(unit.symbol()),
        _ => column.unit,
    };
    let right = column.kind != ColumnKind::Text;
    markup! {
        th scope="col" class=[right.then_some("n")] {
            (column.title.as_str())
            @if let Some(symbol) = symbol { " " i { "(" (symbol) ")" } }
        }
    }
}

fn data(column: Option<&Column>, cell: &Cell, unit: TimeUnit) -> Markup {
    let right = column.is_some_and(|column| column.kind != ColumnKind::Text);
    let shown = cell.shown(unit);
    let long = shown.chars().count() > SHORT;
    let classes = match (right, *cell == Cell::Unknown) {
        (true, true) => "n u",
        (true, false) => "n",
        (false, true) => "u",
        (false, false) if long => "w",
        (false, false) => "s",
    };
    markup! {
        td class=(classes) {
            @match cell {
                Cell::Code(_) => code { (shown) },
                Cell::Badge(severity, _) => span class={ "badge " (class(*severity)) } { (shown) },
                _ => (shown),
            }
        }
    }
}
