//! The tracefs `format` text of one event, and the accessors bound from it.

mod access;
mod parse;
#[cfg(test)]
mod tests;
mod value_table;

pub use access::{BytesAccess, IntAccess, StrAccess};
pub use parse::{EventFormat, FieldFormat, FieldKind};
pub use value_table::{ValueTable, ValueTableKind};
