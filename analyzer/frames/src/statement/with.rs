//! WITH: the engine knows it at the beginning of a statement only, and a table of the same name goes before it. So all of them
//! stand there, each under a name that nothing else has.
//!
//! ```text
//! SELECT ... FROM (WITH rx AS (...) SELECT * FROM rx) AS t   ->  WITH "rx 1" AS (...) SELECT ... FROM (SELECT * FROM "rx 1") AS t
//! ```

use std::ops::ControlFlow;

use sqlparser::ast::{
    Cte, Expr, Ident, ObjectNamePart, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TableFactor,
    VisitMut, VisitorMut, With,
};

use super::{Known, done, ended, quoted, refused};
use crate::FramesError;

/// Moves all WITH of a query to its beginning.
pub(super) fn lifted(query: &mut Query, known: &[Known]) -> Result<(), FramesError> {
    let token = query.with.as_ref().map(|w| w.with_token.clone());
    let mut withs = Withs {
        taken: known.iter().map(|k| k.name.clone()).collect(),
        around: vec![],
        lifted: vec![],
        called: vec![],
    };
    done(VisitMut::visit(query, &mut withs))?;
    if !withs.lifted.is_empty() {
        query.with = Some(With {
            with_token: token.unwrap_or_else(sqlparser::ast::helpers::attached_token::AttachedToken::empty),
            recursive: false,
            cte_tables: withs.lifted,
        });
    }
    Ok(())
}

struct Withs {
    /// Names that are in use, in any letters.
    taken: Vec<String>,
    /// What each query around names: as it is written, and as it is called now.
    around: Vec<Vec<(Ident, Ident)>>,
    lifted: Vec<Cte>,
    /// Of each FROM around, what it calls its tables, and whether by AS.
    called: Vec<Vec<(Ident, bool)>>,
}

impl Withs {
    /// What a table of FROM is called now.
    fn now(&self, asked: &Ident) -> Option<Ident> {
        let mut around = self.around.iter().rev();
        let found = around.find_map(|q| q.iter().rev().find(|(n, _)| same(n, asked)));
        found.map(|(_, now)| now.clone())
    }
    /// A table before a column, unless it is what FROM calls another one.
    fn rename(&self, table: &mut Ident) {
        let mut called = self.called.iter().rev();
        let here = called.find_map(|from| from.iter().find(|(name, _)| same(name, table)));
        if here.is_none_or(|(_, alias)| !alias)
            && let Some(now) = self.now(table)
        {
            *table = now;
        }
    }
    fn free(&mut self, name: &Ident) -> Ident {
        let taken = |n: &str| self.taken.iter().any(|t| t.eq_ignore_ascii_case(n));
        let free = match taken(&name.value) {
            false => name.clone(),
            true => {
                let tries = (1..).map(|n| format!("{} {n}", name.value));
                quoted(&tries.into_iter().find(|t| !taken(t)).unwrap_or_default())
            }
        };
        self.taken.push(free.value.clone());
        free
    }
}

/// Whether one is meant by the other.
fn same(a: &Ident, b: &Ident) -> bool {
    match a.quote_style.is_some() || b.quote_style.is_some() {
        true => a.value == b.value,
        false => a.value.eq_ignore_ascii_case(&b.value),
    }
}

impl VisitorMut for Withs {
    type Break = FramesError;
    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<FramesError> {
        self.around.push(vec![]);
        // ORDER BY stands outside of the SELECT.
        self.called.push(match query.body.as_ref() {
            SetExpr::Select(select) => called(select),
            _ => vec![],
        });
        let Some(with) = query.with.take() else {
            return ControlFlow::Continue(());
        };
        if with.recursive {
            return ended(refused(
                "WITH RECURSIVE is not known: join a table with itself once for each step",
            ));
        }
        for mut cte in with.cte_tables {
            // It can name those before it, and what is around.
            VisitMut::visit(&mut cte.query, self)?;
            let name = cte.alias.name.clone();
            let free = self.free(&name);
            cte.alias.name = free.clone();
            self.lifted.push(cte);
            if let Some(here) = self.around.last_mut() {
                here.push((name, free));
            }
        }
        ControlFlow::Continue(())
    }
    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<FramesError> {
        self.around.pop();
        self.called.pop();
        ControlFlow::Continue(())
    }
    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<FramesError> {
        self.called.pop();
        ControlFlow::Continue(())
    }
    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<FramesError> {
        self.called.push(called(select));
        for item in &mut select.projection {
            if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) = item
                && let [ObjectNamePart::Identifier(table)] = name.0.as_mut_slice()
            {
                self.rename(table);
            }
        }
        ControlFlow::Continue(())
    }
    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<FramesError> {
        if let TableFactor::Table { name, .. } = factor
            && let [ObjectNamePart::Identifier(asked)] = name.0.as_mut_slice()
            && let Some(now) = self.now(asked)
        {
            *asked = now;
        }
        ControlFlow::Continue(())
    }
    fn pre_visit_expr(&mut self, e: &mut Expr) -> ControlFlow<FramesError> {
        if let Expr::CompoundIdentifier(parts) = e
            && let [table, _] = parts.as_mut_slice()
        {
            self.rename(table);
        }
        ControlFlow::Continue(())
    }
}

/// What a FROM calls its tables, and whether by AS.
fn called(select: &Select) -> Vec<(Ident, bool)> {
    let from = select.from.iter();
    let all = from.flat_map(|f| std::iter::once(&f.relation).chain(f.joins.iter().map(|j| &j.relation)));
    let one = |factor: &TableFactor| match factor {
        TableFactor::Table { alias: Some(a), .. } | TableFactor::Derived { alias: Some(a), .. } => {
            Some((a.name.clone(), true))
        }
        TableFactor::Table { name, .. } => match name.0.as_slice() {
            [ObjectNamePart::Identifier(name)] => Some((name.clone(), false)),
            _ => None,
        },
        _ => None,
    };
    all.filter_map(one).collect()
}
