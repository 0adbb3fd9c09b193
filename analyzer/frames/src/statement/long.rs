//! How long a statement may be: the engine goes down one call for each term of a sum and each part of a union, and asks all parts
//! below for their columns at each.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, SetExpr, Visit, Visitor};

use super::{done, ended, refused};
use crate::FramesError;

/// Terms of one chain, as `a + b + c` or `x = 1 OR x = 2`.
const TERMS: usize = 2000;
/// Parts of one UNION.
const PARTS: usize = 300;

/// Refuses what is longer.
pub(super) fn checked(query: &Query) -> Result<(), FramesError> {
    done(Visit::visit(query, &mut Long(0)))
}

/// Expressions around.
struct Long(usize);

impl Visitor for Long {
    type Break = FramesError;
    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<FramesError> {
        match parts(&query.body) {
            n if n > PARTS => ended(refused(format!(
                "a UNION of {n} parts is too long, {PARTS} are known: ask with IN or OR, or in several statements"
            ))),
            _ => ControlFlow::Continue(()),
        }
    }
    fn pre_visit_expr(&mut self, _: &Expr) -> ControlFlow<FramesError> {
        self.0 += 1;
        match self.0 > TERMS {
            true => ended(refused(format!(
                "a chain of more than {TERMS} terms is too long: write x IN (1, 2) for x = 1 OR x = 2"
            ))),
            false => ControlFlow::Continue(()),
        }
    }
    fn post_visit_expr(&mut self, _: &Expr) -> ControlFlow<FramesError> {
        self.0 -= 1;
        ControlFlow::Continue(())
    }
}

fn parts(body: &SetExpr) -> usize {
    match body {
        SetExpr::SetOperation { left, right, .. } => parts(left) + parts(right),
        SetExpr::Query(query) => parts(&query.body),
        _ => 1,
    }
}
