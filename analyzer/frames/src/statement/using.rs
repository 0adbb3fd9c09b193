//! JOIN ... USING (k). A key stands once in the result; the engine has it of either table, and takes that of the left one, which a
//! RIGHT or FULL JOIN leaves unknown.
//!
//! ```text
//! SELECT * FROM a JOIN b USING (k)        ->  SELECT * EXCLUDE ("k:b") FROM ...
//! SELECT k FROM a FULL JOIN b USING (k)   ->  SELECT COALESCE(a.k, b.k) AS k FROM a FULL JOIN b ON a.k = b.k
//! ```

use std::ops::ControlFlow;

use sqlparser::ast::{
    ExcludeSelectItem, Expr, Ident, Join, JoinConstraint, JoinOperator, ObjectName, ObjectNamePart, OrderByKind, Query,
    Select, SelectItem, SetExpr, VisitMut, VisitorMut,
};

use super::names::column;
use super::scope::{Scope, Table, excluded};
use super::{Known, done, ended, expression, quoted, refused};
use crate::FramesError;

/// Rewrites all joins of a query.
pub(super) fn rewritten(query: &mut Query, known: &[Known]) -> Result<(), FramesError> {
    let scope = Scope::of(query, known);
    done(VisitMut::visit(query, &mut Joins { scope }))
}

struct Joins<'k> {
    scope: Scope<'k>,
}

impl VisitorMut for Joins<'_> {
    type Break = FramesError;
    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<FramesError> {
        let SetExpr::Select(select) = query.body.as_mut() else {
            return ControlFlow::Continue(());
        };
        match self.merged(select) {
            Ok(None) => ControlFlow::Continue(()),
            Ok(Some(mut merged)) => {
                merged.put_into_results(select)?;
                if let Some(OrderByKind::Expressions(by)) = query.order_by.as_mut().map(|o| &mut o.kind) {
                    for order in by {
                        let called = |n: &Ident| select.projection.iter().any(|i| column(i) == Some(&n.value));
                        if !matches!(&order.expr, Expr::Identifier(n) if called(n)) {
                            VisitMut::visit(&mut order.expr, &mut merged)?;
                        }
                    }
                }
                ControlFlow::Continue(())
            }
            Err(e) => ended(e),
        }
    }
    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<FramesError> {
        // Those that are parts of a union.
        match self.merged(select) {
            Ok(Some(mut merged)) => merged.put_into_results(select),
            Ok(None) => ControlFlow::Continue(()),
            Err(e) => ended(e),
        }
    }
}

/// Keys of USING, if a join has it.
fn using(join: &Join) -> Option<(Vec<Ident>, bool)> {
    use JoinOperator as J;
    let (keys, keeps_right) = match &join.join_operator {
        J::Join(JoinConstraint::Using(k))
        | J::Inner(JoinConstraint::Using(k))
        | J::Left(JoinConstraint::Using(k))
        | J::LeftOuter(JoinConstraint::Using(k)) => (k, false),
        J::Right(JoinConstraint::Using(k))
        | J::RightOuter(JoinConstraint::Using(k))
        | J::FullOuter(JoinConstraint::Using(k)) => (k, true),
        _ => return None,
    };
    let one = |k: &ObjectName| match k.0.as_slice() {
        [ObjectNamePart::Identifier(i)] => Some(i.clone()),
        _ => None,
    };
    let keys: Option<Vec<Ident>> = keys.iter().map(one).collect();
    keys.map(|k| (k, keeps_right))
}

impl Joins<'_> {
    /// Leaves keys out of `*`; `Some`: what a key is, where the right table is kept.
    fn merged(&self, select: &mut Select) -> Result<Option<Merged>, FramesError> {
        let mut twice: Vec<String> = vec![];
        let mut kept = None;
        for (at, from) in select.from.iter().enumerate() {
            for join in &from.joins {
                let Some((keys, keeps_right)) = using(join) else {
                    continue;
                };
                let right = self.scope.table(&join.relation).name;
                if keeps_right {
                    kept = Some((at, keys, self.scope.table(&from.relation).name, right));
                } else {
                    twice.extend(keys.iter().map(|k| format!("{}:{right}", k.value)));
                }
            }
        }
        let Some((at, keys, left, right)) = kept else {
            exclude(select, &twice, &self.scope.tables(select));
            return Ok(None);
        };
        let joins: usize = select.from.iter().map(|f| f.joins.len()).sum();
        let wild = |i: &SelectItem| matches!(i, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
        if joins > 1 || select.from.len() > 1 || select.projection.iter().any(wild) {
            return Err(refused(
                "USING of a RIGHT or FULL JOIN is not known beside * or another join: write ON a.k = b.k, and COALESCE(a.k, b.k) for the key",
            ));
        }
        let pair = |k: &Ident| {
            let k = quoted(&k.value);
            (format!("{}.{k}", quoted(&left)), format!("{}.{k}", quoted(&right)))
        };
        let on: Vec<String> = keys.iter().map(pair).map(|(l, r)| format!("{l} = {r}")).collect();
        let on = JoinConstraint::On(expression(&on.join(" AND "))?);
        if let Some(join) = select.from.get_mut(at).and_then(|f| f.joins.first_mut()) {
            join.join_operator = match &join.join_operator {
                JoinOperator::FullOuter(_) => JoinOperator::FullOuter(on),
                _ => JoinOperator::RightOuter(on),
            };
        }
        let mut all = vec![];
        for key in &keys {
            let (l, r) = pair(key);
            all.push((key.clone(), expression(&format!("COALESCE({l}, {r})"))?));
        }
        Ok(Some(Merged { all, deep: 0 }))
    }
}

/// Leaves them out of `*`, and what it excludes of all tables that have it.
fn exclude(select: &mut Select, names: &[String], tables: &[Table]) {
    for item in &mut select.projection {
        let SelectItem::Wildcard(options) = item else { continue };
        let mut all = excluded(options);
        let has = |t: &Table, name: &String| t.columns.as_ref().is_some_and(|c| c.contains(name));
        for name in all.clone() {
            let behind = tables
                .iter()
                .skip_while(|t| !has(t, &name))
                .skip(1)
                .filter(|t| has(t, &name));
            all.extend(behind.map(|t| format!("{name}:{}", t.name)));
        }
        all.extend(names.iter().cloned());
        let mut once: Vec<ObjectName> = vec![];
        for name in all.iter().map(|n| ObjectName::from(vec![quoted(n)])) {
            if !once.contains(&name) {
                once.push(name);
            }
        }
        if !once.is_empty() {
            options.opt_exclude = Some(ExcludeSelectItem::Multiple(once));
        }
    }
}

/// Each key with what it is.
struct Merged {
    all: Vec<(Ident, Expr)>,
    /// Queries that the expression is in: their names are their own.
    deep: usize,
}

impl Merged {
    fn put_into_results(&mut self, select: &mut Select) -> ControlFlow<FramesError> {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr @ Expr::Identifier(_)) = item
                && let Some(name) = column(&SelectItem::UnnamedExpr(expr.clone())).map(quoted)
            {
                *item = SelectItem::ExprWithAlias {
                    expr: expr.clone(),
                    alias: name,
                };
            }
            VisitMut::visit(item, self)?;
        }
        VisitMut::visit(&mut select.selection, self)?;
        VisitMut::visit(&mut select.group_by, self)?;
        VisitMut::visit(&mut select.having, self)
    }
}

impl VisitorMut for Merged {
    type Break = FramesError;
    counts_queries!();
    fn post_visit_expr(&mut self, e: &mut Expr) -> ControlFlow<FramesError> {
        if let Expr::Identifier(name) = e
            && self.deep == 0
            && let Some((_, made)) = self.all.iter().find(|(k, _)| k.value == name.value)
        {
            *e = made.clone();
        }
        ControlFlow::Continue(())
    }
}
