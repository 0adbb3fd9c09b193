//! Columns that FROM calls otherwise. The engine knows the names, but not in `*`.
//!
//! ```text
//! FROM t AS q(a, b)   ->  FROM (SELECT x AS a, y AS b, z FROM t) AS q
//! ```

use std::ops::ControlFlow;

use sqlparser::ast::{Query, SetExpr, TableFactor, VisitMut, VisitorMut};

use super::scope::Scope;
use super::{Known, done, ended, query_of, quoted, refused};
use crate::FramesError;

/// Rewrites all queries of a query, and what WITH calls otherwise.
pub(super) fn rewritten(query: &mut Query, known: &[Known]) -> Result<(), FramesError> {
    let scope = Scope::of(query, known);
    for cte in query.with.iter_mut().flat_map(|w| &mut w.cte_tables) {
        let names: Vec<String> = cte.alias.columns.drain(..).map(|c| c.name.value).collect();
        if !names.is_empty() {
            let all = all(&scope.of_query(&cte.query), &names)?;
            *cte.query = *query_of(&format!("SELECT {all} FROM ({}) AS \"with\"", cte.query))?;
        }
    }
    done(VisitMut::visit(query, &mut Called { scope }))
}

struct Called<'k> {
    scope: Scope<'k>,
}

impl VisitorMut for Called<'_> {
    type Break = FramesError;
    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<FramesError> {
        self.one(factor).map_or_else(ended, ControlFlow::Continue)
    }
}

impl Called<'_> {
    fn one(&self, factor: &mut TableFactor) -> Result<(), FramesError> {
        // These have no other names.
        let values = matches!(&*factor, TableFactor::Derived { subquery, .. } if matches!(subquery.body.as_ref(), SetExpr::Values(_)));
        let (TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. }) = factor
        else {
            return Ok(());
        };
        let names: Vec<String> = alias.columns.iter().map(|c| c.name.value.clone()).collect();
        if names.is_empty() || values {
            return Ok(());
        }
        alias.columns.clear();
        let alias = alias.clone();
        let all = all(&self.scope.table(factor).columns, &names)?;
        *factor = TableFactor::Derived {
            lateral: false,
            subquery: query_of(&format!("SELECT {all} FROM {factor}"))?,
            alias: Some(alias),
            sample: None,
        };
        Ok(())
    }
}

/// The first ones under these names, the others as they are.
fn all(columns: &Option<Vec<String>>, names: &[String]) -> Result<String, FramesError> {
    let columns = columns.as_ref().ok_or_else(|| {
        refused("AS q(a, b) of columns that are not known here: name them in a subquery, (SELECT x AS a, y AS b FROM t) AS q")
    })?;
    if names.len() > columns.len() {
        return Err(refused(format!(
            "AS q({}): there are {} columns",
            names.join(", "),
            columns.len()
        )));
    }
    let called = columns.iter().enumerate().map(|(n, c)| match names.get(n) {
        Some(name) => format!("{} AS {}", quoted(c), quoted(name)),
        None => quoted(c).to_string(),
    });
    Ok(called.collect::<Vec<_>>().join(", "))
}
