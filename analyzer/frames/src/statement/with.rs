//! WITH: the engine knows it at the beginning of a statement only, and a table of the same name goes before it. So all of them
//! stand there, each under a name that nothing else has.
//!
//! ```text
//! SELECT ... FROM (WITH rx AS (...) SELECT * FROM rx) AS t   ->  WITH "rx 1" AS (...) SELECT ... FROM (SELECT * FROM "rx 1") AS t
//! ```

use std::ops::ControlFlow;

use sqlparser::ast::{
    Cte, Expr, Ident, ObjectNamePart, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, TableFactor, Visit,
    VisitMut, Visitor, VisitorMut, With,
};

use super::{Known, done, ended, quoted, refused};
use crate::FramesError;

/// Moves all WITH of a query to its beginning.
pub(super) fn lifted(query: &mut Query, known: &[Known]) -> Result<(), FramesError> {
    let token = query.with.as_ref().map(|w| w.with_token.clone());
    let mut aliases = Aliases(vec![]);
    let _whole = Visit::visit(&*query, &mut aliases);
    let mut withs = Withs {
        taken: known.iter().map(|k| k.name.clone()).collect(),
        around: vec![],
        lifted: vec![],
        aliases: aliases.0,
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
    aliases: Vec<Ident>,
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
        if self.aliases.iter().all(|a| !same(a, table))
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
        ControlFlow::Continue(())
    }
    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<FramesError> {
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

/// Names behind AS in FROM.
struct Aliases(Vec<Ident>);

impl Visitor for Aliases {
    type Break = ();
    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { alias: Some(a), .. } | TableFactor::Derived { alias: Some(a), .. } = factor {
            self.0.push(a.name.clone());
        }
        ControlFlow::Continue(())
    }
}
