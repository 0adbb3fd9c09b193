//! Unknown values in OVER (ORDER BY x), where they are asked for: the engine has them first, and no rank for them. So each has a key of
//! its own before it. The engine knows keys by their names, which are those of their first columns, and none may be there twice.
//!
//! ```text
//! ORDER BY x          ->  ORDER BY CASE WHEN x IS NULL THEN 1 ELSE 0 END, x
//! ORDER BY x, y DESC  ->  ORDER BY CASE WHEN x IS NULL THEN (a IS NULL) = (a IS NULL) ELSE FALSE END, x, ...
//! ```

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, OrderByExpr, OrderByKind, Query, Select, SetExpr, VisitMut, VisitorMut, WindowType,
};

use super::holds::columns;
use super::scope::Scope;
use super::{Known, done, ended, expression, quoted, refused};
use crate::FramesError;

/// Rewrites all queries of a query.
pub(super) fn placed(query: &mut Query, known: &[Known]) -> Result<(), FramesError> {
    let scope = Scope::of(query, known);
    done(VisitMut::visit(query, &mut Queries { scope }))
}

struct Queries<'k> {
    scope: Scope<'k>,
}

impl Queries<'_> {
    fn of(&self, select: &Select) -> Orders {
        let tables = self.scope.tables(select);
        let all: Vec<String> = tables.into_iter().filter_map(|t| t.columns).flatten().collect();
        let once = |c: &&String| all.iter().filter(|a| a == c).count() == 1;
        Orders {
            free: all.iter().filter(once).cloned().collect(),
            deep: 0,
        }
    }
}

impl VisitorMut for Queries<'_> {
    type Break = FramesError;
    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<FramesError> {
        let mut orders = self.of(select);
        VisitMut::visit(&mut select.projection, &mut orders)?;
        VisitMut::visit(&mut select.qualify, &mut orders)?;
        VisitMut::visit(&mut select.selection, &mut orders)
    }
    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<FramesError> {
        let SetExpr::Select(select) = query.body.as_ref() else {
            return ControlFlow::Continue(());
        };
        let mut orders = self.of(select);
        match query.order_by.as_mut().map(|o| &mut o.kind) {
            Some(OrderByKind::Expressions(by)) => VisitMut::visit(by, &mut orders),
            _ => ControlFlow::Continue(()),
        }
    }
}

struct Orders {
    /// Columns that one table has.
    free: Vec<String>,
    /// Queries that the expression is in: they have had their own turn.
    deep: usize,
}

impl VisitorMut for Orders {
    type Break = FramesError;
    counts_queries!();
    fn post_visit_expr(&mut self, e: &mut Expr) -> ControlFlow<FramesError> {
        match e {
            Expr::Function(Function {
                over: Some(WindowType::WindowSpec(spec)),
                ..
            }) if self.deep == 0 => self.keys(&mut spec.order_by).map_or_else(ended, ControlFlow::Continue),
            _ => ControlFlow::Continue(()),
        }
    }
}

impl Orders {
    fn keys(&self, by: &mut Vec<OrderByExpr>) -> Result<(), FramesError> {
        let used: Vec<String> = by.iter().flat_map(|o| columns(&o.expr)).collect();
        let plain = by
            .iter()
            .all(|o| matches!(o.expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_)));
        // What is there for the smaller and for the larger one, each under a name of its own.
        let named = self.free.iter().filter(|c| !used.contains(c)).map(|c| {
            let is = format!("({} IS NULL)", quoted(c));
            [
                format!("{is} <> {is}"),
                "FALSE".into(),
                format!("{is} = {is}"),
                "TRUE".into(),
            ]
        });
        let literal = plain.then(|| ["0", "0", "1", "1"].map(str::to_owned));
        let rows = ["COUNT(*) - COUNT(*)", "0", "COUNT(*)", "1"].map(str::to_owned);
        let mut names = literal.into_iter().chain(named).chain([rows]);
        let mut made = vec![];
        for mut one in by.drain(..) {
            let falls = one.options.asc == Some(false);
            let first = one.options.nulls_first.take() == Some(true);
            let [smaller, small, larger, large] = names.next().ok_or_else(|| {
                refused("OVER (ORDER BY ...) of so many keys beside no other column is not known: leave keys out")
            })?;
            let (unknown, known) = if first == falls {
                (larger, small)
            } else {
                (smaller, large)
            };
            let mut key = one.clone();
            key.expr = expression(&format!(
                "CASE WHEN {} IS NULL THEN {unknown} ELSE {known} END",
                one.expr
            ))?;
            made.extend([key, one]);
        }
        *by = made;
        Ok(())
    }
}
