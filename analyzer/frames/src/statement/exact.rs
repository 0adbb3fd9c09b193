//! Numbers that the engine changes without a word: whole ones that do not fit begin again at the other end, and a division by a
//! constant is a multiplication by its inverse, so that 49 / 49 is less than 1.
//!
//! ```text
//! SUM(a * 1000)  ->  CASE WHEN CAST(the same in floating point AS BIGINT) IS NULL THEN NULL ELSE SUM(a * 1000) END
//! a / 49         ->  a / CASE WHEN a IS NULL THEN 49 ELSE 49 END
//! ```
//! CAST of what does not fit is an error: unknown it would be no row of an aggregate, nor of a WHERE. The other CASE is a column, by
//! which the engine divides row by row.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, OrderByKind, Query,
    Select, SelectItem, UnaryOperator, Value, Visit, VisitMut, Visitor, VisitorMut,
};

use super::calls::{arguments, name_of};
use super::holds::of_rows;
use super::parts::aggregates;
use super::{Known, done, ended, expression};
use crate::FramesError;

/// Functions of floating point whatever they are asked of.
const FLOATS: [&str; 18] = [
    "avg",
    "median",
    "quantile_cont",
    "stddev",
    "stdev",
    "stddev_samp",
    "var",
    "variance",
    "var_samp",
    "corr",
    "sqrt",
    "exp",
    "ln",
    "log",
    "log2",
    "log10",
    "cbrt",
    "pi",
];

/// Rewrites results, conditions and orders; keys of joins stay.
pub(super) fn rewritten(query: &mut Query, known: &[Known]) -> Result<(), FramesError> {
    done(VisitMut::visit(query, &mut Roots { known }))
}

struct Roots<'k> {
    known: &'k [Known],
}

impl Roots<'_> {
    fn one(&self, e: &mut Expr) -> ControlFlow<FramesError> {
        VisitMut::visit(
            e,
            &mut Exact {
                known: self.known,
                around: vec![],
                deep: 0,
            },
        )
    }
}

impl VisitorMut for Roots<'_> {
    type Break = FramesError;
    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<FramesError> {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. } = item {
                self.one(e)?;
            }
        }
        match &mut select.selection {
            Some(e) => self.one(e),
            None => ControlFlow::Continue(()),
        }
    }
    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<FramesError> {
        if let Some(OrderByKind::Expressions(by)) = query.order_by.as_mut().map(|o| &mut o.kind) {
            for order in by {
                self.one(&mut order.expr)?;
            }
        }
        ControlFlow::Continue(())
    }
}

struct Exact<'k> {
    known: &'k [Known],
    /// Of each expression around, whether it is a sum, difference or product.
    around: Vec<bool>,
    /// Queries that the expression is in: they have their own turn.
    deep: usize,
}

impl VisitorMut for Exact<'_> {
    type Break = FramesError;
    counts_queries!();
    fn pre_visit_expr(&mut self, e: &mut Expr) -> ControlFlow<FramesError> {
        self.around.push(is_sum(e));
        ControlFlow::Continue(())
    }
    fn post_visit_expr(&mut self, e: &mut Expr) -> ControlFlow<FramesError> {
        let sum = self.around.pop().unwrap_or(false);
        if self.deep > 0 {
            return ControlFlow::Continue(());
        }
        let whole = sum && self.around.last() != Some(&true);
        let made = match &*e {
            _ if whole => self.fits(e),
            Expr::Function(f) => self.sum(f),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::Divide,
                right,
            } => divided(left, right),
            _ => Ok(None),
        };
        match made {
            Ok(Some(made)) => *e = made,
            Ok(None) => {}
            Err(e) => return ended(e),
        }
        ControlFlow::Continue(())
    }
}

impl Exact<'_> {
    fn is_float(&self, e: &Expr) -> bool {
        let column = |name: &str| {
            let mut with = self
                .known
                .iter()
                .filter(|k| k.columns.iter().any(|c| c == name))
                .peekable();
            with.peek().is_some() && with.all(|k| k.floats.iter().any(|c| c == name))
        };
        match e {
            Expr::Value(v) => matches!(&v.value, Value::Number(n, _) if n.contains('.')),
            Expr::Identifier(name) => column(&name.value),
            Expr::CompoundIdentifier(parts) => parts.last().is_some_and(|p| column(&p.value)),
            Expr::Nested(e) | Expr::UnaryOp { expr: e, .. } => self.is_float(e),
            Expr::Floor { expr, .. } | Expr::Ceil { expr, .. } => self.is_float(expr),
            Expr::BinaryOp { left, op, right } => match op {
                BinaryOperator::Divide => true,
                BinaryOperator::Plus | BinaryOperator::Minus | BinaryOperator::Multiply | BinaryOperator::Modulo => {
                    self.is_float(left) || self.is_float(right)
                }
                _ => false,
            },
            Expr::Cast { data_type, .. } => matches!(
                data_type,
                DataType::Double(_)
                    | DataType::DoublePrecision
                    | DataType::Float(_)
                    | DataType::Float4
                    | DataType::Float8
                    | DataType::Float32
                    | DataType::Float64
                    | DataType::Real
            ),
            Expr::Function(f) => FLOATS.contains(&name_of(f).as_str()) || arguments(f).iter().any(|a| self.is_float(a)),
            Expr::Case {
                conditions,
                else_result,
                ..
            } => {
                conditions.iter().any(|c| self.is_float(&c.result))
                    || else_result.as_ref().is_some_and(|e| self.is_float(e))
            }
            _ => false,
        }
    }

    /// A sum of products, an error where it does not fit.
    fn fits(&self, e: &Expr) -> Result<Option<Expr>, FramesError> {
        if !multiplies(e) || !of_rows(e) {
            return Ok(None);
        }
        if !self.is_float(e) {
            return guarded(e, &floating(e)?).map(Some);
        }
        // Beside a number in floating point those of whole numbers alone.
        let mut made = e.clone();
        match &mut made {
            Expr::Nested(e) | Expr::UnaryOp { expr: e, .. } => self.part(e)?,
            Expr::BinaryOp { left, right, .. } => {
                self.part(left)?;
                self.part(right)?;
            }
            _ => {}
        }
        Ok(Some(made))
    }

    fn part(&self, e: &mut Expr) -> Result<(), FramesError> {
        if is_sum(e)
            && let Some(made) = self.fits(e)?
        {
            *e = made;
        }
        Ok(())
    }

    /// SUM of whole numbers.
    fn sum(&self, f: &Function) -> Result<Option<Expr>, FramesError> {
        let args = arguments(f);
        let ("sum" | "total", [of]) = (name_of(f).as_str(), args.as_slice()) else {
            return Ok(None);
        };
        if self.is_float(of) || is_small(of) {
            return Ok(None);
        }
        let mut shadow = f.clone();
        let as_float = floating(of)?;
        if let FunctionArguments::List(list) = &mut shadow.args {
            list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(as_float))];
        }
        guarded(&Expr::Function(f.clone()), &Expr::Function(shadow)).map(Some)
    }
}

fn guarded(e: &Expr, shadow: &Expr) -> Result<Expr, FramesError> {
    expression(&format!(
        "(CASE WHEN CAST({shadow} AS BIGINT) IS NULL THEN NULL ELSE {e} END)"
    ))
}

/// Whether it is a sum, difference or product of numbers, in brackets or not.
fn is_sum(e: &Expr) -> bool {
    match e {
        Expr::Nested(e)
        | Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr: e,
        } => is_sum(e),
        Expr::BinaryOp { op, .. } => {
            matches!(
                op,
                BinaryOperator::Plus | BinaryOperator::Minus | BinaryOperator::Multiply
            )
        }
        _ => false,
    }
}

fn multiplies(e: &Expr) -> bool {
    match e {
        Expr::Nested(e) | Expr::UnaryOp { expr: e, .. } => multiplies(e),
        Expr::BinaryOp { left, op, right } => {
            *op == BinaryOperator::Multiply || (is_sum(e) && (multiplies(left) || multiplies(right)))
        }
        _ => false,
    }
}

/// The same of floating point: each number of it is.
fn floating(e: &Expr) -> Result<Expr, FramesError> {
    let mut made = e.clone();
    match &mut made {
        Expr::Nested(inner) => **inner = floating(inner)?,
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => **expr = floating(expr)?,
        Expr::BinaryOp { left, right, .. } if is_sum(e) => {
            **left = floating(left)?;
            **right = floating(right)?;
        }
        _ => made = expression(&format!("CAST({e} AS DOUBLE)"))?,
    }
    Ok(made)
}

/// Numbers of a few digits only, however many rows: `CASE WHEN ... THEN 1 ELSE 0 END`.
fn is_small(e: &Expr) -> bool {
    match e {
        Expr::Value(v) => match &v.value {
            Value::Number(n, _) => n.len() < 8,
            _ => true,
        },
        Expr::Nested(e)
        | Expr::Cast { expr: e, .. }
        | Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr: e,
        } => is_small(e),
        Expr::Case {
            conditions,
            else_result,
            ..
        } => conditions.iter().all(|c| is_small(&c.result)) && else_result.as_ref().is_none_or(|e| is_small(e)),
        _ => false,
    }
}

/// `a / 49` of rows, by a column of forty-nines.
fn divided(left: &Expr, right: &Expr) -> Result<Option<Expr>, FramesError> {
    if of_rows(right) || aggregates(left) {
        return Ok(None);
    }
    let Some(column) = first_column(left) else {
        return Ok(None);
    };
    expression(&format!(
        "{left} / CASE WHEN {column} IS NULL THEN CAST({right} AS DOUBLE) ELSE CAST({right} AS DOUBLE) END"
    ))
    .map(Some)
}

fn first_column(e: &Expr) -> Option<Expr> {
    struct First(Option<Expr>);
    impl Visitor for First {
        type Break = ();
        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
        fn pre_visit_expr(&mut self, e: &Expr) -> ControlFlow<()> {
            if !matches!(e, Expr::Identifier(_) | Expr::CompoundIdentifier(_)) {
                return ControlFlow::Continue(());
            }
            self.0 = Some(e.clone());
            ControlFlow::Break(())
        }
    }
    let mut first = First(None);
    let _whole = Visit::visit(e, &mut first);
    first.0
}
