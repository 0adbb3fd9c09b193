//! A subquery that is one value becomes that value: the engine knows none in a comparison.

use std::ops::ControlFlow;

use polars::prelude::{AnyValue, DataFrame};
use sqlparser::ast::{BinaryOperator, Cte, Expr, Query, Select, VisitMut, VisitorMut};

use super::asked::{names, outer, qualify};
use super::scope::Scope;
use super::{Known, done, ended, expression, query_of, refused};
use crate::FramesError;

/// Puts values in the places of subqueries; `ask` runs one.
pub(super) fn put_in(
    query: &mut Query,
    known: &[Known],
    ask: &mut dyn FnMut(&str) -> Result<DataFrame, FramesError>,
) -> Result<(), FramesError> {
    let scope = Scope::of(query, known);
    let mut places = Places {
        with: vec![],
        joins: vec![],
        scope,
        ask,
    };
    // What WITH names first, one after the other: what asks for one has its values, not its subqueries.
    let mut with = query.with.take();
    for cte in with.iter_mut().flat_map(|w| &mut w.cte_tables) {
        done(VisitMut::visit(&mut cte.query, &mut places))?;
        places.with.push(cte.clone());
    }
    let made = done(VisitMut::visit(query, &mut places));
    query.with = with;
    made
}

struct Places<'a> {
    /// What WITH names, as far as it is done.
    with: Vec<Cte>,
    /// Of each SELECT around, whether it joins.
    joins: Vec<bool>,
    scope: Scope<'a>,
    ask: &'a mut dyn FnMut(&str) -> Result<DataFrame, FramesError>,
}

impl VisitorMut for Places<'_> {
    type Break = FramesError;
    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<FramesError> {
        let joins = select.from.len() > 1 || select.from.iter().any(|f| !f.joins.is_empty());
        self.joins.push(joins);
        ControlFlow::Continue(())
    }
    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<FramesError> {
        self.joins.pop();
        ControlFlow::Continue(())
    }
    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<FramesError> {
        let made = match expr {
            Expr::Subquery(query) => self.value(query),
            Expr::InSubquery { subquery, .. } => {
                if outer(&self.scope, subquery) {
                    return ended(refused(
                        "IN (SELECT ...) that names a column of the query around it is not known: join with the subquery, \
                         JOIN (SELECT DISTINCT a, b FROM ...) AS p ON p.a = t.a AND p.b = t.b",
                    ));
                }
                if self.joins.last() == Some(&true) {
                    qualify(&self.scope, subquery);
                }
                return ControlFlow::Continue(());
            }
            Expr::Exists { subquery, negated } if !outer(&self.scope, subquery) => {
                let negated = *negated;
                self.any(subquery)
                    .and_then(|any| expression(if any == negated { "FALSE" } else { "TRUE" }))
            }
            Expr::AnyOp {
                left,
                compare_op: BinaryOperator::Eq,
                right,
                ..
            } => match right.as_ref() {
                Expr::Subquery(query) => expression(&format!("{left} IN ({query})")),
                _ => return ControlFlow::Continue(()),
            },
            Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } if matches!(right.as_ref(), Expr::Subquery(_)) => {
                Err(refused(
                    "ALL and ANY over a subquery are not known: compare with its largest or smallest, x > (SELECT MAX(y) FROM ...)",
                ))
            }
            _ => return ControlFlow::Continue(()),
        };
        match made {
            Ok(value) => *expr = value,
            Err(e) => return ended(e),
        }
        ControlFlow::Continue(())
    }
}

impl Places<'_> {
    fn value(&mut self, query: &Query) -> Result<Expr, FramesError> {
        if outer(&self.scope, query) {
            return Err(refused(
                "a subquery that names a column of the query around it is not known as a value: join with a subquery \
                 that has the value for each group, JOIN (SELECT k, MAX(x) AS m FROM t GROUP BY k) AS g ON g.k = t.k",
            ));
        }
        let text = self.text(query);
        let frame = (self.ask)(&text)?;
        match (frame.width(), frame.height(), frame.columns().first().map(|c| c.get(0))) {
            (1, 1, Some(value)) => expression(&literal(&value?)),
            (1, 0, _) => expression("NULL"),
            (1, n, _) => Err(refused(format!(
                "a subquery gives {n} values where one is needed: add LIMIT 1, or ask with IN"
            ))),
            (n, ..) => Err(refused(format!("a subquery gives {n} columns where one is needed"))),
        }
    }
    /// Whether it has any row.
    fn any(&mut self, query: &Query) -> Result<bool, FramesError> {
        let counted = query_of(&format!("SELECT COUNT(*) AS \"n\" FROM ({query}) AS \"rows\""))?;
        let text = self.text(&counted);
        let frame = (self.ask)(&text)?;
        let n = frame.columns().first().map(|c| c.get(0)).transpose()?;
        Ok(n.and_then(|n| n.extract::<i64>()).unwrap_or(0) > 0)
    }
    /// With what WITH names and this one asks for, itself or by what it asks for.
    fn text(&self, query: &Query) -> String {
        let mut asked = names(query).tables;
        let mut all: Vec<(usize, &Cte)> = vec![];
        let mut at = 0;
        while let Some(name) = asked.get(at).cloned() {
            at += 1;
            let found = self.with.iter().enumerate().find(|(_, c)| c.alias.name.value == name);
            if let Some((place, cte)) = found.filter(|(place, _)| all.iter().all(|(p, _)| p != place)) {
                all.push((place, cte));
                asked.extend(names(&cte.query).tables);
            }
        }
        all.sort_by_key(|(place, _)| *place);
        let texts: Vec<String> = all.iter().map(|(_, c)| c.to_string()).collect();
        match texts.is_empty() {
            true => query.to_string(),
            false => format!("WITH {} {query}", texts.join(", ")),
        }
    }
}

fn float(f: f64) -> String {
    match f.is_finite() {
        // A whole one is of floating point all the same.
        true if f.fract() == 0.0 => format!("({f}.0)"),
        true => format!("({f})"),
        false => format!("CAST('{f}' AS DOUBLE)"),
    }
}

/// A value as the engine reads it.
fn literal(v: &AnyValue<'_>) -> String {
    match v {
        AnyValue::Null => "NULL".to_owned(),
        AnyValue::Float32(_) | AnyValue::Float64(_) => v.extract::<f64>().map_or_else(|| "NULL".to_owned(), float),
        AnyValue::String(s) => format!("'{}'", s.replace('\'', "''")),
        AnyValue::StringOwned(s) => format!("'{}'", s.replace('\'', "''")),
        // Behind a minus a negative one would begin a comment.
        v => format!("({v})"),
    }
}
