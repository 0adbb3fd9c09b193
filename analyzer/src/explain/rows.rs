//! Rows of tables with the names and units of their columns.

use crate::facts::Facts;
use crate::table::Cell;

/// A row.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Row {
    /// Name of the view.
    pub view: &'static str,
    /// Its place there, from 0.
    pub place: usize,
    /// Its cells.
    pub cells: Vec<NamedCell>,
}

/// A cell.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct NamedCell {
    /// Column.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// `None`: unknown, or does not apply.
    pub value: Option<Value>,
}

/// A value.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum Value {
    /// Signed.
    I64(i64),
    /// Unsigned.
    U64(u64),
    /// Real.
    F64(f64),
    /// Truth value.
    Bool(bool),
    /// Text.
    Text(String),
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::I64(v) => write!(f, "{v}"),
            Value::U64(v) => write!(f, "{v}"),
            Value::F64(v) => write!(f, "{v}"),
            Value::Bool(v) => f.write_str(if *v { "yes" } else { "no" }),
            Value::Text(s) => f.write_str(s),
        }
    }
}

/// A row of a view.
pub fn row(facts: &Facts, view: &'static str, place: usize) -> Option<Row> {
    rows(facts, view, &[place]).pop()
}

/// Rows of a view by place.
pub fn rows(facts: &Facts, view: &'static str, places: &[usize]) -> Vec<Row> {
    let tables = facts.tables();
    let Some(table) = tables.iter().find(|t| t.name() == view) else {
        return vec![];
    };
    let columns = table.columns();
    let cells = |place: usize| {
        let of = columns.iter().enumerate().map(|(i, c)| NamedCell {
            name: c.name,
            unit: c.unit,
            value: match table.cell(place, i) {
                Cell::Null => None,
                Cell::I64(v) => Some(Value::I64(v)),
                Cell::U64(v) => Some(Value::U64(v)),
                Cell::F64(v) => Some(Value::F64(v)),
                Cell::Bool(v) => Some(Value::Bool(v)),
                Cell::Str(s) => Some(Value::Text(s.into_owned())),
            },
        });
        of.collect()
    };
    places
        .iter()
        .map(|&place| Row {
            view,
            place,
            cells: cells(place),
        })
        .collect()
}
