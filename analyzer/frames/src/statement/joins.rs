//! ON of a join. The engine knows equalities between both sides, and for a JOIN other comparisons between them; what else stands in
//! the ON of a LEFT JOIN it takes for a condition on the result, and rows without a partner vanish.
//!
//! ```text
//! s LEFT JOIN r ON s.id = r.id AND r.ns > 5   ->  s LEFT JOIN r ON s.id = CASE WHEN r.ns > 5 THEN r.id END
//! s JOIN r ON s.id = r.id AND (s.a OR r.b)    ->  s JOIN r ON s.id = r.id ... WHERE (s.a OR r.b)
//! ```
//! A key that is unknown has no partner: so a condition of one side, whichever, becomes part of its key.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, JoinConstraint, JoinOperator, ObjectNamePart, Query, Select, TableFactor, Visit, VisitMut,
    Visitor, VisitorMut,
};

use super::calls::parts;
use super::{Known, done, ended, expression, quoted, refused};
use crate::FramesError;

/// Rewrites the joins of a query.
pub(super) fn rewritten(query: &mut Query, known: &[Known]) -> Result<(), FramesError> {
    done(VisitMut::visit(query, &mut Joins { known }))
}

struct Joins<'k> {
    known: &'k [Known],
}

/// A table of FROM; columns of a subquery are not known.
struct Side<'k> {
    name: String,
    columns: Option<&'k [String]>,
}

/// Of whose columns an expression is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    None,
    Left,
    Right,
    Both,
}

impl VisitorMut for Joins<'_> {
    type Break = FramesError;
    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<FramesError> {
        match self.select(select) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => ended(e),
        }
    }
}

impl<'k> Joins<'k> {
    fn side(&self, factor: &TableFactor) -> Option<Side<'k>> {
        let (name, alias) = match factor {
            TableFactor::Table { name, alias, .. } => match name.0.as_slice() {
                [ObjectNamePart::Identifier(name)] => (Some(name.value.clone()), alias),
                _ => return None,
            },
            TableFactor::Derived { alias, .. } => (None, alias),
            _ => return None,
        };
        // Columns that are called otherwise (AS t(a, b)) are not those of the table.
        let renamed = alias.as_ref().is_some_and(|a| !a.columns.is_empty());
        let found = self.known.iter().find(|k| Some(&k.name) == name.as_ref() && !renamed);
        let called = alias.as_ref().map(|a| a.name.value.clone()).or(name);
        Some(Side {
            name: called?,
            columns: found.map(|k| k.columns.as_slice()),
        })
    }

    fn select(&self, select: &mut Select) -> Result<(), FramesError> {
        let mut conditions = vec![];
        for from in &mut select.from {
            let mut left: Vec<Side<'k>> = self.side(&from.relation).into_iter().collect();
            // Behind these a condition on the result is another one.
            let keeps_right = from.joins.iter().rposition(|j| {
                matches!(
                    j.join_operator,
                    JoinOperator::Right(_) | JoinOperator::RightOuter(_) | JoinOperator::FullOuter(_)
                )
            });
            for (nth, join) in from.joins.iter_mut().enumerate() {
                let Some(right) = self.side(&join.relation) else {
                    continue;
                };
                let movable = keeps_right.is_none_or(|at| at < nth);
                if let Some(on) = on(&mut join.join_operator) {
                    let moved = one(on, &left, &right, movable)?;
                    if let Some(moved) = moved {
                        conditions.extend(moved.conditions);
                        if moved.no_key {
                            join.join_operator = JoinOperator::CrossJoin(JoinConstraint::None);
                        }
                    }
                }
                left.push(right);
            }
        }
        if !conditions.is_empty() {
            conditions.extend(select.selection.take());
            let all: Vec<String> = conditions.iter().map(|c| format!("({c})")).collect();
            select.selection = Some(expression(&all.join(" AND "))?);
        }
        Ok(())
    }
}

/// The condition of a join that has one, and whether rows without a partner stay.
fn on(operator: &mut JoinOperator) -> Option<(&mut Expr, bool)> {
    use JoinOperator as J;
    match operator {
        J::Join(JoinConstraint::On(e)) | J::Inner(JoinConstraint::On(e)) => Some((e, false)),
        J::Left(JoinConstraint::On(e))
        | J::LeftOuter(JoinConstraint::On(e))
        | J::Right(JoinConstraint::On(e))
        | J::RightOuter(JoinConstraint::On(e))
        | J::FullOuter(JoinConstraint::On(e))
        | J::Semi(JoinConstraint::On(e))
        | J::LeftSemi(JoinConstraint::On(e))
        | J::RightSemi(JoinConstraint::On(e))
        | J::Anti(JoinConstraint::On(e))
        | J::LeftAnti(JoinConstraint::On(e))
        | J::RightAnti(JoinConstraint::On(e)) => Some((e, true)),
        _ => None,
    }
}

/// What goes to WHERE, and whether nothing is left in ON.
struct Moved {
    conditions: Vec<Expr>,
    no_key: bool,
}

/// One ON; `None`: it stays, or was mended in place.
fn one(
    (on, outer): (&mut Expr, bool),
    left: &[Side<'_>],
    right: &Side<'_>,
    movable: bool,
) -> Result<Option<Moved>, FramesError> {
    let mut all = vec![];
    parts(on, &mut all);
    let of = |e: &Expr| whose(e, left, right);
    // Key of the left, key of the right.
    let mut keys: Vec<(Expr, Expr)> = vec![];
    let (mut compares, mut rest) = (vec![], vec![]);
    for part in all {
        if let Expr::BinaryOp { left: a, op, right: b } = &part {
            use BinaryOperator as B;
            let sides = (of(a)?, of(b)?);
            match (op, sides) {
                (B::Eq, (Of::Left, Of::Right)) => {
                    keys.push((a.as_ref().clone(), b.as_ref().clone()));
                    continue;
                }
                (B::Eq, (Of::Right, Of::Left)) => {
                    keys.push((b.as_ref().clone(), a.as_ref().clone()));
                    continue;
                }
                (B::Lt | B::LtEq | B::Gt | B::GtEq | B::NotEq, (Of::Left, Of::Right) | (Of::Right, Of::Left)) => {
                    compares.push(part);
                    continue;
                }
                _ => {}
            }
        }
        rest.push(part);
    }
    if outer {
        rest.append(&mut compares);
        return folded(on, keys, rest, left, right).map(|()| None);
    }
    if rest.is_empty() && (keys.is_empty() || compares.is_empty()) {
        *on = joined(
            keys.iter()
                .map(|(l, r)| format!("{l} = {r}"))
                .chain(compares.iter().map(Expr::to_string)),
        )?;
        return Ok(None);
    }
    if !movable {
        return Err(refused(
            "ON of a JOIN before a RIGHT or FULL JOIN can have equalities between both tables only: join in a subquery first",
        ));
    }
    // Comparisons beside a key choose from what it joins; alone they are the join.
    let no_key = keys.is_empty() && compares.is_empty();
    let texts: Vec<String> = match keys.is_empty() {
        true => compares.iter().map(Expr::to_string).collect(),
        false => {
            rest.append(&mut compares);
            keys.iter().map(|(l, r)| format!("{l} = {r}")).collect()
        }
    };
    if !no_key {
        *on = joined(texts.into_iter())?;
    }
    Ok(Some(Moved {
        conditions: rest,
        no_key,
    }))
}

fn joined(parts: impl Iterator<Item = String>) -> Result<Expr, FramesError> {
    expression(&parts.collect::<Vec<_>>().join(" AND "))
}

/// Conditions of one side become part of its first key.
fn folded(
    on: &mut Expr,
    mut keys: Vec<(Expr, Expr)>,
    rest: Vec<Expr>,
    left: &[Side<'_>],
    right: &Side<'_>,
) -> Result<(), FramesError> {
    let Some(first) = keys.first_mut() else {
        return Err(refused(
            "ON of a LEFT, RIGHT or FULL JOIN needs an equality between both tables: ON a.x = b.x",
        ));
    };
    for part in rest {
        let key = match whose(&part, left, right)? {
            Of::Right => &mut first.1,
            Of::Left | Of::None => &mut first.0,
            Of::Both => {
                return Err(refused(format!(
                    "ON of a LEFT, RIGHT or FULL JOIN can have equalities between both tables and conditions of one of them, not {part}: \
                     write JOIN, or join in a subquery with that condition in its WHERE and LEFT JOIN its result"
                )));
            }
        };
        *key = expression(&format!("CASE WHEN {part} THEN {key} END"))?;
    }
    if left.len() > 1 {
        let _whole = VisitMut::visit(&mut first.0, &mut Merged(left));
    }
    *on = joined(keys.iter().map(|(l, r)| format!("{l} = {r}")))?;
    Ok(())
}

/// Columns of joined tables as the engine calls them, because it knows no `r.x` inside a key: `"x:r"` where a table before has an `x`.
struct Merged<'s>(&'s [Side<'s>]);

impl VisitorMut for Merged<'_> {
    type Break = ();
    fn post_visit_expr(&mut self, e: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = e
            && let [table, name] = parts.as_slice()
            && let Some(at) = self.0.iter().position(|s| s.name == table.value)
        {
            let mut before = self.0.iter().take(at);
            let merged = match before.any(|s| s.columns.is_none_or(|c| c.contains(&name.value))) {
                true => format!("{}:{}", name.value, table.value),
                false => name.value.clone(),
            };
            *e = Expr::Identifier(quoted(&merged));
        }
        ControlFlow::Continue(())
    }
}

/// Of whose columns it is.
fn whose(e: &Expr, left: &[Side<'_>], right: &Side<'_>) -> Result<Of, FramesError> {
    let mut columns = Columns::default();
    let _whole = Visit::visit(e, &mut columns);
    if columns.asks {
        return Ok(Of::Both);
    }
    let (mut l, mut r) = (false, false);
    for (table, name) in &columns.all {
        let at_right = match table {
            Some(t) => *t == right.name,
            None => {
                let has = |s: &Side<'_>| s.columns.is_some_and(|c| c.contains(name));
                let open = |s: &Side<'_>| s.columns.is_none();
                let (here, there) = (has(right), left.iter().any(has));
                match (here, there, open(right), left.iter().any(open)) {
                    (true, false, ..) => true,
                    (false, true, ..) => false,
                    (false, false, true, false) => true,
                    (false, false, false, true) => false,
                    _ => {
                        return Err(refused(format!(
                            "whose column {name} is, is not known in ON: write its table's name before it, like {}.{name}",
                            right.name
                        )));
                    }
                }
            }
        };
        match at_right {
            true => r = true,
            false => l = true,
        }
    }
    Ok(match (l, r) {
        (false, false) => Of::None,
        (true, false) => Of::Left,
        (false, true) => Of::Right,
        (true, true) => Of::Both,
    })
}

/// Columns that an expression names.
#[derive(Default)]
struct Columns {
    all: Vec<(Option<String>, String)>,
    /// It has a subquery.
    asks: bool,
}

impl Visitor for Columns {
    type Break = ();
    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.asks = true;
        ControlFlow::Continue(())
    }
    fn pre_visit_expr(&mut self, e: &Expr) -> ControlFlow<()> {
        match e {
            Expr::Identifier(name) => self.all.push((None, name.value.clone())),
            Expr::CompoundIdentifier(parts) => {
                if let [table, name] = parts.as_slice() {
                    self.all.push((Some(table.value.clone()), name.value.clone()));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
