//! A name for each result that has none, as it is written: `min(ns)`, `bytes_in - bytes_out`, `a.ns` beside `b.ns`.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, Select, SelectItem, SetExpr, VisitMut, VisitorMut};

use super::quoted;

/// Names of the results of all queries, and of a union's first part in all of its parts.
pub(super) fn given(query: &mut Query) {
    struct Given;
    impl VisitorMut for Given {
        type Break = ();
        fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
            name(&mut query.body, &mut vec![]);
            ControlFlow::Continue(())
        }
    }
    let _whole = VisitMut::visit(query, &mut Given);
}

fn name(body: &mut SetExpr, first: &mut Vec<String>) {
    match body {
        SetExpr::Select(select) => {
            let alone = first.is_empty();
            let columns: Vec<String> = select
                .projection
                .iter()
                .filter_map(|i| column(i).map(str::to_owned))
                .collect();
            let twice = |name: &str| columns.iter().filter(|c| *c == name).count() > 1;
            for (nth, item) in select.projection.iter_mut().enumerate() {
                let SelectItem::UnnamedExpr(expr) = item else { continue };
                let name = match (&*expr, first.get(nth)) {
                    (_, Some(name)) => name.clone(),
                    (Expr::Identifier(_), None) => continue,
                    (Expr::CompoundIdentifier(parts), None) if !parts.last().is_some_and(|p| twice(&p.value)) => {
                        continue;
                    }
                    (Expr::CompoundIdentifier(parts), None) => {
                        let parts: Vec<&str> = parts.iter().map(|p| p.value.as_str()).collect();
                        parts.join(".")
                    }
                    (e, None) => e.to_string(),
                };
                *item = SelectItem::ExprWithAlias {
                    expr: expr.clone(),
                    alias: quoted(&name),
                };
            }
            apart(select);
            if alone {
                let names: Option<Vec<String>> =
                    select.projection.iter().map(|i| Some(column(i)?.to_owned())).collect();
                *first = names.unwrap_or_default();
            }
        }
        SetExpr::SetOperation { left, right, .. } => {
            name(left, first);
            name(right, first);
        }
        SetExpr::Query(inner) => name(&mut inner.body, first),
        _ => {}
    }
}

/// Results of one name: all but the first get a number.
fn apart(select: &mut Select) {
    let mut taken: Vec<String> = vec![];
    for item in &mut select.projection {
        let Some(name) = column(item).map(str::to_owned) else {
            continue;
        };
        let is = |n: &String| taken.contains(n);
        if is(&name) {
            let free = (1..).map(|n| format!("{name}_{n}")).find(|n| !is(n));
            let alias = quoted(&free.unwrap_or_default());
            let (SelectItem::ExprWithAlias { expr, .. } | SelectItem::UnnamedExpr(expr)) = &*item else {
                continue;
            };
            let expr = expr.clone();
            taken.push(alias.value.clone());
            *item = SelectItem::ExprWithAlias { expr, alias };
        } else {
            taken.push(name);
        }
    }
}

/// What a result is called, where that is plain.
pub(super) fn column(item: &SelectItem) -> Option<&str> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(&alias.value),
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(&name.value),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => parts.last().map(|p| p.value.as_str()),
        _ => None,
    }
}
