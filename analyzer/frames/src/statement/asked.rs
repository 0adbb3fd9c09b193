//! What a subquery names: its own tables and columns, or those of the query around it.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, ObjectName, ObjectNamePart, Query, Select, SelectItem, SetExpr, TableFactor, Visit, VisitMut, Visitor,
    VisitorMut,
};

use super::before::foreign;
use super::quoted;
use super::scope::Scope;

/// What a query names.
#[derive(Default)]
pub(super) struct Names {
    pub tables: Vec<String>,
    /// Columns without a table.
    columns: Vec<String>,
    /// Results that have a name.
    results: Vec<String>,
}

/// Whether it names a column of a table that is not its own.
pub(super) fn outer(scope: &Scope<'_>, query: &Query) -> bool {
    if foreign(scope, query) {
        return true;
    }
    let names = names(query);
    // One without a table: where all columns of the query are known, it is none of them, and some other table has it.
    let mut own = Own {
        scope,
        all: Some(names.results),
    };
    let _whole = Visit::visit(query, &mut own);
    own.all
        .is_some_and(|own| names.columns.iter().any(|c| !own.contains(c) && scope.is_column(c)))
}

/// Columns of all tables of a query.
struct Own<'s> {
    scope: &'s Scope<'s>,
    all: Option<Vec<String>>,
}

impl Visitor for Own<'_> {
    type Break = ();
    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match (self.all.as_mut(), self.scope.table(factor).columns) {
            (Some(all), Some(columns)) => all.extend(columns),
            _ => self.all = None,
        }
        ControlFlow::Continue(())
    }
}

/// Columns of a subquery of one table with its name before them: the engine takes those that the query around it has, too, for
/// columns of that one.
pub(super) fn qualify(scope: &Scope<'_>, query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return;
    };
    let given: Vec<String> = names(query).results;
    let table = match select.from.as_slice() {
        [one] if one.joins.is_empty() => scope.table(&one.relation),
        _ => return,
    };
    let Some(columns) = table.columns else { return };
    let columns = columns.into_iter().filter(|c| !given.contains(c)).collect();
    let mut qualifier = Qualifier {
        table: quoted(&table.name),
        columns,
        deep: 0,
    };
    let _whole = VisitMut::visit(query, &mut qualifier);
}

struct Qualifier {
    table: Ident,
    columns: Vec<String>,
    deep: usize,
}

impl VisitorMut for Qualifier {
    type Break = ();
    counts_queries!();
    fn post_visit_expr(&mut self, e: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = e
            && self.deep == 1
            && self.columns.contains(&name.value)
        {
            *e = Expr::CompoundIdentifier(vec![self.table.clone(), name.clone()]);
        }
        ControlFlow::Continue(())
    }
}

pub(super) fn names(query: &Query) -> Names {
    let mut names = Names::default();
    let _whole = Visit::visit(query, &mut names);
    names
}

impl Visitor for Names {
    type Break = ();
    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        if let Some(ObjectNamePart::Identifier(name)) = relation.0.last() {
            self.tables.push(name.value.clone());
        }
        ControlFlow::Continue(())
    }
    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.results.push(alias.value.clone());
            }
        }
        ControlFlow::Continue(())
    }
    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expr {
            self.columns.push(name.value.clone());
        }
        ControlFlow::Continue(())
    }
}
