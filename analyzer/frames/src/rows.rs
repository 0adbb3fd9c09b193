//! The result of a query, read cell by cell.

use std::borrow::Cow;

use netmortem_analyzer::table::{Cell, CellKind};
use polars::prelude::{AnyValue, DataFrame, DataType, Series};

/// A column of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowsColumn {
    /// Its name, or the expression when the query gave none.
    pub name: String,
    /// Type of its cells; `Str` also stands for every type that fact tables do not have.
    pub kind: CellKind,
    /// Its cells are lists, each the text of a JSON array.
    pub list: bool,
}

/// Rows of a query's result.
#[derive(Debug, Clone)]
pub struct Rows {
    frame: DataFrame,
    columns: Vec<RowsColumn>,
}

impl Rows {
    pub(crate) fn new(mut frame: DataFrame) -> Rows {
        frame.rechunk_mut();
        let columns = frame.columns().iter().map(|c| RowsColumn {
            name: c.name().to_string(),
            kind: kind(c.dtype()),
            list: matches!(c.dtype(), DataType::List(_)),
        });
        Rows {
            columns: columns.collect(),
            frame,
        }
    }
    /// Columns in order.
    pub fn columns(&self) -> &[RowsColumn] {
        &self.columns
    }
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.frame.height()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// A cell; `Null` outside the result.
    pub fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        match self.frame.columns().get(column).map(|c| c.get(row)) {
            Some(Ok(v)) => cell(v),
            _ => Cell::Null,
        }
    }
    pub(crate) fn frame(&self) -> &DataFrame {
        &self.frame
    }
}

fn kind(t: &DataType) -> CellKind {
    match t {
        DataType::Boolean => CellKind::Bool,
        t if t.is_float() => CellKind::F64,
        t if t.is_unsigned_integer() => CellKind::U64,
        t if t.is_integer() => CellKind::I64,
        _ => CellKind::Str,
    }
}

/// All of a list, as JSON.
fn list(items: &Series) -> String {
    let items = items.iter().map(|v| match cell(v) {
        Cell::Null => "null".to_owned(),
        Cell::I64(v) => v.to_string(),
        Cell::U64(v) => v.to_string(),
        Cell::F64(v) if v.is_finite() => v.to_string(),
        Cell::F64(_) => "null".to_owned(),
        Cell::Bool(v) => v.to_string(),
        Cell::Str(s) => serde_json::Value::from(s).to_string(),
    });
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

fn cell(v: AnyValue<'_>) -> Cell<'_> {
    match v {
        AnyValue::Null => Cell::Null,
        AnyValue::Boolean(b) => Cell::Bool(b),
        AnyValue::String(s) => Cell::Str(Cow::Borrowed(s)),
        AnyValue::StringOwned(s) => Cell::Str(Cow::Owned(s.to_string())),
        AnyValue::Float32(f) => Cell::F64(f64::from(f)),
        AnyValue::Float64(f) => Cell::F64(f),
        v if v.is_unsigned_integer() => v.extract::<u64>().map_or(Cell::Null, Cell::U64),
        v if v.is_integer() => v.extract::<i64>().map_or(Cell::Null, Cell::I64),
        AnyValue::List(items) => Cell::Str(Cow::Owned(list(&items))),
        v => Cell::Str(Cow::Owned(v.to_string())),
    }
}
