//! What is in an expression.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Function, Visit, Visitor};

use super::calls::name_of;

/// Whether it has an OVER.
pub(super) fn over(e: &Expr) -> bool {
    struct Over(bool);
    impl Visitor for Over {
        type Break = ();
        fn pre_visit_expr(&mut self, e: &Expr) -> ControlFlow<()> {
            self.0 |= matches!(e, Expr::Function(f) if f.over.is_some());
            ControlFlow::Continue(())
        }
    }
    let mut over = Over(false);
    let _whole = Visit::visit(e, &mut over);
    over.0
}

/// Whether it has an IN over a subquery.
pub(super) fn asks(of: &impl Visit) -> bool {
    struct Asks(bool);
    impl Visitor for Asks {
        type Break = ();
        fn pre_visit_expr(&mut self, e: &Expr) -> ControlFlow<()> {
            self.0 |= matches!(e, Expr::InSubquery { .. });
            ControlFlow::Continue(())
        }
    }
    let mut asks = Asks(false);
    let _whole = Visit::visit(of, &mut asks);
    asks.0
}

/// Names of columns, without those of their tables.
pub(super) fn columns(of: &Expr) -> Vec<String> {
    struct Columns(Vec<String>);
    impl Visitor for Columns {
        type Break = ();
        fn pre_visit_expr(&mut self, e: &Expr) -> ControlFlow<()> {
            match e {
                Expr::Identifier(name) => self.0.push(name.value.clone()),
                Expr::CompoundIdentifier(parts) => self.0.extend(parts.last().map(|p| p.value.clone())),
                _ => {}
            }
            ControlFlow::Continue(())
        }
    }
    let mut columns = Columns(vec![]);
    let _whole = Visit::visit(of, &mut columns);
    columns.0
}

/// Whether a column is in it.
pub(super) fn of_rows(e: &Expr) -> bool {
    struct Columns(bool);
    impl Visitor for Columns {
        type Break = ();
        fn pre_visit_expr(&mut self, e: &Expr) -> ControlFlow<()> {
            let counts = |f: &Function| matches!(name_of(f).as_str(), "count" | "row_number" | "rank" | "dense_rank");
            self.0 |= match e {
                Expr::Identifier(_) | Expr::CompoundIdentifier(_) => true,
                Expr::Function(f) => counts(f),
                _ => false,
            };
            ControlFlow::Continue(())
        }
    }
    let mut columns = Columns(false);
    let _whole = Visit::visit(e, &mut columns);
    columns.0
}
