//! A table with two columns before its own, which SQL and Parquet have not: `id`, as `explain` takes it, and `at_s`, seconds since the
//! first event, as the report prints times.
//!
//! A row keeps its id whatever is filtered: it is that of its place in the whole table, or of its `skb_id` or `connection`.

use netmortem_analyzer::explain::{Id, Kind};
use netmortem_analyzer::table::{Cell, CellKind, ColumnInfo, FactTable};

/// The column of ids.
pub const ID: ColumnInfo = ColumnInfo {
    name: "id",
    unit: "",
    kind: CellKind::Str,
    meaning: "the row, as `netmortem explain` takes it",
};
/// The column of moments.
pub const AT: ColumnInfo = ColumnInfo {
    name: "at_s",
    unit: "s",
    kind: CellKind::F64,
    meaning: "seconds since the first event of the recording, as the report prints them; in CSV and JSON where --columns asks for it",
};

/// Columns that tell when a row was, the first that is there and known counts.
const WHEN: [&str; 10] = [
    "time_ns",
    "start_ns",
    "birth_ns",
    "queued_ns",
    "send_ns",
    "ready_ns",
    "read_ns",
    "first_ns",
    "from_ns",
    "at_ns",
];

/// A table with the columns that stand before its own.
pub struct Told<'t> {
    table: &'t dyn FactTable,
    before: Vec<Before>,
}

/// A column that stands before those of the table.
enum Before {
    /// `id`: its kind, and the column of its number; the row's place where that is none.
    Id(Kind, Option<usize>),
    /// `at_s`: the columns to take it from, and the first event.
    At(Vec<usize>, Option<i64>),
}

/// What rows of a view are called; `None`: `explain` knows none of them.
pub fn kind(view: &str) -> Option<Kind> {
    Kind::ALL.into_iter().find(|k| k.view() == view)
}

impl<'t> Told<'t> {
    /// `start_ns`: the first event, where it is known.
    pub fn new(table: &'t dyn FactTable, start_ns: Option<i64>) -> Told<'t> {
        let columns = table.columns();
        let place = |name: &str| columns.iter().position(|c| c.name == name);
        let number = |of: Kind| match of {
            Kind::Skb | Kind::Rx | Kind::Tx => place("skb_id"),
            Kind::Conn => place("connection"),
            _ => None,
        };
        let when: Vec<usize> = WHEN.iter().filter_map(|name| place(name)).collect();
        let id = kind(table.name()).map(|k| Before::Id(k, number(k)));
        let at = (!when.is_empty()).then_some(Before::At(when, start_ns));
        Told {
            table,
            before: id.into_iter().chain(at).collect(),
        }
    }

    /// Indices of the columns that are shown where none is asked for: `at_s` is for reading, and programs have the table's own.
    pub fn usual(&self, for_reading: bool, ids: bool) -> Vec<usize> {
        let before = self.before.iter().enumerate().filter(|(_, b)| match b {
            Before::Id(..) => ids,
            Before::At(..) => for_reading,
        });
        let own = self.before.len()..self.columns().len();
        before.map(|(at, _)| at).chain(own).collect()
    }

    fn id(&self, row: usize, kind: Kind, number: Option<usize>) -> Cell<'_> {
        let id = match number.map(|c| self.table.cell(row, c)) {
            None => Id::at(kind, row),
            Some(Cell::U64(n)) => u32::try_from(n).ok().map(|n| Id::new(kind, n)),
            Some(_) => None,
        };
        id.map_or(Cell::Null, |id| Cell::str(id.to_string()))
    }

    fn at(&self, row: usize, when: &[usize], start: Option<i64>) -> Cell<'_> {
        let ns = when.iter().find_map(|c| match self.table.cell(row, *c) {
            Cell::I64(ns) => Some(ns),
            _ => None,
        });
        ns.zip(start).map_or(Cell::Null, |(ns, start)| {
            Cell::F64(ns.saturating_sub(start) as f64 / 1e9)
        })
    }
}

impl FactTable for Told<'_> {
    fn name(&self) -> &'static str {
        self.table.name()
    }
    fn meaning(&self) -> &'static str {
        self.table.meaning()
    }
    fn columns(&self) -> Vec<ColumnInfo> {
        let before = self.before.iter().map(|b| match b {
            Before::Id(..) => ID,
            Before::At(..) => AT,
        });
        before.chain(self.table.columns()).collect()
    }
    fn len(&self) -> usize {
        self.table.len()
    }
    fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        match self.before.get(column) {
            Some(Before::Id(kind, number)) => self.id(row, *kind, *number),
            Some(Before::At(when, start)) => self.at(row, when, *start),
            None => self.table.cell(row, column.saturating_sub(self.before.len())),
        }
    }
}
