//! ORDER BY of rows. The engine has the results beside the columns when it sorts, and where both have a name takes the result.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, OrderByKind, Query, Select, SelectItem, SetExpr, Value, Visit, VisitMut, Visitor, VisitorMut,
};

use super::holds::{columns, of_rows};
use super::names::column;
use super::parts::aggregates;
use super::scope::Scope;
use super::{Known, done, ended, refused};
use crate::FramesError;

/// Rewrites all queries of a query.
pub(super) fn rewritten(query: &mut Query, known: &[Known]) -> Result<(), FramesError> {
    let scope = Scope::of(query, known);
    done(VisitMut::visit(query, &mut Orders { scope }))
}

struct Orders<'k> {
    scope: Scope<'k>,
}

impl VisitorMut for Orders<'_> {
    type Break = FramesError;
    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<FramesError> {
        match one(&self.scope, query) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => ended(e),
        }
    }
}

fn one(scope: &Scope<'_>, query: &mut Query) -> Result<(), FramesError> {
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
        done(Visit::visit(
            &order.expr,
            &mut Meant {
                select,
                scope,
                by: &order.expr,
            },
        ))?;
        if select.distinct.is_some() && !is_result(&order.expr, select) {
            return Err(refused(format!(
                "ORDER BY {} behind SELECT DISTINCT, which can have results only: name it in SELECT",
                order.expr
            )));
        }
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

/// Whether it is made of results alone.
fn is_result(by: &Expr, select: &Select) -> bool {
    let wild = |i: &SelectItem| matches!(i, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    let all = &select.projection;
    let same = |i: &SelectItem| match i {
        SelectItem::ExprWithAlias { expr, .. } | SelectItem::UnnamedExpr(expr) => expr == by,
        _ => false,
    };
    let called = |name: &String| all.iter().any(|i| column(i) == Some(name));
    all.iter().any(wild) || all.iter().any(same) || columns(by).iter().all(called)
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
struct Meant<'s> {
    select: &'s Select,
    scope: &'s Scope<'s>,
    by: &'s Expr,
}

impl Meant<'_> {
    /// Whether a name inside of an expression, which is that of a column, is that of a result, too.
    fn is_column(&self, e: &Expr) -> bool {
        let Expr::Identifier(name) = e else { return false };
        e != self.by && self.scope.has(self.select, &name.value) == Some(true)
    }
}

impl Visitor for Meant<'_> {
    type Break = FramesError;
    fn pre_visit_expr(&mut self, e: &Expr) -> ControlFlow<FramesError> {
        let parts = match e {
            Expr::CompoundIdentifier(parts) => parts.as_slice(),
            Expr::Identifier(name) if self.is_column(e) => std::slice::from_ref(name),
            _ => return ControlFlow::Continue(()),
        };
        let Some(name) = parts.last() else {
            return ControlFlow::Continue(());
        };
        let tables = self.select.from.iter().map(|f| 1 + f.joins.len()).sum::<usize>();
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
        match self.select.projection.iter().filter(called).any(|i| other(&i)) {
            true => ended(refused(format!(
                "ORDER BY {e}: another result is called {name}: give that one another name, AS x, and order by {name}"
            ))),
            false => ControlFlow::Continue(()),
        }
    }
}
