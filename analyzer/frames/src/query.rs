//! SQL over fact tables.

use netmortem_analyzer::table::FactTable;
use polars::prelude::{Column, DataFrame, IntoLazy};
use polars::sql::SQLContext;

use crate::rows::Rows;
use crate::statement::{Known, prepared, run};
use crate::{FramesError, frame};

/// Statements of the engine that change tables.
const CHANGES: [&str; 4] = ["drop", "truncate", "delete", "create"];

/// Runs one SQL statement. Only tables whose name is a word of the statement become data frames. `:start` in it is `start_ns`.
pub fn query(tables: &[&dyn FactTable], sql: &str, start_ns: Option<i64>) -> Result<Rows, FramesError> {
    let sql = &prepared(sql, start_ns)?;
    question(sql)?;
    let named: Vec<&&dyn FactTable> = tables.iter().filter(|t| is_named(sql, t.name())).collect();
    if named.is_empty() {
        let names: Vec<&str> = tables.iter().map(|t| t.name()).collect();
        return Err(no_view(sql, &names));
    }
    let frames: Result<Vec<_>, FramesError> = named
        .iter()
        .map(|t| Ok((t.name().to_owned(), frame::of(**t)?)))
        .collect();
    answer(frames?, sql)
}

/// Runs a prepared statement over named frames.
pub(crate) fn answer(frames: Vec<(String, DataFrame)>, sql: &str) -> Result<Rows, FramesError> {
    let (names, mut frames): (Vec<String>, Vec<DataFrame>) = frames.into_iter().unzip();
    frame::signed(&mut frames)?;
    let mut context = SQLContext::new();
    let mut known = vec![];
    for (name, frame) in names.into_iter().zip(frames) {
        let names = |of: &dyn Fn(&Column) -> bool| -> Vec<String> {
            let chosen = frame.columns().iter().filter(|c| of(c));
            chosen.map(|c| c.name().to_string()).collect()
        };
        let (columns, floats) = (names(&|_| true), names(&|c| c.dtype().is_float()));
        let booleans = names(&|c| c.dtype().is_bool());
        context.register(&name, frame.lazy());
        known.push(Known {
            name,
            columns,
            floats,
            booleans,
        });
    }
    run(&mut context, &known, sql).map(Rows::new).map_err(|e| match e {
        FramesError::Polars(e) => {
            if let Some(why) = not_known(&e.to_string()) {
                return FramesError::Refused(why);
            }
            let mut message = brief(&e.to_string());
            let end = known.iter().any(|k| k.columns.iter().any(|c| c == "end"));
            if end && message.starts_with("sql parser error") && is_named(sql, "end") {
                message += "; `end` is a word of SQL: write the column as \"end\"";
            }
            let help = known
                .iter()
                .map(|k| format!("columns of {}: {}", k.name, k.columns.join(", ")));
            FramesError::Query {
                message,
                help: help.collect::<Vec<_>>().join("\n"),
            }
        }
        e => e,
    })
}

/// What the engine says, without its plan, the columns of which it says that there are none, and the parts of the statement as it
/// keeps them.
fn brief(said: &str) -> String {
    if said.contains("Exists {") {
        return "EXISTS with a condition on a column that both tables have is not known: ask with IN, \
                WHERE r.skb_id IN (SELECT skb_id FROM tx WHERE total_ns > 1000)"
            .to_owned();
    }
    if said.contains("conversion from `f64` to `i64` failed") {
        return "a sum, a product or what CAST is asked of is larger than 9223372036854775807, the largest whole number: \
                make a part of it a number of floating point, SUM(CAST(x AS DOUBLE)), CAST(x AS DOUBLE) * y"
            .to_owned();
    }
    let first = said.split("\n\n").next().unwrap_or_default();
    let first = first.split("; valid columns").next().unwrap_or_default();
    let tree = first.find(" { ").filter(|_| first.contains("span: "));
    tree.and_then(|at| first.get(..at)).unwrap_or(first).to_owned()
}

/// That a function is not known, with what is near to it: names of columns help nobody then.
fn not_known(said: &str) -> Option<String> {
    let name = said.strip_prefix("unsupported function '")?.split('\'').next()?;
    let lower = name.to_ascii_lowercase();
    let near = match lower.as_str() {
        "time_bucket" | "date_trunc" | "date_bin" | "datetrunc" | "to_timestamp" | "from_unixtime" | "epoch"
        | "epoch_ns" | "histogram_bucket" => {
            "times are whole numbers of nanoseconds: time_ns // 1000000000 * 1000000000 is the begin of the second, \
             (time_ns - :start) / 1e9 the seconds since the first event"
        }
        _ if is_percentile(&lower) => "write QUANTILE_CONT(x, 0.99), or MEDIAN(x)",
        "len" | "strlen" => "write LENGTH(x)",
        "string_agg" | "group_concat" | "listagg" | "list" => {
            "write COUNT(DISTINCT x), or select the rows with ORDER BY"
        }
        "isnull" | "nvl" => "write COALESCE(x, 0)",
        "to_char" | "format" | "printf" => "write CAST(x AS VARCHAR), or CONCAT(x, y)",
        "regexp_match" | "regexp_matches" | "regexp" => "write REGEXP_LIKE(x, '^eth[0-9]+$')",
        _ => "docs/scale.md lists what is not known, and what to write in place",
    };
    Some(format!("there is no function {name} here: {near}"))
}

/// `percentile`, `p99`, `p99_9`, `quantiles`.
fn is_percentile(name: &str) -> bool {
    let number = name
        .strip_prefix('p')
        .is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit() || b == b'_'));
    number && name.len() > 1 || name.contains("percentile") || name.contains("quantile")
}

/// What `SHOW TABLES` and `DESCRIBE t` ask for: all tables, or one.
#[must_use]
pub fn listing(sql: &str) -> Option<Option<String>> {
    let all: Vec<String> = words(sql).map(str::to_ascii_lowercase).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    match all.as_slice() {
        ["show", "tables"] | ["describe"] => Some(None),
        ["describe" | "desc", "table", name] | ["describe" | "desc", name] | ["show", "columns", "from", name] => {
            Some(Some((*name).to_owned()))
        }
        _ => None,
    }
}

/// Whether a table is named in a statement.
pub(crate) fn is_named(sql: &str, table: &str) -> bool {
    words(sql).any(|w| w.eq_ignore_ascii_case(table))
}

/// Refuses what would change tables: on ones that are gone when it returns.
pub(crate) fn question(sql: &str) -> Result<(), FramesError> {
    let verb = words(sql).next().unwrap_or_default();
    match CHANGES.iter().any(|v| verb.eq_ignore_ascii_case(v)) {
        true => Err(FramesError::NoSelect),
        false => Ok(()),
    }
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
fn words(sql: &str) -> impl Iterator<Item = &str> {
    sql.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|w| !w.is_empty())
}
