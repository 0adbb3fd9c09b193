//! The tracefs `format` text of one event, and the accessors bound from it.

mod access;
mod parse;
mod value_table;
#[cfg(test)]
mod tests;

pub use access::{BytesAccess, IntAccess, StrAccess};
pub use parse::{EventFormat, FieldFormat, FieldKind};
pub use value_table::{ValueTable, ValueTableKind};
