//! What people write, in the words of the engine. It knows no column `end` without quotes, no `1e6`, no two results of one name, no
//! subquery in a comparison; and some of what it does know it gets wrong without a word.
//!
//! ```text
//! text --words--> parsed --with, spelled, called, before, booleans, values, names, calls, using, joins, groups, order, nulls, windows, exact, sets-->
//! text that the engine runs
//! ```
//!
//! | step | what it mends |
//! |---|---|
//! | `words` | `end`, `1e6`, `:start`, comments |
//! | `with` | all WITH at the beginning, under names of their own |
//! | `spelled` | `FROM RX`, `SELECT Reason` |
//! | `called` | `FROM t AS q(a, b)` |
//! | `before` | refuses `x.y` where FROM has no `x`, or `x` no `y` |
//! | `booleans` | refuses `expected = 'no'` where `expected` is true or false |
//! | `values` | a subquery that is one value becomes that value, EXISTS true or false; `asked` knows whose columns it names |
//! | `names` | a name for each result that has none, as it is written, and another for the second of one name |
//! | `calls` | counts are signed, unknown values come last, other names of quantiles; refuses what gives a wrong number (`conditions`, `texts`) |
//! | `using` | a key of USING stands once |
//! | `joins` | further conditions in ON |
//! | `groups` | aggregates, GROUP BY and HAVING in two steps (`parts`): keys and aggregates, then what is computed of them |
//! | `order` | ORDER BY a column, not a result that has its name |
//! | `nulls` | unknown values last in OVER (ORDER BY x), too |
//! | `windows` | COUNT(*) OVER () alone |
//! | `exact` | whole numbers that do not fit are an error; `x / 49` is a division |
//! | `sets` | UNION, EXCEPT and INTERSECT in one another |
//!
//! `scope` knows the columns of each FROM, `functions` the engine's aggregates, `holds` what is in an expression, `long` what is too
//! long for the engine.

/// Of a visitor: `deep` counts the queries around what it is at.
macro_rules! counts_queries {
    () => {
        fn pre_visit_query(&mut self, _: &mut ::sqlparser::ast::Query) -> ::std::ops::ControlFlow<Self::Break> {
            self.deep += 1;
            ::std::ops::ControlFlow::Continue(())
        }
        fn post_visit_query(&mut self, _: &mut ::sqlparser::ast::Query) -> ::std::ops::ControlFlow<Self::Break> {
            self.deep -= 1;
            ::std::ops::ControlFlow::Continue(())
        }
    };
}

mod asked;
mod before;
mod booleans;
mod called;
mod calls;
mod conditions;
mod exact;
mod functions;
mod groups;
mod holds;
mod joins;
mod long;
mod names;
mod nulls;
mod order;
mod parts;
mod scope;
mod sets;
mod spelled;
mod texts;
mod using;
mod values;
mod windows;
mod with;
mod words;

use std::ops::ControlFlow;

use polars::prelude::{DataFrame, PolarsError};
use polars::sql::SQLContext;
use sqlparser::ast::{Expr, Ident, Query, Statement};
use sqlparser::dialect::GenericDialect;
use sqlparser::parser::{Parser, ParserOptions};

use crate::FramesError;

pub(crate) use words::prepared;

/// Deepest subqueries that are values.
const DEEPEST: usize = 8;
/// Bytes of a statement in the engine's words.
const LONGEST: usize = 1 << 20;
/// Bytes; of what a statement does not need the machine keeps nothing.
const STACK: usize = 256 << 20;

/// A table that the statement names, with its columns.
pub(crate) struct Known {
    pub name: String,
    pub columns: Vec<String>,
    /// Those of floating point.
    pub floats: Vec<String>,
    /// Those that are true or false.
    pub booleans: Vec<String>,
}

/// Runs a prepared statement, on a stack for long ones: the engine goes down one call for each term of a sum.
pub(crate) fn run(context: &mut SQLContext, known: &[Known], sql: &str) -> Result<DataFrame, FramesError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let run = thread.spawn_scoped(scope, || answer(context, known, sql, 0));
        match run.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(answer)) => answer,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(e) => Err(refused(format!("no stack of {STACK} bytes for it: {e}"))),
        }
    })
}

fn answer(context: &mut SQLContext, known: &[Known], sql: &str, deep: usize) -> Result<DataFrame, FramesError> {
    if sql.len() > LONGEST {
        return Err(too_long(sql.len()));
    }
    let made = match parsed(sql)? {
        Statement::Query(q) => rewritten(context, known, q, deep)?,
        // What the engine plans is what it would run.
        Statement::Explain { statement, .. } => match *statement {
            Statement::Query(q) => format!("EXPLAIN {}", rewritten(context, known, q, deep)?),
            _ => return Err(FramesError::NoSelect),
        },
        _ => return Err(FramesError::NoSelect),
    };
    if made.len() > LONGEST {
        return Err(too_long(made.len()));
    }
    Ok(context.execute(&made)?.collect()?)
}

/// In the engine's words.
fn rewritten(
    context: &mut SQLContext,
    known: &[Known],
    mut query: Box<Query>,
    deep: usize,
) -> Result<String, FramesError> {
    if deep > DEEPEST {
        return Err(refused("subqueries are nested too deep"));
    }
    long::checked(&query)?;
    with::lifted(&mut query, known)?;
    spelled::as_known(&mut query, known);
    called::rewritten(&mut query, known)?;
    before::checked(&query, known)?;
    booleans::checked(&query, known)?;
    values::put_in(&mut query, known, &mut |sql| answer(context, known, sql, deep + 1))?;
    names::given(&mut query);
    calls::rewritten(&mut query)?;
    using::rewritten(&mut query, known)?;
    joins::rewritten(&mut query, known)?;
    groups::rewritten(&mut query, known)?;
    order::rewritten(&mut query, known)?;
    nulls::placed(&mut query, known)?;
    windows::spread(&mut query)?;
    exact::rewritten(&mut query, known)?;
    sets::bracketed(&mut query)?;
    Ok(query.to_string())
}

fn options() -> ParserOptions {
    ParserOptions {
        trailing_commas: true,
        ..ParserOptions::default()
    }
}

fn mistake(e: impl std::fmt::Display) -> FramesError {
    PolarsError::SQLInterface(e.to_string().into()).into()
}

/// As the engine parses it.
fn parsed(sql: &str) -> Result<Statement, FramesError> {
    let parser = Parser::new(&GenericDialect).with_options(options());
    let all = parser.try_with_sql(sql).and_then(|mut p| p.parse_statements());
    let mut all = all.map_err(mistake)?;
    match (all.pop(), all.pop()) {
        (Some(one), None) => Ok(one),
        _ => Err(mistake("one statement at a time")),
    }
}

fn query_of(sql: &str) -> Result<Box<Query>, FramesError> {
    match parsed(sql)? {
        Statement::Query(q) => Ok(q),
        _ => Err(FramesError::NoSelect),
    }
}

fn expression(sql: &str) -> Result<Expr, FramesError> {
    if sql.len() > LONGEST {
        return Err(too_long(sql.len()));
    }
    let parser = Parser::new(&GenericDialect).with_options(options());
    let made = parser.try_with_sql(sql).and_then(|mut p| p.parse_expr());
    made.map_err(mistake)
}

fn too_long(bytes: usize) -> FramesError {
    refused(format!(
        "the statement is too long in the engine's words, {bytes} bytes, more than {LONGEST}: take steps one by one, each in a \
         subquery, and ask a chain of x = 1 OR x = 2 as x IN (1, 2)"
    ))
}

fn refused(why: impl Into<String>) -> FramesError {
    FramesError::Refused(why.into())
}

/// An error that ends a walk.
fn ended<T>(e: FramesError) -> ControlFlow<FramesError, T> {
    ControlFlow::Break(e)
}

fn done(walk: ControlFlow<FramesError>) -> Result<(), FramesError> {
    match walk {
        ControlFlow::Break(e) => Err(e),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// A name in quotes.
fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name.replace('"', "'"))
}
