//! What is said of an empty answer: that a value is in no row of this recording, and which are.

use std::collections::HashMap;

use netmortem_analyzer::table::FactTable;

use super::filter::{self, Filter};
use crate::output::clean;

/// Values that are named.
const MOST: usize = 12;

/// A line for each filter that asks for a value that no row has.
pub fn notes(table: &dyn FactTable, filters: &[Filter]) -> Vec<String> {
    filters.iter().filter_map(|f| note(table, f)).collect()
}

fn note(table: &dyn FactTable, of: &Filter) -> Option<String> {
    let view = table.name();
    let column = table.columns().get(of.column)?.name;
    let value = of.equal_to()?;
    let mut rows: HashMap<String, usize> = HashMap::new();
    for row in 0..table.len() {
        let cell = table.cell(row, of.column);
        if of.has_value(&cell) {
            return None;
        }
        *rows.entry(filter::text(&cell)).or_default() += 1;
    }
    rows.remove("");
    if rows.is_empty() {
        return Some(match table.len() {
            0 => format!("{view} has no row in this recording"),
            _ => format!("no row of {view} has {column}={value} in this recording: it is empty in all of them"),
        });
    }
    let mut known: Vec<(&str, usize)> = rows.iter().map(|(value, n)| (value.as_str(), *n)).collect();
    known.sort_by_key(|(value, n)| (std::cmp::Reverse(*n), *value));
    let names: Vec<&str> = known.iter().map(|(value, _)| *value).collect();
    let near = netmortem_frames::near(&value, &names);
    let meant = match near.is_empty() || value.parse::<f64>().is_ok() {
        true => String::new(),
        false => format!(
            "; did you mean {}?",
            near.iter().take(3).map(|n| clean(n)).collect::<Vec<_>>().join(" or ")
        ),
    };
    let shown: Vec<String> = names.iter().take(MOST).map(|n| clean(n).into_owned()).collect();
    let more = match names.len().saturating_sub(MOST) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    Some(format!(
        "no row of {view} has {column}={} in this recording{meant}; it has: {}{more}",
        clean(&value),
        shown.join(", ")
    ))
}
