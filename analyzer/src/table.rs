//! Fact tables: typed rows with documented columns, readable cell by cell by whoever shows or exports them.
//!
//! ```text
//! Vec<Row> (typed, used by analyses) + &[Column<Row>] (name, unit, meaning, getter) -> dyn FactTable (show, query, JSON)
//! ```

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::OnceLock;

use crate::facts::{Facts, Names};
use crate::name::Name;

/// A value of a table. Unknown is `Null`, never 0.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'a> {
    /// Unknown, or does not apply.
    Null,
    /// Signed.
    I64(i64),
    /// Unsigned.
    U64(u64),
    /// Real.
    F64(f64),
    /// Truth value.
    Bool(bool),
    /// Text; may hold anything the recorded host named so.
    Str(Cow<'a, str>),
}

impl<'a> Cell<'a> {
    /// A text cell.
    pub fn str(s: impl Into<Cow<'a, str>>) -> Cell<'a> {
        Cell::Str(s.into())
    }
    /// A name; none where it is empty.
    pub fn name(name: &'a Name) -> Cell<'a> {
        match name.is_empty() {
            true => Cell::Null,
            false => Cell::Str(name.text()),
        }
    }
    /// A thread id; none where it is 0.
    pub fn thread(pid: i32) -> Cell<'a> {
        match pid {
            0 => Cell::Null,
            pid => Cell::I64(pid.into()),
        }
    }
    /// An IP address.
    pub fn ip(of: Option<IpAddr>) -> Cell<'a> {
        of.map_or(Cell::Null, |a| Cell::str(a.to_string()))
    }
    /// An address as `0x…`, the way the kernel prints pointers.
    pub fn address(a: u64) -> Cell<'a> {
        Cell::Str(Cow::Owned(format!("{a:#x}")))
    }
}

impl From<Option<i64>> for Cell<'_> {
    fn from(v: Option<i64>) -> Self {
        v.map_or(Cell::Null, Cell::I64)
    }
}
impl From<Option<f64>> for Cell<'_> {
    fn from(v: Option<f64>) -> Self {
        v.map_or(Cell::Null, Cell::F64)
    }
}
impl From<Option<u64>> for Cell<'_> {
    fn from(v: Option<u64>) -> Self {
        v.map_or(Cell::Null, Cell::U64)
    }
}
impl From<Option<u32>> for Cell<'_> {
    fn from(v: Option<u32>) -> Self {
        v.map_or(Cell::Null, |v| Cell::U64(u64::from(v)))
    }
}
impl From<Option<bool>> for Cell<'_> {
    fn from(v: Option<bool>) -> Self {
        v.map_or(Cell::Null, Cell::Bool)
    }
}

/// Type of all non-null cells of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CellKind {
    /// [`Cell::I64`]
    I64,
    /// [`Cell::U64`]
    U64,
    /// [`Cell::F64`]
    F64,
    /// [`Cell::Bool`]
    Bool,
    /// [`Cell::Str`]
    Str,
}

/// A column as told to users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct ColumnInfo {
    /// Name; ends in `_ns`, `_us`, `_bytes` where it has that unit.
    pub name: &'static str,
    /// Unit: `ns`, `us`, `bytes`, `packets`, `count`, `id`, `` for none.
    pub unit: &'static str,
    /// Type of its cells.
    pub kind: CellKind,
    /// What it means, and when it is empty.
    pub meaning: &'static str,
}

/// A column with its getter.
pub struct Column<R> {
    /// What users are told.
    pub info: ColumnInfo,
    /// Reads it.
    pub get: for<'a> fn(&'a R, &'a Names) -> Cell<'a>,
}

/// A column in one line: `col!(name, unit, kind, "meaning", |row, names| cell)`.
macro_rules! col {
    ($name:literal, $unit:literal, $kind:ident, $meaning:literal, $get:expr) => {
        $crate::table::Column {
            info: $crate::table::ColumnInfo {
                name: $name,
                unit: $unit,
                kind: $crate::table::CellKind::$kind,
                meaning: $meaning,
            },
            get: $get,
        }
    };
}
pub(crate) use col;

/// The definition of a table: what a tracker's `tables.rs` states.
pub struct TableDef<R: 'static> {
    /// Name of the view.
    pub name: &'static str,
    /// What a row is.
    pub meaning: &'static str,
    /// Columns in order.
    pub columns: &'static [Column<R>],
}

/// A table as its readers see it.
pub trait FactTable: Sync {
    /// Name of the view.
    fn name(&self) -> &'static str;
    /// What a row is.
    fn meaning(&self) -> &'static str;
    /// Columns in order.
    fn columns(&self) -> Vec<ColumnInfo>;
    /// Rows.
    fn len(&self) -> usize;
    /// Whether it has no row.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// A cell; `Null` outside the table.
    fn cell(&self, row: usize, column: usize) -> Cell<'_>;
}

/// Rows and their definition.
pub struct Typed<'f, R: 'static> {
    /// Definition.
    pub def: &'static TableDef<R>,
    /// Rows.
    pub rows: &'f [R],
    /// What ids in the rows are called.
    pub names: &'f Names,
}

impl<R: Sync + 'static> FactTable for Typed<'_, R> {
    fn name(&self) -> &'static str {
        self.def.name
    }
    fn meaning(&self) -> &'static str {
        self.def.meaning
    }
    fn columns(&self) -> Vec<ColumnInfo> {
        self.def.columns.iter().map(|c| c.info).collect()
    }
    fn len(&self) -> usize {
        self.rows.len()
    }
    fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        match (self.rows.get(row), self.def.columns.get(column)) {
            (Some(r), Some(c)) => (c.get)(r, self.names),
            _ => Cell::Null,
        }
    }
}

/// Rows that are made of those of other tables, when the first of them is asked for.
pub struct Derived<'f, R: 'static> {
    /// Definition.
    pub def: &'static TableDef<R>,
    /// What they are made of.
    pub facts: &'f Facts,
    /// Makes them.
    pub make: fn(&Facts) -> Vec<R>,
    /// Once made.
    pub rows: OnceLock<Vec<R>>,
}

impl<R: 'static> Derived<'_, R> {
    fn rows(&self) -> &[R] {
        self.rows.get_or_init(|| (self.make)(self.facts))
    }
}

impl<R: Send + Sync + 'static> FactTable for Derived<'_, R> {
    fn name(&self) -> &'static str {
        self.def.name
    }
    fn meaning(&self) -> &'static str {
        self.def.meaning
    }
    fn columns(&self) -> Vec<ColumnInfo> {
        self.def.columns.iter().map(|c| c.info).collect()
    }
    fn len(&self) -> usize {
        self.rows().len()
    }
    fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        match (self.rows().get(row), self.def.columns.get(column)) {
            (Some(r), Some(c)) => (c.get)(r, &self.facts.names),
            _ => Cell::Null,
        }
    }
}
