//! SQL over fact tables.

use netmortem_analyzer::table::FactTable;
use polars::prelude::IntoLazy;
use polars::sql::SQLContext;

use crate::rows::Rows;
use crate::{FramesError, frame};

/// Statements of the engine that change tables.
pub(crate) const CHANGES: [&str; 4] = ["drop", "truncate", "delete", "create"];

/// Runs one SQL statement. Only tables whose name is a word of the statement become data frames.
pub fn query(tables: &[&dyn FactTable], sql: &str) -> Result<Rows, FramesError> {
    let named: Vec<&&dyn FactTable> = tables.iter().filter(|t| words(sql).any(|w| w == t.name())).collect();
    if named.is_empty() {
        let views = tables.iter().map(|t| t.name()).collect::<Vec<_>>().join(", ");
        return Err(FramesError::NoView { views });
    }
    // The engine would run these on tables that are gone when it returns, and say nothing.
    let verb = words(sql).next().unwrap_or_default();
    if CHANGES.iter().any(|v| verb.eq_ignore_ascii_case(v)) {
        return Err(FramesError::NoSelect);
    }
    let mut context = SQLContext::new();
    for t in &named {
        context.register(t.name(), frame::of(**t)?.lazy());
    }
    let result = context.execute(sql).and_then(|lazy| lazy.collect());
    result.map(Rows::new).map_err(|e| FramesError::Query {
        message: e.to_string(),
        help: help(&named),
    })
}

/// Words of a statement; what is inside a string literal counts too, which only loads a table too many.
pub(crate) fn words(sql: &str) -> impl Iterator<Item = &str> {
    sql.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|w| !w.is_empty())
}

fn help(named: &[&&dyn FactTable]) -> String {
    let lines = named.iter().map(|t| {
        let columns: Vec<&str> = t.columns().iter().map(|c| c.name).collect();
        format!("columns of {}: {}", t.name(), columns.join(", "))
    });
    lines.collect::<Vec<_>>().join("\n")
}
