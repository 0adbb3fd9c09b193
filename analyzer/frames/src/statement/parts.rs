//! What a query of groups is made of: keys, aggregates, and what is computed of them.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Function, Ident, ObjectNamePart, Query, Visit, VisitMut, Visitor, VisitorMut};

use super::calls::{COUNTS, name_of, wide};
use super::functions::is_aggregate;
use super::holds::over;
use super::scope::Table;
use super::{done, ended, mistake, quoted, refused};
use crate::FramesError;

pub(super) const GROUP: &str = "group";
pub(super) const AGGREGATE: &str = "aggregate";

/// What the inner query gives, each with its text.
pub(super) struct Parts {
    pub tables: Vec<Table>,
    pub keys: Vec<(Expr, String)>,
    pub aggregates: Vec<(Expr, String)>,
}

impl Parts {
    pub(super) fn key(&mut self, e: &Expr) {
        let said = self.plain(e);
        if self.keys.iter().all(|(_, s)| *s != said) {
            self.keys.push((e.clone(), said));
        }
    }

    pub(super) fn aggregate(&mut self, e: &Expr) -> Result<Ident, FramesError> {
        let said = self.plain(e);
        let place = match self.aggregates.iter().position(|(_, s)| *s == said) {
            Some(at) => at,
            None => {
                // A COUNT(*) alone over a UNION would be added in a type that the engine does not have.
                let counts = matches!(e, Expr::Function(f) if COUNTS.contains(&name_of(f).as_str()));
                self.aggregates.push((if counts { wide(e)? } else { e.clone() }, said));
                self.aggregates.len() - 1
            }
        };
        Ok(quoted(&format!("{AGGREGATE} {}", place + 1)))
    }

    /// In words of the outer query; `named`: results that can stand in it by their names.
    pub(super) fn replaced(&mut self, e: &Expr, named: &[(Expr, String)]) -> Result<Expr, FramesError> {
        let mut e = e.clone();
        done(VisitMut::visit(
            &mut e,
            &mut Outer {
                parts: self,
                named,
                deep: 0,
            },
        ))?;
        Ok(e)
    }

    /// The same text for the same expression: small letters, no quotes, each column with its table if there are several.
    pub(super) fn plain(&self, e: &Expr) -> String {
        struct Plain<'t>(&'t [Table]);
        impl VisitorMut for Plain<'_> {
            type Break = ();
            fn post_visit_expr(&mut self, e: &mut Expr) -> ControlFlow<()> {
                match e {
                    Expr::Identifier(name) => {
                        let has = |t: &&Table| t.columns.as_ref().is_some_and(|c| c.contains(&name.value));
                        let table = self.0.iter().find(has).filter(|_| self.0.len() > 1);
                        let table = table.map(|t| Ident::new(&t.name));
                        let name = Ident::new(&name.value);
                        *e = match table {
                            Some(table) => Expr::CompoundIdentifier(vec![table, name]),
                            None => Expr::Identifier(name),
                        };
                    }
                    Expr::CompoundIdentifier(parts) => match (parts.as_slice(), self.0) {
                        ([_, name], [_]) => *e = Expr::Identifier(Ident::new(&name.value)),
                        _ => parts.iter_mut().for_each(|p| p.quote_style = None),
                    },
                    Expr::Function(Function { name, .. }) => {
                        for part in &mut name.0 {
                            if let ObjectNamePart::Identifier(i) = part {
                                i.value.make_ascii_lowercase();
                            }
                        }
                    }
                    _ => {}
                }
                ControlFlow::Continue(())
            }
        }
        let mut e = e.clone();
        while let Expr::Nested(inner) = e {
            e = *inner;
        }
        let _whole = VisitMut::visit(&mut e, &mut Plain(&self.tables));
        e.to_string()
    }
}

struct Outer<'p> {
    parts: &'p mut Parts,
    named: &'p [(Expr, String)],
    /// Queries that the expression is in: their columns are their own.
    deep: usize,
}

/// Whether it is a column of the inner query.
fn is_part(e: &Expr) -> bool {
    matches!(e, Expr::Identifier(i) if i.quote_style.is_some()
        && [GROUP, AGGREGATE].iter().any(|p| i.value.strip_prefix(p).is_some_and(|n| n.trim_start().parse::<usize>().is_ok())))
}

impl VisitorMut for Outer<'_> {
    type Break = FramesError;
    counts_queries!();
    fn pre_visit_expr(&mut self, e: &mut Expr) -> ControlFlow<FramesError> {
        if self.deep > 0 || matches!(e, Expr::Value(_)) || is_part(e) {
            return ControlFlow::Continue(());
        }
        let said = self.parts.plain(e);
        if let Some(at) = self.parts.keys.iter().position(|(_, s)| *s == said) {
            *e = Expr::Identifier(quoted(&format!("{GROUP} {}", at + 1)));
            return ControlFlow::Continue(());
        }
        if is_one(e) {
            if inside(e) {
                return ended(refused(format!(
                    "{e} has an aggregate or OVER inside an aggregate: make the inner one in a subquery, \
                     SELECT MAX(m) FROM (SELECT MIN(x) AS m FROM t GROUP BY k) AS g"
                )));
            }
            return match self.parts.aggregate(e) {
                Ok(name) => {
                    *e = Expr::Identifier(name);
                    ControlFlow::Continue(())
                }
                Err(e) => ended(e),
            };
        }
        let (table, name) = match &*e {
            Expr::Identifier(name) => (None, name),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, name] => (Some(table), name),
                _ => return ControlFlow::Continue(()),
            },
            _ => return ControlFlow::Continue(()),
        };
        if table.is_none()
            && let Some((stands_for, _)) = self.named.iter().find(|(_, n)| *n == name.value)
        {
            return match self.parts.replaced(stands_for, &[]) {
                Ok(made) => {
                    *e = Expr::Nested(Box::new(made));
                    ControlFlow::Continue(())
                }
                Err(e) => ended(e),
            };
        }
        let none = |t: &Table| t.columns.as_ref().is_some_and(|c| !c.contains(&name.value));
        ended(match self.parts.tables.iter().all(none) {
            true => mistake(format!("unable to find column {name}")),
            false => refused(format!(
                "{e} has to stand in GROUP BY or in an aggregate: add it to GROUP BY, or write MIN({e})"
            )),
        })
    }
}

/// Whether it makes one value of many rows.
fn is_one(e: &Expr) -> bool {
    matches!(e, Expr::Function(f) if f.over.is_none() && is_aggregate(&name_of(f)))
}

/// Whether such a one is in it, subqueries aside.
pub(super) fn aggregates(e: &Expr) -> bool {
    let mut found = Found::default();
    let _whole = Visit::visit(e, &mut found);
    found.ones > 0
}

/// Whether another aggregate or an OVER is in this one.
fn inside(e: &Expr) -> bool {
    let mut found = Found::default();
    let _whole = Visit::visit(e, &mut found);
    found.ones > 1 || over(e)
}

#[derive(Default)]
struct Found {
    ones: usize,
    deep: usize,
}

impl Visitor for Found {
    type Break = ();
    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.deep += 1;
        ControlFlow::Continue(())
    }
    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.deep -= 1;
        ControlFlow::Continue(())
    }
    fn pre_visit_expr(&mut self, e: &Expr) -> ControlFlow<()> {
        self.ones += usize::from(self.deep == 0 && is_one(e));
        ControlFlow::Continue(())
    }
}
