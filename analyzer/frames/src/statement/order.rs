//! ORDER BY of groups. The engine sorts by columns of the result only: an aggregate in ORDER BY is another length to it. Such a one
//! becomes a column of the groups that the result leaves out.
//!
//! ```text
//! SELECT k FROM t GROUP BY k ORDER BY MAX(x)
//! SELECT "k" FROM (SELECT k, MAX(x) AS "order 1" FROM t GROUP BY k) AS "groups" ORDER BY "order 1"
//! ```

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, GroupByExpr, ObjectNamePart, OrderByExpr, OrderByKind, Query, Select, SelectItem, SetExpr, Value,
    Visit, VisitMut, Visitor, VisitorMut,
};

use super::calls::name_of;
use super::functions::is_aggregate;
use super::names::column;
use super::{done, ended, query_of, quoted, refused};
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

/// What it is called in the result, or a column to be added.
enum By {
    Name(String),
    Added(Box<Expr>),
}

fn one(query: &mut Query) -> Result<(), FramesError> {
    let SetExpr::Select(select) = query.body.as_mut() else {
        return Ok(());
    };
    let grouped = !matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
    let Some(OrderByKind::Expressions(by)) = query.order_by.as_mut().map(|o| &mut o.kind) else {
        return Ok(());
    };
    if !grouped {
        // One row is in order.
        if select.projection.iter().any(aggregates) {
            query.order_by = None;
        }
        return Ok(());
    }
    // Those without a name get one, to be chosen by it.
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) = item
            && column(&SelectItem::UnnamedExpr(expr.clone())).is_none()
        {
            let alias = quoted(&expr.to_string());
            *item = SelectItem::ExprWithAlias {
                expr: expr.clone(),
                alias,
            };
        }
    }
    if let [all] = by.as_slice()
        && matches!(&all.expr, Expr::Identifier(i) if i.value.eq_ignore_ascii_case("all") && i.quote_style.is_none())
    {
        let each = select.projection.iter().filter_map(column).map(|name| OrderByExpr {
            expr: Expr::Identifier(quoted(name)),
            options: all.options,
            with_fill: None,
        });
        *by = each.collect();
    }
    let mut added: Vec<Expr> = vec![];
    for order in by.iter_mut() {
        let name = match place(&order.expr, select)? {
            By::Name(name) => name,
            By::Added(expr) => {
                added.push(*expr);
                format!("order {}", added.len())
            }
        };
        order.expr = Expr::Identifier(quoted(&name));
    }
    if added.is_empty() {
        return Ok(());
    }
    if select.distinct.is_some() {
        return Err(refused(
            "ORDER BY behind SELECT DISTINCT can have results only: name them in SELECT",
        ));
    }
    let names: Option<Vec<String>> = select
        .projection
        .iter()
        .map(|i| Some(quoted(column(i)?).to_string()))
        .collect();
    let names =
        names.ok_or_else(|| refused("ORDER BY an aggregate beside * is not known: name the columns in SELECT"))?;
    for (nth, expr) in added.into_iter().enumerate() {
        select.projection.push(SelectItem::ExprWithAlias {
            expr,
            alias: quoted(&format!("order {}", nth + 1)),
        });
    }
    let mut outer = query_of(&format!(
        "SELECT {} FROM ({}) AS \"groups\"",
        names.join(", "),
        query.body
    ))?;
    outer.with = query.with.take();
    outer.order_by = query.order_by.take();
    outer.limit_clause = query.limit_clause.take();
    outer.fetch = query.fetch.take();
    *query = *outer;
    Ok(())
}

/// Where a result of a group stands that it is ordered by.
fn place(by: &Expr, select: &Select) -> Result<By, FramesError> {
    let items = &select.projection;
    if let Expr::Value(v) = by
        && let Value::Number(n, _) = &v.value
    {
        let nth = n.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
        let name = nth.and_then(|n| column(items.get(n)?));
        return name
            .map(|n| By::Name(n.to_owned()))
            .ok_or_else(|| refused(format!("ORDER BY {n}: there are {} results", items.len())));
    }
    let said = plain(by);
    for item in items {
        let same = match item {
            SelectItem::ExprWithAlias { expr, .. } | SelectItem::UnnamedExpr(expr) => plain(expr) == said,
            _ => false,
        };
        let called = matches!(by, Expr::Identifier(i) if Some(i.value.as_str()) == column(item));
        if let Some(name) = column(item).filter(|_| same || called) {
            return Ok(By::Name(name.to_owned()));
        }
    }
    // A name of the result in a sum is what it stands for.
    let mut expr = by.clone();
    let _whole = VisitMut::visit(&mut expr, &mut Unnamed(items));
    Ok(By::Added(Box::new(expr)))
}

struct Unnamed<'i>(&'i [SelectItem]);

impl VisitorMut for Unnamed<'_> {
    type Break = ();
    fn post_visit_expr(&mut self, e: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = e {
            for item in self.0 {
                if let SelectItem::ExprWithAlias { expr, alias } = item
                    && alias.value == name.value
                {
                    *e = Expr::Nested(Box::new(expr.clone()));
                    break;
                }
            }
        }
        ControlFlow::Continue(())
    }
}

/// The same text for the same expression: small letters, no quotes.
fn plain(e: &Expr) -> String {
    struct Plain;
    impl VisitorMut for Plain {
        type Break = ();
        fn pre_visit_expr(&mut self, e: &mut Expr) -> ControlFlow<()> {
            match e {
                Expr::Identifier(name) => name.quote_style = None,
                Expr::CompoundIdentifier(parts) => parts.iter_mut().for_each(|p| p.quote_style = None),
                Expr::Function(Function { name, .. }) => {
                    for part in &mut name.0 {
                        if let ObjectNamePart::Identifier(i) = part {
                            i.value.make_ascii_lowercase();
                        }
                    }
                }
                _ => {}
            }
            ControlFlow::Continue(())
        }
    }
    let mut e = e.clone();
    let _whole = VisitMut::visit(&mut e, &mut Plain);
    e.to_string()
}

/// Whether it makes one row of all.
fn aggregates(item: &SelectItem) -> bool {
    struct Found(bool);
    impl Visitor for Found {
        type Break = ();
        fn pre_visit_expr(&mut self, e: &Expr) -> ControlFlow<()> {
            self.0 |= matches!(e, Expr::Function(f) if f.over.is_none() && is_aggregate(&name_of(f)));
            ControlFlow::Continue(())
        }
    }
    let mut found = Found(false);
    let _whole = Visit::visit(item, &mut found);
    found.0
}
