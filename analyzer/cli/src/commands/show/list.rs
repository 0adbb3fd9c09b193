//! Every table with its columns, units and meaning.

use std::io::Write;

use netmortem_analyzer::table::{Cell, CellKind, ColumnInfo, FactTable};

use super::ids::{self, Told};
use crate::output::{self, Format, Look, Sheet};
use crate::terminal::bold;

/// A column of a table.
struct Listed<'t> {
    view: &'t str,
    column: ColumnInfo,
    /// The one command that has it; empty: all of them.
    only_in: &'static str,
}

/// The list as a table of its own, for the formats that programs read.
struct Columns<'t> {
    rows: Vec<Listed<'t>>,
}

const fn column(name: &'static str, meaning: &'static str) -> ColumnInfo {
    ColumnInfo {
        name,
        unit: "",
        kind: CellKind::Str,
        meaning,
    }
}

impl FactTable for Columns<'_> {
    fn name(&self) -> &'static str {
        "list"
    }
    fn meaning(&self) -> &'static str {
        "one row per column of a table"
    }
    fn columns(&self) -> Vec<ColumnInfo> {
        vec![
            column("view", "table"),
            column("column", "column"),
            column("unit", "unit, empty for none"),
            column("type", "i64, u64, f64, bool, str"),
            column("meaning", "what it means, and when it is empty"),
            column("only_in", "show: neither SQL nor Parquet have it; empty: all have it"),
        ]
    }
    fn len(&self) -> usize {
        self.rows.len()
    }
    fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        let Some(Listed {
            view,
            column: c,
            only_in,
        }) = self.rows.get(row)
        else {
            return Cell::Null;
        };
        match column {
            0 => Cell::str(*view),
            1 => Cell::str(c.name),
            2 => Cell::str(c.unit),
            3 => Cell::str(kind(c.kind)),
            4 => Cell::str(c.meaning),
            _ => Cell::str(*only_in),
        }
    }
}

fn kind(k: CellKind) -> &'static str {
    match k {
        CellKind::I64 => "i64",
        CellKind::U64 => "u64",
        CellKind::F64 => "f64",
        CellKind::Bool => "bool",
        CellKind::Str => "str",
    }
}

/// The columns of a table in the order of `show`, with those that stand before its own.
fn listed(table: &dyn FactTable) -> impl Iterator<Item = Listed<'_>> {
    let columns = Told::new(table, None).columns();
    let before = columns.len().saturating_sub(table.columns().len());
    columns.into_iter().enumerate().map(move |(at, column)| Listed {
        view: table.name(),
        column,
        only_in: if at < before { "show" } else { "" },
    })
}

/// Writes the list of all tables, or of `only`.
pub fn write(
    tables: &[Box<dyn FactTable + '_>],
    only: Option<&dyn FactTable>,
    format: Format,
    look: Look,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let chosen = tables
        .iter()
        .map(|t| t.as_ref())
        .filter(|t| only.is_none_or(|o| o.name() == t.name()));
    if format == Format::Table {
        for (i, t) in chosen.enumerate() {
            let gap = if i > 0 { "\n" } else { "" };
            writeln!(out, "{gap}{}: {}", bold(t.name(), look.color), t.meaning())?;
            if let Some(kind) = ids::kind(t.name()) {
                writeln!(
                    out,
                    "  (show begins each row with its id for explain: {}:N)",
                    kind.word()
                )?;
            }
            let columns = t.columns();
            let width = columns.iter().map(|c| c.name.len()).max().unwrap_or(0);
            for c in &columns {
                writeln!(
                    out,
                    "  {:width$}  {:5}  {:8}  {}",
                    c.name,
                    kind(c.kind),
                    c.unit,
                    c.meaning
                )?;
            }
        }
        return Ok(out.flush()?);
    }
    let list = Columns {
        rows: chosen.flat_map(listed).collect(),
    };
    if format == Format::Parquet {
        netmortem_frames::to_parquet(&list, &mut *out)?;
        return Ok(out.flush()?);
    }
    Ok(output::print(&Sheet::of_table(&list), format, look, out)?)
}
