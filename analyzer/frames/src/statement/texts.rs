//! Parts of texts: places are counted from 1, and of an unknown text they are unknown.

use sqlparser::ast::{Expr, UnaryOperator, Value};

use super::calls::is_whole;
use super::{expression, refused};
use crate::FramesError;

/// Places that one is asked in.
const DEEPEST: usize = 3;

/// The part in the engine's words; `None`: as it stands.
pub(super) fn made(e: &Expr) -> Result<Option<Expr>, FramesError> {
    match e {
        Expr::Position { expr, r#in } => place(r#in, expr),
        Expr::Substring {
            expr,
            substring_from: Some(from),
            substring_for,
            ..
        } => {
            if is_negative(from) {
                return Err(refused(format!(
                    "{e} is not the same everywhere: the last letters are RIGHT({expr}, 3), the first ones LEFT({expr}, 3)"
                )));
            }
            match substring_for {
                // The larger one of nothing and 1 is 1.
                None if !is_whole(from) => expression(&format!(
                    "CASE WHEN {from} IS NOT NULL THEN SUBSTRING({expr} FROM GREATEST({from}, 1)) END"
                ))
                .map(Some),
                Some(n) if !(is_whole(from) && is_whole(n)) => expression(&format!(
                    "CASE WHEN {from} IS NOT NULL AND {n} IS NOT NULL THEN {e} END"
                ))
                .map(Some),
                _ => Ok(None),
            }
        }
        _ => Ok(None),
    }
}

/// Where a text begins in another; 0: nowhere.
pub(super) fn place(text: &Expr, part: &Expr) -> Result<Option<Expr>, FramesError> {
    // Each one in another stands there twice.
    if text.to_string().matches("STRPOS(").count() > DEEPEST {
        return Err(refused(
            "STRPOS in STRPOS in STRPOS is too long in the engine's words: take steps one by one, each in a subquery",
        ));
    }
    expression(&format!(
        "CASE WHEN {text} IS NOT NULL AND {part} IS NOT NULL THEN CAST(STRPOS({text}, {part}) AS BIGINT) END"
    ))
    .map(Some)
}

/// The last letters; all of a text that has fewer.
pub(super) fn right(text: &Expr, n: &Expr) -> Result<Option<Expr>, FramesError> {
    expression(&format!(
        "CASE WHEN CAST(LENGTH({text}) AS BIGINT) <= {n} THEN {text} ELSE RIGHT({text}, {n}) END"
    ))
    .map(Some)
}

pub(super) fn is_empty(e: &Expr) -> bool {
    matches!(e, Expr::Value(v) if matches!(&v.value, Value::SingleQuotedString(s) if s.is_empty()))
}

fn is_negative(e: &Expr) -> bool {
    match e {
        Expr::Nested(e) => is_negative(e),
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => is_whole(expr),
        _ => false,
    }
}
