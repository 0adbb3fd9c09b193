//! UNION, EXCEPT and INTERSECT in one another: the engine takes the operation of the whole for that of each part. So a part with
//! another operation is a query of its own.
//!
//! ```text
//! a UNION b EXCEPT c   ->  (a UNION b) EXCEPT c
//! ```

use std::ops::ControlFlow;

use sqlparser::ast::{Query, SetExpr, SetOperator, VisitMut, VisitorMut};

use super::{done, ended, query_of};
use crate::FramesError;

/// Rewrites all queries of a query.
pub(super) fn bracketed(query: &mut Query) -> Result<(), FramesError> {
    done(VisitMut::visit(query, &mut Sets))
}

struct Sets;

impl VisitorMut for Sets {
    type Break = FramesError;
    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<FramesError> {
        let made = match query.body.as_mut() {
            SetExpr::SetOperation { op, left, right, .. } => parts(*op, left).and_then(|()| parts(*op, right)),
            _ => Ok(()),
        };
        made.map_or_else(ended, ControlFlow::Continue)
    }
}

/// A part of an operation.
fn parts(of: SetOperator, part: &mut SetExpr) -> Result<(), FramesError> {
    let SetExpr::SetOperation { op, left, right, .. } = part else {
        return Ok(());
    };
    if *op == of {
        parts(of, left)?;
        return parts(of, right);
    }
    let mut query = query_of("SELECT 1")?;
    std::mem::swap(query.body.as_mut(), part);
    *part = SetExpr::Query(query);
    Ok(())
}
