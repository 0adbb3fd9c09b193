//! A table before a column: it is one of FROM, or of a query around, and it has that column. The engine asks neither: of a name that
//! it does not know it takes the column of any table.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, ObjectNamePart, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, Visit, Visitor,
};

use super::scope::{Scope, Table};
use super::{Known, done, ended, mistake, refused};
use crate::FramesError;

/// Refuses what is of no table of its SELECT, nor of those around.
pub(super) fn checked(query: &Query, known: &[Known]) -> Result<(), FramesError> {
    let scope = Scope::of(query, known);
    let mut query = query.clone();
    let with = query.with.take();
    for cte in with.iter().flat_map(|w| &w.cte_tables) {
        done(Visit::visit(&cte.query, &mut Before::of(&scope)))?;
    }
    done(Visit::visit(&query, &mut Before::of(&scope)))
}

/// Whether a subquery names a table that is not its own.
pub(super) fn foreign(scope: &Scope<'_>, query: &Query) -> bool {
    let mut before = Before::of(scope);
    before.only_tables = true;
    Visit::visit(query, &mut before).is_break()
}

struct Before<'s> {
    scope: &'s Scope<'s>,
    /// Tables of each query around.
    around: Vec<Vec<Table>>,
    only_tables: bool,
}

impl<'s> Before<'s> {
    fn of(scope: &'s Scope<'s>) -> Self {
        Before {
            scope,
            around: vec![],
            only_tables: false,
        }
    }

    fn find(&self, name: &str) -> Result<Option<&Table>, FramesError> {
        let called = |t: &&Table| t.name.eq_ignore_ascii_case(name);
        let all = self.around.iter().rev();
        let mut open = all
            .clone()
            .flatten()
            .filter(|t| t.name.is_empty() && t.columns.is_none());
        match all.clone().find_map(|from| from.iter().find(called)) {
            None if open.next().is_none() => Err(refused(format!(
                "there is no {name} in FROM{}",
                self.around.last().map_or_else(String::new, |of| {
                    let names: Vec<&str> = of.iter().map(|t| t.name.as_str()).filter(|n| !n.is_empty()).collect();
                    if names.is_empty() {
                        String::new()
                    } else {
                        format!(", but {}", names.join(", "))
                    }
                })
            ))),
            found => Ok(found),
        }
    }

    fn column(&self, table: &str, name: &str) -> Result<(), FramesError> {
        let found = self.find(table)?.and_then(|t| t.columns.as_ref());
        match found {
            Some(all) if !self.only_tables && all.iter().all(|c| !c.eq_ignore_ascii_case(name)) => {
                Err(mistake(format!("unable to find column {name} in {table}")))
            }
            _ => Ok(()),
        }
    }
}

fn walked(of: Result<(), FramesError>) -> ControlFlow<FramesError> {
    of.map_or_else(ended, ControlFlow::Continue)
}

impl Visitor for Before<'_> {
    type Break = FramesError;
    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<FramesError> {
        // ORDER BY stands outside of the SELECT.
        self.around.push(match query.body.as_ref() {
            SetExpr::Select(select) => self.scope.tables(select),
            _ => vec![],
        });
        ControlFlow::Continue(())
    }
    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<FramesError> {
        self.around.pop();
        ControlFlow::Continue(())
    }
    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<FramesError> {
        self.around.push(self.scope.tables(select));
        for item in &select.projection {
            if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) = item
                && let [ObjectNamePart::Identifier(table)] = name.0.as_slice()
            {
                walked(self.find(&table.value).map(|_| ()))?;
            }
        }
        ControlFlow::Continue(())
    }
    fn post_visit_select(&mut self, _: &Select) -> ControlFlow<FramesError> {
        self.around.pop();
        ControlFlow::Continue(())
    }
    fn pre_visit_expr(&mut self, e: &Expr) -> ControlFlow<FramesError> {
        match e {
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, name] => walked(self.column(&table.value, &name.value)),
                _ => ControlFlow::Continue(()),
            },
            _ => ControlFlow::Continue(()),
        }
    }
}
