//! GROUP BY, HAVING and aggregates alone: what groups are made of, and what is computed of each group, in two steps. In one step the engine knows no
//! key that is called as another, no HAVING without GROUP BY, no sum of sums, and takes some aggregates for none.
//!
//! ```text
//! SELECT b.dev AS d, MAX(x) - 1 FROM a JOIN b ... GROUP BY b.dev HAVING COUNT(*) > 2 ORDER BY MIN(x)
//! SELECT "group 1" AS d, "aggregate 1" - 1 FROM (SELECT b.dev AS "group 1", MAX(x) AS "aggregate 1", COUNT(*) AS "aggregate 2",
//!     MIN(x) AS "aggregate 3" FROM a JOIN b ... GROUP BY "group 1") AS "groups" WHERE "aggregate 2" > 2 ORDER BY "aggregate 3"
//! ```

use std::ops::ControlFlow;

use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, OrderByExpr, OrderByKind, Query, Select, SelectItem, SetExpr, Value, VisitMut,
    VisitorMut,
};

use super::holds::{of_rows, over};
use super::names::column;
use super::parts::{AGGREGATE, GROUP, Parts, aggregates};
use super::scope::{Scope, Table};
use super::{Known, done, ended, expression, query_of, quoted, refused};
use crate::FramesError;

/// Rewrites all queries of a query.
pub(super) fn rewritten(query: &mut Query, known: &[Known]) -> Result<(), FramesError> {
    let scope = Scope::of(query, known);
    done(VisitMut::visit(query, &mut Groups { scope }))
}

struct Groups<'k> {
    scope: Scope<'k>,
}

impl VisitorMut for Groups<'_> {
    type Break = FramesError;
    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<FramesError> {
        let mut none = vec![];
        let by = match query.order_by.as_mut().map(|o| &mut o.kind) {
            Some(OrderByKind::Expressions(by)) => by,
            _ => &mut none,
        };
        match body(&self.scope, &mut query.body, by) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => ended(e),
        }
    }
}

/// Each SELECT of a union; what orders one alone can name what is in it.
fn body(scope: &Scope<'_>, of: &mut SetExpr, by: &mut [OrderByExpr]) -> Result<(), FramesError> {
    match of {
        SetExpr::Select(select) => one(scope, select, by),
        SetExpr::SetOperation { left, right, .. } => {
            body(scope, left, &mut [])?;
            body(scope, right, &mut [])
        }
        _ => Ok(()),
    }
}

fn one(scope: &Scope<'_>, select: &mut Select, by: &mut [OrderByExpr]) -> Result<(), FramesError> {
    let grouped = !matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
    if let Some(of) = select.selection.as_ref().filter(|e| aggregates(e)) {
        return Err(refused(format!(
            "WHERE {of} is asked of each row, before rows are made one: compare with a subquery, \
             WHERE x = (SELECT MAX(x) FROM t), or ask groups in HAVING"
        )));
    }
    let one_row = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. } => aggregates(e),
        _ => false,
    };
    let one_row = select.projection.iter().any(one_row) || by.iter().any(|o| aggregates(&o.expr));
    if !grouped && !one_row && select.having.is_none() {
        return Ok(());
    }
    if select.qualify.is_some() || matches!(select.distinct, Some(Distinct::On(_))) {
        return Err(refused(
            "QUALIFY and DISTINCT ON beside GROUP BY are not known: group in a subquery",
        ));
    }
    let items = items(scope, select)?;
    let mut parts = Parts {
        tables: scope.tables(select),
        keys: vec![],
        aggregates: vec![],
    };
    for key in keys(scope, select, &items)? {
        parts.key(&key);
    }
    let mut outer: Vec<String> = vec![];
    for (expr, name) in &items {
        outer.push(format!("{} AS {}", parts.replaced(expr, &[])?, quoted(name)));
    }
    let mut conditions: Vec<String> = vec![];
    if let Some(having) = &select.having {
        conditions.push(parts.replaced(having, &items)?.to_string());
    }
    for order in by.iter_mut() {
        order.expr = ordered(&mut parts, &order.expr, &items, select.distinct.is_some())?;
    }
    if grouped && parts.keys.is_empty() {
        // Groups by nothing that a row has: one of all rows, or none.
        let rows = parts.aggregate(&expression("COUNT(*)")?)?;
        conditions.push(format!("{rows} > 0"));
    }
    if parts.keys.is_empty() && parts.aggregates.is_empty() {
        parts.aggregate(&expression("COUNT(*)")?)?;
    }
    let named = |of: &[(Expr, String)], kind: &str| -> Vec<String> {
        let of = of.iter().enumerate();
        of.map(|(n, (e, _))| format!("{e} AS \"{kind} {}\"", n + 1)).collect()
    };
    let inner_items = [named(&parts.keys, GROUP), named(&parts.aggregates, AGGREGATE)].concat();
    let keys: Vec<String> = (1..=parts.keys.len()).map(|n| format!("\"{GROUP} {n}\"")).collect();
    let mut inner = select.clone();
    (inner.distinct, inner.having) = (None, None);
    inner.group_by = GroupByExpr::Expressions(vec![], vec![]);
    inner.projection = vec![];
    let inner = inner.to_string();
    let inner = inner.strip_prefix("SELECT").unwrap_or(&inner);
    let by = match keys.is_empty() {
        true => String::new(),
        false => format!(" GROUP BY {}", keys.join(", ")),
    };
    let distinct = if select.distinct.is_some() { "DISTINCT " } else { "" };
    let condition = match conditions.is_empty() {
        true => String::new(),
        false => format!(" WHERE ({})", conditions.join(") AND (")),
    };
    let made = query_of(&format!(
        "SELECT {distinct}{} FROM (SELECT {} {inner}{by}) AS \"groups\"{condition}",
        outer.join(", "),
        inner_items.join(", ")
    ))?;
    if let SetExpr::Select(made) = *made.body {
        *select = *made;
    }
    Ok(())
}

/// Results with their names; `*` as the columns that it stands for.
fn items(scope: &Scope<'_>, select: &Select) -> Result<Vec<(Expr, String)>, FramesError> {
    let mut all = vec![];
    for item in &select.projection {
        match item {
            SelectItem::UnnamedExpr(e) => {
                let name = column(item).map_or_else(|| e.to_string(), str::to_owned);
                all.push((e.clone(), name));
            }
            SelectItem::ExprWithAlias { expr, alias } => all.push((expr.clone(), alias.value.clone())),
            SelectItem::Wildcard(_) if item.to_string() == "*" => match scope.tables(select).as_slice() {
                [
                    Table {
                        columns: Some(names), ..
                    },
                ] => {
                    let names = names.iter().map(|n| (Expr::Identifier(quoted(n)), n.clone()));
                    all.extend(names);
                }
                _ => {
                    return Err(refused(
                        "* beside GROUP BY is not known here: name the columns in SELECT",
                    ));
                }
            },
            _ => {
                return Err(refused(
                    "* beside GROUP BY is not known here: name the columns in SELECT",
                ));
            }
        }
    }
    Ok(all)
}

/// What groups are made by. A constant makes none, nor does it divide one.
fn keys(scope: &Scope<'_>, select: &Select, items: &[(Expr, String)]) -> Result<Vec<Expr>, FramesError> {
    let all = match &select.group_by {
        GroupByExpr::All(modifiers) if modifiers.is_empty() => {
            let of_one = |(e, _): &&(Expr, String)| !aggregates(e) && !over(e);
            items.iter().filter(of_one).map(|(e, _)| e.clone()).collect()
        }
        GroupByExpr::Expressions(by, modifiers) if modifiers.is_empty() => {
            let mut all = vec![];
            for key in by {
                all.push(key_of(scope, select, items, key)?);
            }
            all
        }
        _ => return Err(sets()),
    };
    for key in &all {
        if matches!(key, Expr::Rollup(_) | Expr::Cube(_) | Expr::GroupingSets(_)) {
            return Err(sets());
        }
        if aggregates(key) || over(key) {
            return Err(refused(format!(
                "GROUP BY {key}: groups can be made by what each row has only; group in a subquery first"
            )));
        }
    }
    Ok(all.into_iter().filter(of_rows).collect())
}

fn sets() -> FramesError {
    refused(
        "ROLLUP, CUBE and GROUPING SETS are not known: write one SELECT for each set of keys and put UNION ALL between them, \
         SELECT k, COUNT(*) FROM t GROUP BY k UNION ALL SELECT NULL, COUNT(*) FROM t",
    )
}

/// A key that is named by its place or by the name of a result, as what it stands for.
fn key_of(scope: &Scope<'_>, select: &Select, items: &[(Expr, String)], key: &Expr) -> Result<Expr, FramesError> {
    match key {
        Expr::Value(v) => match &v.value {
            Value::Number(n, _) => {
                let nth = n.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
                let item = nth.and_then(|n| items.get(n)).map(|(e, _)| e.clone());
                item.ok_or_else(|| refused(format!("GROUP BY {n}: there are {} results", items.len())))
            }
            _ => Ok(key.clone()),
        },
        Expr::Nested(inner) => key_of(scope, select, items, inner),
        Expr::Identifier(name) if scope.has(select, &name.value) != Some(true) => {
            let item = items.iter().find(|(_, n)| *n == name.value);
            if scope.has(select, &name.value).is_none() && item.is_some_and(|(e, _)| e != key) {
                return Err(refused(format!(
                    "GROUP BY {name}: whether it is that result or a column is not known here: give the result another name"
                )));
            }
            Ok(item.map_or_else(|| key.clone(), |(e, _)| e.clone()))
        }
        key => Ok(key.clone()),
    }
}

/// What a group is ordered by, in the outer query.
fn ordered(parts: &mut Parts, by: &Expr, items: &[(Expr, String)], distinct: bool) -> Result<Expr, FramesError> {
    let called = |name: &str| Expr::Identifier(quoted(name));
    if let Expr::Identifier(i) = by
        && i.value.eq_ignore_ascii_case("all")
        && i.quote_style.is_none()
    {
        return Ok(by.clone());
    }
    if let Expr::Value(v) = by
        && let Value::Number(n, _) = &v.value
    {
        let nth = n.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
        let item = nth.and_then(|n| items.get(n));
        return item
            .map(|(_, name)| called(name))
            .ok_or_else(|| refused(format!("ORDER BY {n}: there are {} results", items.len())));
    }
    if let Expr::Identifier(name) = by
        && items.iter().any(|(_, n)| *n == name.value)
    {
        return Ok(called(&name.value));
    }
    let said = parts.plain(by);
    if let Some((_, name)) = items.iter().find(|(e, _)| parts.plain(e) == said) {
        return Ok(called(name));
    }
    if distinct {
        return Err(refused(
            "ORDER BY behind SELECT DISTINCT can have results only: name them in SELECT",
        ));
    }
    parts.replaced(by, items)
}
