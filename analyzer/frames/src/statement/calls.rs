//! Calls: counts become signed, so that a difference of two can be negative; unknown values come last in every order; other
//! engines' names of quantiles are known. What the engine would get wrong, or cannot, is refused with what to write in its place.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments, Ident,
    ObjectName, ObjectNamePart, OrderByExpr, OrderByKind, Query, Select, SelectItem, UnaryOperator, Value, VisitMut,
    VisitorMut, WindowType,
};

use super::functions::{unknown, wants_rows};
use super::holds::{asks, columns, of_rows};
use super::names::column;
use super::windows::window;
use super::{conditions, done, ended, expression, refused, texts};
use crate::FramesError;

/// Of unsigned type in the engine: below zero they would begin again at the largest number.
pub(super) const COUNTS: [&str; 12] = [
    "count",
    "row_number",
    "rank",
    "dense_rank",
    "length",
    "char_length",
    "character_length",
    "octet_length",
    "bit_length",
    "strpos",
    "array_length",
    "bit_count",
];

/// Rewrites all of a query.
pub(super) fn rewritten(query: &mut Query) -> Result<(), FramesError> {
    done(VisitMut::visit(query, &mut Calls))
}

struct Calls;

impl VisitorMut for Calls {
    type Break = FramesError;
    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<FramesError> {
        match query.order_by.as_mut().map(|o| &mut o.kind) {
            Some(OrderByKind::Expressions(by)) => last(by),
            Some(OrderByKind::All(options)) => options.nulls_first = Some(options.nulls_first.unwrap_or(false)),
            None => {}
        }
        ControlFlow::Continue(())
    }
    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<FramesError> {
        if !select.named_window.is_empty() {
            return ended(refused("WINDOW is not known: write what it names behind each OVER"));
        }
        if let Some(by) = select.qualify.as_ref() {
            let names: Vec<&str> = select.projection.iter().filter_map(column).collect();
            let wild = |i: &SelectItem| matches!(i, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
            let there = |c: &str| names.contains(&c) || select.projection.iter().any(wild);
            if let Some(missing) = columns(by).iter().find(|c| !there(c)) {
                return ended(refused(format!(
                    "QUALIFY can have results only, and {missing} is none: select it, or ask in a subquery, \
                     SELECT * FROM (SELECT a, ROW_NUMBER() OVER (PARTITION BY k ORDER BY x) AS n FROM t) AS q WHERE n = 1"
                )));
            }
        }
        match select.projection.iter().any(asks) || asks(&select.group_by) {
            true => ended(refused(
                "IN (SELECT ...) is known in WHERE only: LEFT JOIN the subquery, \
                 LEFT JOIN (SELECT DISTINCT k FROM ...) AS p ON p.k = t.k, and ask p.k IS NOT NULL",
            )),
            false => ControlFlow::Continue(()),
        }
    }
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<FramesError> {
        let made = match expr {
            Expr::Function(f) => call(f),
            Expr::Case {
                conditions,
                else_result,
                ..
            } => {
                // Two numbers in digits are of 32 bits, and so would be their sum.
                let results = conditions.iter_mut().map(|c| &mut c.result);
                for e in results.chain(else_result.as_deref_mut()).filter(|e| is_whole(e)) {
                    match wide(e) {
                        Ok(made) => *e = made,
                        Err(e) => return ended(e),
                    }
                }
                return ControlFlow::Continue(());
            }
            Expr::UnaryOp {
                op: UnaryOperator::Minus,
                expr,
            } if expr.to_string().starts_with('-') => {
                // Two of them would begin a comment.
                let inner = expr.clone();
                **expr = Expr::Nested(inner);
                return ControlFlow::Continue(());
            }
            Expr::BinaryOp { left, op, right } if is_arithmetic(op) && !of_rows(left) && !of_rows(right) => {
                match widened([left.as_mut(), right.as_mut()]) {
                    Ok(()) => return ControlFlow::Continue(()),
                    Err(e) => return ended(e),
                }
            }
            Expr::Position { .. } | Expr::Substring { .. } => texts::made(expr),
            _ => conditions::made(expr),
        };
        match made {
            Ok(Some(made)) => *expr = made,
            Ok(None) => {}
            Err(e) => return ended(e),
        }
        ControlFlow::Continue(())
    }
}

/// Unknown values last, where nothing else is said.
fn last(by: &mut [OrderByExpr]) {
    for one in by {
        one.options.nulls_first = Some(one.options.nulls_first.unwrap_or(false));
    }
}

/// Whether it is a number in digits.
pub(super) fn is_whole(e: &Expr) -> bool {
    match e {
        Expr::Nested(e) => is_whole(e),
        Expr::Value(v) => matches!(&v.value, Value::Number(n, _) if n.bytes().all(|b| b.is_ascii_digit())),
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => is_whole(expr),
        _ => false,
    }
}

fn is_arithmetic(op: &BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(
        op,
        B::Plus | B::Minus | B::Multiply | B::Divide | B::Modulo | B::DuckIntegerDivide
    )
}

/// Numbers in digits that need more than 32 bits have them: a function of one would be computed with less.
fn widened<'e>(all: impl IntoIterator<Item = &'e mut Expr>) -> Result<(), FramesError> {
    let large = |e: &Expr| e.to_string().bytes().filter(u8::is_ascii_digit).count() > 9;
    for e in all.into_iter().filter(|e| is_whole(e) && large(e)) {
        *e = wide(e)?;
    }
    Ok(())
}

pub(super) fn wide(e: &Expr) -> Result<Expr, FramesError> {
    expression(&format!("CAST({e} AS BIGINT)"))
}

pub(super) fn name_of(f: &Function) -> String {
    match f.name.0.last() {
        Some(ObjectNamePart::Identifier(name)) => name.value.to_ascii_lowercase(),
        _ => String::new(),
    }
}

pub(super) fn arguments(f: &Function) -> Vec<&Expr> {
    let FunctionArguments::List(list) = &f.args else {
        return vec![];
    };
    let of = |a| match a {
        &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref e)) => Some(e),
        _ => None,
    };
    list.args.iter().filter_map(of).collect()
}

/// The call in the engine's words; `None`: as it stands.
fn call(f: &mut Function) -> Result<Option<Expr>, FramesError> {
    if name_of(f) == "mean" {
        f.name = ObjectName::from(vec![Ident::new("AVG")]);
    }
    let name = name_of(f);
    constant_filter(f)?;
    if let FunctionArguments::List(list) = &mut f.args {
        widened(list.args.iter_mut().filter_map(|a| match a {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) => Some(e),
            _ => None,
        }))?;
        for clause in &mut list.clauses {
            if let FunctionArgumentClause::OrderBy(by) = clause {
                last(by);
            }
        }
    }
    if let Some(WindowType::WindowSpec(spec)) = &mut f.over {
        last(&mut spec.order_by);
        window(&name, spec)?;
        // By a constant rows stay as they are.
        spec.order_by.retain(|o| of_rows(&o.expr));
    }
    let quantile = |of: &Expr, p: &str, disc: bool| {
        let called = if disc { "QUANTILE_DISC" } else { "QUANTILE_CONT" };
        let over = f.over.as_ref().map_or_else(String::new, |o| format!(" OVER {o}"));
        let of = f
            .filter
            .as_ref()
            .map_or_else(|| of.to_string(), |c| format!("CASE WHEN {c} THEN {of} END"));
        expression(&format!("{called}({of}, {p}){over}")).map(Some)
    };
    // The same of another function.
    let again = |called: &str, of: &Expr| {
        let mut made = f.clone();
        made.name = ObjectName::from(vec![Ident::new(called)]);
        if let FunctionArguments::List(list) = &mut made.args {
            list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(of.clone()))];
        }
        Ok(Expr::Function(made))
    };
    let args = arguments(f);
    match (name.as_str(), args.as_slice(), f.within_group.as_slice()) {
        ("percentile_cont" | "percentile_disc", [p], [by]) => {
            if name == "percentile_disc" && by.options.asc == Some(false) {
                return Err(refused(
                    "PERCENTILE_DISC with DESC is not known: order up, and ask 1 - p, or PERCENTILE_CONT",
                ));
            }
            let p = match by.options.asc {
                Some(false) => format!("1 - {p}"),
                _ => p.to_string(),
            };
            let p = p
                .strip_prefix("1 - ")
                .and_then(|p| p.parse::<f64>().ok())
                .map_or(p.clone(), |p| format!("{}", 1.0 - p));
            quantile(&by.expr, &p, name == "percentile_disc")
        }
        ("percentile_cont" | "percentile_disc", [_], []) => Err(refused(format!(
            "{name} needs WITHIN GROUP (ORDER BY x); or write QUANTILE_CONT(x, 0.99)"
        ))),
        ("percentile_cont" | "percentile_disc" | "quantile" | "approx_quantile" | "approx_percentile", [of, p], []) => {
            quantile(
                of,
                &p.to_string(),
                matches!(name.as_str(), "percentile_disc" | "quantile"),
            )
        }
        ("quantile_cont" | "quantile_disc", [of, p], []) if f.filter.is_some() => {
            quantile(of, &p.to_string(), name == "quantile_disc")
        }
        // Whole numbers would begin again at the other end.
        ("power" | "pow", [x, y], []) => expression(&format!("POWER(CAST({x} AS DOUBLE), {y})")).map(Some),
        ("right", [text, n], []) => texts::right(text, n),
        ("log", [x], []) => expression(&format!("LOG10({x})")).map(Some),
        // The engine has the base behind.
        ("log", [base, x], []) if matches!(base.to_string().as_str(), "2" | "10") => {
            expression(&format!("LOG{base}({x})")).map(Some)
        }
        ("log", [base, x], []) => expression(&format!("LOG({x}, {base})")).map(Some),
        ("strpos", [text, part], []) => texts::place(text, part),
        ("replace", [text, old, _], []) if texts::is_empty(old) => Ok(Some((*text).clone())),
        ("count", [Expr::Tuple(_)], []) => Err(refused(
            "COUNT(DISTINCT (a, b)) is not known: count in a subquery, SELECT COUNT(*) FROM (SELECT DISTINCT a, b FROM t) AS p",
        )),
        ("count", [of], []) if !of_rows(of) && !matches!(of, Expr::Value(_)) => Err(refused(format!(
            "COUNT({of}) of no column is not known: COUNT(*) counts rows"
        ))),
        ("min" | "max" | "first" | "last", [of], []) if !of_rows(of) => {
            Err(refused(format!("{name} of no column is not known: write {of} itself")))
        }
        ("approx_count_distinct", [of], []) => {
            let of = f
                .filter
                .as_ref()
                .map_or_else(|| of.to_string(), |c| format!("CASE WHEN {c} THEN {of} END"));
            let over = f.over.as_ref().map_or_else(String::new, |o| format!(" OVER {o}"));
            expression(&format!("CAST(COUNT(DISTINCT {of}){over} AS BIGINT)")).map(Some)
        }
        ("bool_or", [of], []) => again("MAX", of).map(Some),
        ("bool_and", [of], []) => again("MIN", of).map(Some),
        ("count_if" | "countif", [of], []) => {
            let made = again("COUNT", &expression(&format!("CASE WHEN {of} THEN 1 END"))?)?;
            wide(&made).map(Some)
        }
        (n, ..) if unknown(n) => Err(refused(format!(
            "{n} is not known: number rows in a subquery, SELECT * FROM (SELECT k, x, \
             ROW_NUMBER() OVER (PARTITION BY k ORDER BY y DESC) AS n FROM t) AS q WHERE n = 1; any value of a group is MIN(x)"
        ))),
        ("ntile" | "percent_rank" | "cume_dist", ..) => Err(refused(format!(
            "{name} is not known: take bounds from QUANTILE_CONT(x, 0.25) and compare, or number rows with ROW_NUMBER() OVER (ORDER BY x)"
        ))),
        ("nth_value", ..) => Err(refused(
            "nth_value is not known: choose by ROW_NUMBER() OVER (PARTITION BY k ORDER BY x) in a subquery",
        )),
        (n, [of, ..], _) if wants_rows(n) && !of_rows(of) => Err(FramesError::SumOfANumber),
        (n, ..) if COUNTS.contains(&n) => wide(&Expr::Function(f.clone())).map(Some),
        _ => Ok(None),
    }
}

/// A condition that no row has a say in: the engine would count it once.
fn constant_filter(f: &mut Function) -> Result<(), FramesError> {
    let Some(filter) = f.filter.as_deref().filter(|e| !of_rows(e)) else {
        return Ok(());
    };
    let plainly = match filter {
        Expr::Value(v) => v.value == Value::Boolean(true),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Eq,
            right,
        } => left == right && matches!(left.as_ref(), Expr::Value(v) if v.value != Value::Null),
        _ => false,
    };
    if !plainly {
        return Err(refused(format!(
            "FILTER (WHERE {filter}) has no column in it: leave it out, or name a column"
        )));
    }
    f.filter = None;
    Ok(())
}

/// `a AND b AND c` as its parts; `x BETWEEN a AND b` is two.
pub(super) fn parts(e: &Expr, all: &mut Vec<Expr>) {
    match e {
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And,
            right,
        } => {
            parts(left, all);
            parts(right, all);
        }
        Expr::Nested(inner) => parts(inner, all),
        Expr::Between {
            expr,
            negated: false,
            low,
            high,
        } => {
            for (op, bound) in [(BinaryOperator::GtEq, low), (BinaryOperator::LtEq, high)] {
                all.push(Expr::BinaryOp {
                    left: expr.clone(),
                    op,
                    right: bound.clone(),
                });
            }
        }
        e => all.push(e.clone()),
    }
}
