//! Names of tables and columns in the letters that they have: `FROM RX`, `SELECT Reason`.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, ObjectName, ObjectNamePart, Query, Select, SelectItem, TableFactor, Visit, VisitMut, Visitor,
    VisitorMut,
};

use super::Known;

/// Names that the statement itself gives.
#[derive(Default)]
struct Given {
    names: Vec<String>,
}

impl Visitor for Given {
    type Break = ();
    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let tables = query.with.iter().flat_map(|w| &w.cte_tables);
        for alias in tables.map(|t| &t.alias) {
            self.names.push(alias.name.value.clone());
            self.names.extend(alias.columns.iter().map(|c| c.name.value.clone()));
        }
        ControlFlow::Continue(())
    }
    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.names.push(alias.value.clone());
            }
        }
        ControlFlow::Continue(())
    }
    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { alias: Some(a), .. } | TableFactor::Derived { alias: Some(a), .. } = factor {
            self.names.push(a.name.value.clone());
            self.names.extend(a.columns.iter().map(|c| c.name.value.clone()));
        }
        ControlFlow::Continue(())
    }
}

struct Speller<'k> {
    given: Vec<String>,
    known: &'k [Known],
}

impl Speller<'_> {
    /// The one of that spelling, else the first that differs in case only; what is between quotes stays.
    fn spell<'n>(&'n self, ident: &mut Ident, known: impl Iterator<Item = &'n String>) {
        let all: Vec<&String> = self.given.iter().chain(known).collect();
        if ident.quote_style.is_some() || all.contains(&&ident.value) {
            return;
        }
        if let Some(name) = all.iter().find(|n| n.eq_ignore_ascii_case(&ident.value)) {
            ident.value.clone_from(name);
        }
    }
    fn table(&self, ident: &mut Ident) {
        self.spell(ident, self.known.iter().map(|k| &k.name));
    }
    fn column(&self, ident: &mut Ident) {
        self.spell(ident, self.known.iter().flat_map(|k| &k.columns));
    }
}

impl VisitorMut for Speller<'_> {
    type Break = ();
    fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<()> {
        if let [ObjectNamePart::Identifier(name)] = relation.0.as_mut_slice() {
            self.table(name);
        }
        ControlFlow::Continue(())
    }
    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(name) => self.column(name),
            Expr::CompoundIdentifier(parts) => {
                if let [table, name] = parts.as_mut_slice() {
                    self.table(table);
                    self.column(name);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Spells them so.
pub(super) fn as_known(query: &mut Query, known: &[Known]) {
    let mut given = Given::default();
    let _whole = Visit::visit(&*query, &mut given);
    let mut speller = Speller {
        given: given.names,
        known,
    };
    let _whole = VisitMut::visit(query, &mut speller);
}
