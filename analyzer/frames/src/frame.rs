//! One fact table as one data frame: same column names, same order of rows, `Null` stays null.

use netmortem_analyzer::table::{Cell, CellKind, FactTable};
use polars::prelude::{ChunkAgg, Column, DataFrame, DataType, NamedFrom, PolarsResult, Series, StringChunkedBuilder};
use polars::prelude::{IntoSeries, PlSmallStr};

/// The table as a data frame. A cell that is not of its column's kind becomes null.
pub fn of(table: &dyn FactTable) -> PolarsResult<DataFrame> {
    let columns = table.columns();
    let made: Vec<Column> = columns
        .iter()
        .enumerate()
        .map(|(c, info)| column(table, c, info.name, info.kind).into())
        .collect();
    DataFrame::new(table.len(), made)
}

/// Unsigned columns signed, for sums and differences: below zero the engine would go on from the largest number. A column of which
/// any frame has a value that is too large for it (an address) stays in all of them, so that they can be joined by it.
pub fn signed(frames: &mut [DataFrame]) -> PolarsResult<()> {
    let mut large: Vec<PlSmallStr> = vec![];
    for column in frames.iter().flat_map(DataFrame::columns) {
        if *column.dtype() == DataType::UInt64 && column.u64()?.max().is_some_and(|v| i64::try_from(v).is_err()) {
            large.push(column.name().clone());
        }
    }
    for frame in frames {
        let chosen = |c: &&Column| c.dtype().is_unsigned_integer() && !large.contains(c.name());
        let changed: Vec<Column> = frame.columns().iter().filter(chosen).cloned().collect();
        for column in changed {
            frame.with_column(column.cast(&DataType::Int64)?)?;
        }
    }
    Ok(())
}

fn column(table: &dyn FactTable, c: usize, name: &'static str, kind: CellKind) -> Series {
    let name = PlSmallStr::from_static(name);
    let cells = (0..table.len()).map(|row| table.cell(row, c));
    match kind {
        CellKind::I64 => Series::new(name, cells.map(|v| i64_of(&v)).collect::<Vec<_>>()),
        CellKind::U64 => Series::new(name, cells.map(|v| u64_of(&v)).collect::<Vec<_>>()),
        CellKind::F64 => Series::new(name, cells.map(|v| f64_of(&v)).collect::<Vec<_>>()),
        CellKind::Bool => Series::new(name, cells.map(|v| bool_of(&v)).collect::<Vec<_>>()),
        CellKind::Str => {
            let mut b = StringChunkedBuilder::new(name, table.len());
            for cell in cells {
                match cell {
                    Cell::Str(s) => b.append_value(&s),
                    _ => b.append_null(),
                }
            }
            b.finish().into_series()
        }
    }
}

fn i64_of(c: &Cell<'_>) -> Option<i64> {
    match c {
        Cell::I64(v) => Some(*v),
        Cell::U64(v) => i64::try_from(*v).ok(),
        _ => None,
    }
}

fn u64_of(c: &Cell<'_>) -> Option<u64> {
    match c {
        Cell::U64(v) => Some(*v),
        Cell::I64(v) => u64::try_from(*v).ok(),
        _ => None,
    }
}

fn f64_of(c: &Cell<'_>) -> Option<f64> {
    match c {
        Cell::F64(v) => Some(*v),
        _ => None,
    }
}

fn bool_of(c: &Cell<'_>) -> Option<bool> {
    match c {
        Cell::Bool(v) => Some(*v),
        _ => None,
    }
}
