//! A column that is true or false is no text, though it is printed as yes and no: of `expected = 'no'` the engine would make a text,
//! which no row has, and answer nothing without a word.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, ObjectNamePart, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr,
    TableFactor, UnaryOperator, Value, Visit, Visitor,
};

use super::names::column;
use super::{Known, done, ended, refused};
use crate::FramesError;

/// Refuses a comparison of what is true or false with a text.
pub(super) fn checked(query: &Query, known: &[Known]) -> Result<(), FramesError> {
    let mut types = Types { known, with: vec![] };
    for cte in query.with.iter().flat_map(|w| &w.cte_tables) {
        let columns = match cte.alias.columns.is_empty() {
            true => types.of_body(&cte.query.body),
            false => vec![],
        };
        types.with.push((cte.alias.name.value.clone(), columns));
    }
    done(Visit::visit(query, &mut Texts::of(&types, vec![])))
}

/// Columns as far as one sees, and whether they are true or false.
type Columns = Vec<(String, bool)>;

/// Tables of a FROM under their names there.
type Tables = Vec<(String, Columns)>;

struct Types<'k> {
    known: &'k [Known],
    with: Tables,
}

impl Types<'_> {
    fn tables(&self, select: &Select) -> Tables {
        let from = select.from.iter();
        let all = from.flat_map(|f| std::iter::once(&f.relation).chain(f.joins.iter().map(|j| &j.relation)));
        all.map(|f| self.table(f)).collect()
    }

    fn table(&self, factor: &TableFactor) -> (String, Columns) {
        let (name, columns, alias) = match factor {
            TableFactor::Table { name, alias, .. } => match name.0.as_slice() {
                [ObjectNamePart::Identifier(name)] => (name.value.clone(), self.named(&name.value), alias.as_ref()),
                _ => (String::new(), vec![], alias.as_ref()),
            },
            TableFactor::Derived { subquery, alias, .. } => {
                (String::new(), self.of_body(&subquery.body), alias.as_ref())
            }
            _ => (String::new(), vec![], None),
        };
        match alias {
            Some(a) if !a.columns.is_empty() => (a.name.value.clone(), vec![]),
            Some(a) => (a.name.value.clone(), columns),
            None => (name, columns),
        }
    }

    fn named(&self, name: &str) -> Columns {
        if let Some((_, columns)) = self.with.iter().rfind(|w| w.0 == name) {
            return columns.clone();
        }
        let known = self.known.iter().find(|k| k.name == name);
        let of = |k: &Known| k.columns.iter().map(|c| (c.clone(), k.booleans.contains(c))).collect();
        known.map_or_else(Vec::new, of)
    }

    /// Of a result.
    fn of_body(&self, body: &SetExpr) -> Columns {
        match body {
            SetExpr::Select(select) => {
                let tables = self.tables(select);
                let mut all = vec![];
                for item in &select.projection {
                    match item {
                        SelectItem::Wildcard(_) => all.extend(tables.iter().flat_map(|t| t.1.clone())),
                        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(of), _) => {
                            let of = of.to_string();
                            all.extend(tables.iter().filter(|t| t.0 == of).flat_map(|t| t.1.clone()));
                        }
                        SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. } => {
                            let name = column(item).map(|name| (name.to_owned(), is(e, std::slice::from_ref(&tables))));
                            all.extend(name);
                        }
                        _ => {}
                    }
                }
                all
            }
            SetExpr::Query(query) => self.of_body(&query.body),
            SetExpr::SetOperation { left, .. } => self.of_body(left),
            _ => vec![],
        }
    }
}

/// Whether an expression is true or false, as far as one sees; the tables of the innermost query come last.
fn is(e: &Expr, around: &[Tables]) -> bool {
    let column = |table: Option<&str>, name: &str| {
        let tables = around.iter().rev().flatten();
        let mut all = tables.filter(|t| table.is_none_or(|n| t.0 == n)).flat_map(|t| &t.1);
        all.find(|c| c.0 == name).is_some_and(|c| c.1)
    };
    match e {
        Expr::Nested(e) => is(e, around),
        Expr::Identifier(name) => column(None, &name.value),
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [table, name] => column(Some(&table.value), &name.value),
            _ => false,
        },
        Expr::UnaryOp { op, .. } => *op == UnaryOperator::Not,
        Expr::BinaryOp { op, .. } => compares(op) || matches!(op, BinaryOperator::And | BinaryOperator::Or),
        Expr::IsNull(_) | Expr::IsNotNull(_) => true,
        _ => false,
    }
}

fn compares(op: &BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(op, B::Eq | B::NotEq | B::Spaceship | B::Lt | B::LtEq | B::Gt | B::GtEq)
}

struct Texts<'t> {
    types: &'t Types<'t>,
    /// Tables of each query around.
    around: Vec<Tables>,
    /// Conditions that were looked at apart, by their addresses; and the one inside of which the walk is, which passes over it.
    seen: Vec<*const Expr>,
    inside: Option<*const Expr>,
}

impl<'t> Texts<'t> {
    fn of(types: &'t Types<'t>, around: Vec<Tables>) -> Self {
        Texts {
            types,
            around,
            seen: vec![],
            inside: None,
        }
    }

    /// With whatever of `with` that is a text.
    fn compared<'e>(&self, e: &Expr, with: impl IntoIterator<Item = &'e Expr>) -> ControlFlow<FramesError> {
        match with.into_iter().find_map(text) {
            Some(text) if is(e, &self.around) => ended(refusal(e, text)),
            _ => ControlFlow::Continue(()),
        }
    }
}

impl Visitor for Texts<'_> {
    type Break = FramesError;
    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<FramesError> {
        if self.inside.is_some() {
            return ControlFlow::Continue(());
        }
        // ORDER BY stands outside of the SELECT, and knows its results.
        let mut tables = match query.body.as_ref() {
            SetExpr::Select(select) => self.types.tables(select),
            _ => vec![],
        };
        tables.insert(0, (String::new(), self.types.of_body(&query.body)));
        self.around.push(tables);
        ControlFlow::Continue(())
    }
    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<FramesError> {
        if self.inside.is_none() {
            self.around.pop();
        }
        ControlFlow::Continue(())
    }
    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<FramesError> {
        if self.inside.is_some() {
            return ControlFlow::Continue(());
        }
        let mut tables = self.types.tables(select);
        self.around.push(tables.clone());
        if let Some(condition) = &select.selection {
            Visit::visit(condition, &mut Texts::of(self.types, self.around.clone()))?;
            self.seen.push(std::ptr::from_ref(condition));
        }
        // A result of the same name that is a text: HAVING may mean either.
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { expr, alias } = item
                && !is(expr, &self.around)
            {
                for (_, columns) in &mut tables {
                    columns.retain(|c| c.0 != alias.value);
                }
            }
        }
        self.around.pop();
        self.around.push(tables);
        ControlFlow::Continue(())
    }
    fn post_visit_select(&mut self, _: &Select) -> ControlFlow<FramesError> {
        if self.inside.is_none() {
            self.around.pop();
        }
        ControlFlow::Continue(())
    }
    fn post_visit_expr(&mut self, e: &Expr) -> ControlFlow<FramesError> {
        self.inside = self.inside.filter(|at| !std::ptr::eq(*at, e));
        ControlFlow::Continue(())
    }
    fn pre_visit_expr(&mut self, e: &Expr) -> ControlFlow<FramesError> {
        if self.inside.is_some() {
            return ControlFlow::Continue(());
        }
        if self.seen.iter().any(|at| std::ptr::eq(*at, e)) {
            self.inside = Some(std::ptr::from_ref(e));
            return ControlFlow::Continue(());
        }
        match e {
            Expr::BinaryOp { left, op, right } if compares(op) => {
                self.compared(left, [right.as_ref()])?;
                self.compared(right, [left.as_ref()])
            }
            Expr::IsDistinctFrom(a, b) | Expr::IsNotDistinctFrom(a, b) => {
                self.compared(a, [b.as_ref()])?;
                self.compared(b, [a.as_ref()])
            }
            Expr::InList { expr, list, .. } => self.compared(expr, list),
            Expr::Between { expr, low, high, .. } => self.compared(expr, [low.as_ref(), high.as_ref()]),
            Expr::Case {
                operand: Some(of),
                conditions,
                ..
            } => self.compared(of, conditions.iter().map(|c| &c.condition)),
            _ => ControlFlow::Continue(()),
        }
    }
}

fn text(e: &Expr) -> Option<&str> {
    match e {
        Expr::Nested(e) => text(e),
        Expr::Value(v) => match &v.value {
            Value::SingleQuotedString(s) => Some(s),
            _ => None,
        },
        _ => None,
    }
}

fn refusal(e: &Expr, text: &str) -> FramesError {
    let meant = match text.to_ascii_lowercase().as_str() {
        "yes" | "y" | "true" | "t" | "1" => format!("{e} = TRUE"),
        "no" | "n" | "false" | "f" | "0" => format!("{e} = FALSE"),
        _ => format!("{e} = TRUE or {e} = FALSE"),
    };
    refused(format!(
        "{e} is true or false, not a text like '{text}', though it is printed as yes and no: write {meant}, or {e} IS NULL where it is not known"
    ))
}
