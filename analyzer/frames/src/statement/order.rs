//! ORDER BY of rows. The engine has the results beside the columns when it sorts, and where both have a name takes the result.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, OrderByKind, Query, Select, SelectItem, SetExpr, Value, Visit, VisitMut, Visitor, VisitorMut,
};

use super::holds::of_rows;
use super::names::column;
use super::parts::aggregates;
use super::{done, ended, refused};
use crate::FramesError;

/// Rewrites all queries of a query.
pub(super) fn rewritten(query: &mut Query) -> Result<(), FramesError> {
    done(VisitMut::visit(query, &mut Orders))
}

struct Orders;

impl VisitorMut for Orders {
    type Break = FramesError;
    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<FramesError> {
        match one(query) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => ended(e),
        }
    }
}

fn one(query: &mut Query) -> Result<(), FramesError> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return Ok(());
    };
    let Some(OrderByKind::Expressions(by)) = query.order_by.as_mut().map(|o| &mut o.kind) else {
        return Ok(());
    };
    let one_row = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { expr, .. } | SelectItem::UnnamedExpr(expr) => aggregates(expr),
        _ => false,
    };
    for order in by.iter() {
        place(&order.expr, select)?;
        done(Visit::visit(&order.expr, &mut Meant(select)))?;
    }
    // By a constant rows stay as they are; one row is in order.
    by.retain(|o| of_rows(&o.expr) || nth(&o.expr).is_some());
    if by.is_empty() || select.projection.iter().any(one_row) {
        query.order_by = None;
    }
    Ok(())
}

/// A result by its place.
fn nth(by: &Expr) -> Option<&str> {
    match by {
        Expr::Value(v) => match &v.value {
            Value::Number(n, _) => Some(n),
            _ => None,
        },
        _ => None,
    }
}

fn place(by: &Expr, select: &Select) -> Result<(), FramesError> {
    let items = &select.projection;
    let wild = |i: &SelectItem| matches!(i, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    let Some(n) = nth(by) else { return Ok(()) };
    let there = n
        .parse::<usize>()
        .is_ok_and(|n| n > 0 && (n <= items.len() || items.iter().any(wild)));
    match there {
        true => Ok(()),
        false => Err(refused(format!("ORDER BY {n}: there are {} results", items.len()))),
    }
}

/// Refuses a column of a table where a result that is another one has its name.
struct Meant<'s>(&'s Select);

impl Visitor for Meant<'_> {
    type Break = FramesError;
    fn pre_visit_expr(&mut self, e: &Expr) -> ControlFlow<FramesError> {
        let Expr::CompoundIdentifier(parts) = e else {
            return ControlFlow::Continue(());
        };
        let Some(name) = parts.last() else {
            return ControlFlow::Continue(());
        };
        let tables = self.0.from.iter().map(|f| 1 + f.joins.len()).sum::<usize>();
        let other = |item: &&SelectItem| match item {
            SelectItem::ExprWithAlias { expr, .. } | SelectItem::UnnamedExpr(expr) => match expr {
                Expr::Identifier(i) => tables > 1 || i.value != name.value,
                Expr::CompoundIdentifier(p) => {
                    let texts = |all: &[sqlparser::ast::Ident]| all.iter().map(|i| i.value.clone()).collect::<Vec<_>>();
                    texts(p) != texts(parts)
                }
                _ => true,
            },
            _ => false,
        };
        let called = |item: &&SelectItem| column(item) == Some(name.value.as_str());
        match self.0.projection.iter().filter(called).any(|i| other(&i)) {
            true => ended(refused(format!(
                "ORDER BY {e}: another result is called {name}: give that one another name, AS x, and order by {name}"
            ))),
            false => ControlFlow::Continue(()),
        }
    }
}
