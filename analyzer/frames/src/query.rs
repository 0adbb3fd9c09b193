//! SQL over fact tables.

use netmortem_analyzer::table::FactTable;
use polars::prelude::{IntoLazy, PolarsError};
use polars::sql::SQLContext;

use crate::rows::Rows;
use crate::statement::{prepared, run};
use crate::{FramesError, frame};

/// Statements of the engine that change tables.
const CHANGES: [&str; 4] = ["drop", "truncate", "delete", "create"];

/// Runs one SQL statement. Only tables whose name is a word of the statement become data frames. `:start` in it is `start_ns`.
pub fn query(tables: &[&dyn FactTable], sql: &str, start_ns: Option<i64>) -> Result<Rows, FramesError> {
    let sql = &prepared(sql, start_ns)?;
    question(sql)?;
    let named: Vec<&&dyn FactTable> = tables.iter().filter(|t| words(sql).any(|w| w == t.name())).collect();
    if named.is_empty() {
        let names: Vec<&str> = tables.iter().map(|t| t.name()).collect();
        return Err(no_view(sql, &names));
    }
    let mut context = SQLContext::new();
    for t in &named {
        context.register(t.name(), frame::of(**t)?.lazy());
    }
    let result = run(&mut context, sql);
    result.map(Rows::new).map_err(|e| mistake(&e, help(&named)))
}

/// What the engine says, without its plan and the columns of which it says that there are none.
pub(crate) fn mistake(e: &PolarsError, help: String) -> FramesError {
    let said = e.to_string();
    let first = said.split("\n\n").next().unwrap_or_default();
    let message = first.split("; valid columns").next().unwrap_or_default().to_owned();
    FramesError::Query { message, help }
}

/// Refuses what the engine would run without an error and get wrong.
pub(crate) fn question(sql: &str) -> Result<(), FramesError> {
    // On tables that are gone when it returns.
    let verb = words(sql).next().unwrap_or_default();
    match CHANGES.iter().any(|v| verb.eq_ignore_ascii_case(v)) {
        true => Err(FramesError::NoSelect),
        false if sums_a_number(sql) => Err(FramesError::SumOfANumber),
        false => Ok(()),
    }
}

/// A sum over rows of a number in digits: the engine has one such number, not one for each row, and gives it back as if it were the sum.
fn sums_a_number(sql: &str) -> bool {
    // What is between quotes is text, or a name.
    let outside: Vec<&str> = sql.split(['\'', '"']).step_by(2).collect();
    let sql = outside.join(" x ").to_ascii_lowercase();
    sql.match_indices("sum").any(|(at, word)| {
        let before = sql.get(..at).and_then(|b| b.chars().next_back());
        let begins = before.is_none_or(|c| !(c.is_alphanumeric() || c == '_'));
        let rest = sql.get(at + word.len()..).unwrap_or_default().trim_start();
        let inside = rest.strip_prefix('(').and_then(|r| r.split_once(')'));
        begins
            && inside.is_some_and(|(of, _)| {
                of.trim_matches(|c: char| c.is_whitespace() || c == '(')
                    .parse::<f64>()
                    .is_ok()
            })
    })
}

/// That no view is named, with those that may have been meant.
pub(crate) fn no_view(sql: &str, views: &[&str]) -> FramesError {
    let from = words(sql).skip_while(|w| !w.eq_ignore_ascii_case("from")).nth(1);
    let asked = from.map_or_else(String::new, |name| {
        let near = near(name, views);
        match near.is_empty() {
            true => format!("there is no view {name}; "),
            false => format!("there is no view {name}: did you mean {}? ", near.join(" or ")),
        }
    });
    FramesError::NoView {
        asked,
        views: views.join(", "),
    }
}

/// Those names that `name` may have been meant for: they begin alike, one holds the other, or few letters differ.
#[must_use]
pub fn near<'n>(name: &str, names: &[&'n str]) -> Vec<&'n str> {
    let name = name.to_ascii_lowercase();
    let alike = |n: &str| {
        let begin = n.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
        begin >= 4
            || (name.len() >= 3 && n.contains(&name))
            || name.contains(n)
            || distance(n, &name) <= 2.min(name.len() / 2)
    };
    names.iter().copied().filter(|n| alike(n)).take(4).collect()
}

/// Letters to insert, leave out or replace (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.bytes().enumerate() {
            next.push((row[j] + usize::from(x != y)).min(row[j + 1] + 1).min(next[j] + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
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
