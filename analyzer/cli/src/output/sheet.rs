//! Cells with heads: what every table looks like to the writers.

use netmortem_analyzer::table::{Cell, CellKind, FactTable};
use netmortem_frames::Rows;

/// A column's head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Name.
    pub name: String,
    /// Type of its cells.
    pub kind: CellKind,
    /// Its cells are texts of JSON arrays.
    pub list: bool,
}

/// Cells of a row and a column.
type GetCell<'a> = Box<dyn Fn(usize, usize) -> Cell<'a> + 'a>;

/// A table, or chosen rows of one.
pub struct Sheet<'a> {
    /// Columns in order.
    pub heads: Vec<Head>,
    /// Chosen rows of the table, in order.
    pub rows: Vec<usize>,
    get: GetCell<'a>,
}

impl<'a> Sheet<'a> {
    /// All rows of a fact table.
    pub fn of_table(table: &'a dyn FactTable) -> Sheet<'a> {
        let columns = table.columns();
        let heads = columns.iter().map(|c| Head {
            name: c.name.to_owned(),
            kind: c.kind,
            list: false,
        });
        Sheet {
            heads: heads.collect(),
            rows: (0..table.len()).collect(),
            get: Box::new(|r, c| table.cell(r, c)),
        }
    }
    /// All rows of a query's result.
    pub fn of_rows(rows: &'a Rows) -> Sheet<'a> {
        let heads = rows.columns().iter().map(|c| Head {
            name: c.name.clone(),
            kind: c.kind,
            list: c.list,
        });
        Sheet {
            heads: heads.collect(),
            rows: (0..rows.len()).collect(),
            get: Box::new(|r, c| rows.cell(r, c)),
        }
    }
    /// A cell of a row of the underlying table.
    pub fn cell(&self, row: usize, column: usize) -> Cell<'a> {
        (self.get)(row, column)
    }
    /// Chosen rows, each as its cells.
    pub fn iter(&self) -> impl Iterator<Item = impl Iterator<Item = Cell<'a>>> {
        self.rows
            .iter()
            .map(|r| (0..self.heads.len()).map(|c| self.cell(*r, c)))
    }
}
