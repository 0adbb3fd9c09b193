//! Conditions: what is neither true nor false is not true, pairs, lists of numbers of both kinds.

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};

use super::holds::of_rows;
use super::{expression, refused};
use crate::FramesError;

/// The condition in the engine's words; `None`: as it stands.
pub(super) fn made(e: &mut Expr) -> Result<Option<Expr>, FramesError> {
    match e {
        Expr::IsTrue(c) => expression(&format!("COALESCE({c}, FALSE)")).map(Some),
        Expr::IsNotTrue(c) => expression(&format!("(NOT COALESCE({c}, FALSE))")).map(Some),
        Expr::IsFalse(c) => expression(&format!("(NOT COALESCE({c}, TRUE))")).map(Some),
        Expr::IsNotFalse(c) => expression(&format!("COALESCE({c}, TRUE)")).map(Some),
        Expr::InList { expr, list, negated } => {
            if let (Expr::Tuple(columns), true) = (expr.as_ref(), list.iter().all(|e| matches!(e, Expr::Tuple(_)))) {
                return among(columns, list, *negated);
            }
            if !of_rows(expr) && !list.iter().any(of_rows) {
                // Alone the engine has it once.
                let all: Vec<String> = list.iter().map(|e| format!("({expr}) = ({e})")).collect();
                let not = if *negated { "NOT " } else { "" };
                return expression(&format!("({not}({}))", all.join(" OR "))).map(Some);
            }
            alike(list)?;
            Ok(None)
        }
        Expr::InSubquery { expr, .. } if matches!(expr.as_ref(), Expr::Tuple(_)) => Err(refused(
            "(a, b) IN (SELECT ...) is not known: join with the subquery, JOIN (SELECT DISTINCT a, b FROM ...) AS p ON p.a = t.a AND p.b = t.b",
        )),
        Expr::BinaryOp { left, op, right } => match (left.as_ref(), &*op, right.as_ref()) {
            (Expr::Tuple(a), BinaryOperator::Eq, Expr::Tuple(_)) => among(a, std::slice::from_ref(right), false),
            (Expr::Tuple(a), BinaryOperator::NotEq, Expr::Tuple(_)) => among(a, std::slice::from_ref(right), true),
            (Expr::Tuple(_), ..) | (.., Expr::Tuple(_)) => Err(refused(format!(
                "(a, b) {op} (c, d) is not known: compare column by column, a > c OR (a = c AND b > d)"
            ))),
            _ => Ok(None),
        },
        Expr::SimilarTo { .. } => Err(refused(
            "SIMILAR TO is not known: write LIKE 'eth%', or REGEXP_LIKE(x, '^eth[0-9]+$')",
        )),
        Expr::UnaryOp {
            op: UnaryOperator::BitwiseNot,
            expr,
        } => Err(refused(format!("~{expr} is not known: write -1 - {expr}"))),
        _ => Ok(None),
    }
}

/// `(a, b) IN ((1, 2), (3, 4))`
fn among(columns: &[Expr], list: &[Expr], negated: bool) -> Result<Option<Expr>, FramesError> {
    let one = |values: &Expr| -> Option<String> {
        let Expr::Tuple(values) = values else { return None };
        let pairs = columns.iter().zip(values).map(|(c, v)| format!("({c}) = ({v})"));
        (columns.len() == values.len()).then(|| format!("({})", pairs.collect::<Vec<_>>().join(" AND ")))
    };
    let all: Option<Vec<String>> = list.iter().map(one).collect();
    let all = all.ok_or_else(|| refused("(a, b) IN needs as many values in each bracket as there are columns"))?;
    let not = if negated { "NOT " } else { "" };
    expression(&format!("({not}({}))", all.join(" OR "))).map(Some)
}

/// Whole numbers beside others in a list as others.
fn alike(list: &mut [Expr]) -> Result<(), FramesError> {
    let number = |e: &Expr| -> Option<String> {
        let (sign, e) = match e {
            Expr::UnaryOp {
                op: UnaryOperator::Minus,
                expr,
            } => ("-", expr.as_ref()),
            e => ("", e),
        };
        match e {
            Expr::Value(v) => match &v.value {
                Value::Number(n, _) => Some(format!("{sign}{n}")),
                _ => None,
            },
            _ => None,
        }
    };
    let numbers: Option<Vec<String>> = list.iter().map(number).collect();
    let Some(numbers) = numbers.filter(|all| all.iter().any(|n| n.contains('.'))) else {
        return Ok(());
    };
    for (e, n) in list.iter_mut().zip(numbers).filter(|(_, n)| !n.contains('.')) {
        *e = expression(&format!("{n}.0"))?;
    }
    Ok(())
}
