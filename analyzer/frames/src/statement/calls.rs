//! Calls: counts become signed, so that a difference of two can be negative; unknown values come last in every order; other
//! engines' names of quantiles are known. What the engine would get wrong, or cannot, is refused with what to write in its place.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments,
    GroupByExpr, Ident, ObjectName, ObjectNamePart, OrderByExpr, OrderByKind, Query, Select, SelectItem, UnaryOperator,
    Value, Visit, VisitMut, Visitor, VisitorMut, WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};

use super::functions::{runs_wrong, wants_rows};
use super::{done, ended, expression, refused};
use crate::FramesError;

/// Of unsigned type in the engine: below zero they would begin again at the largest number.
const COUNTS: [&str; 12] = [
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
        // The engine takes each group for all rows.
        let grouped = !matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
        match grouped && select.projection.iter().any(over) {
            true => ended(refused(
                "OVER beside GROUP BY is not known: group in a subquery, SELECT k, 100.0 * n / SUM(n) OVER () AS share \
                 FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k) AS g",
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
            Expr::InList { expr, list, negated } => {
                match (expr.as_ref(), list.iter().all(|e| matches!(e, Expr::Tuple(_)))) {
                    (Expr::Tuple(columns), true) => among(columns, list, *negated),
                    _ => return ControlFlow::Continue(()),
                }
            }
            Expr::InSubquery { expr, .. } if matches!(expr.as_ref(), Expr::Tuple(_)) => Err(refused(
                "(a, b) IN (SELECT ...) is not known: join with the subquery, JOIN (SELECT DISTINCT a, b FROM ...) AS p ON p.a = t.a AND p.b = t.b",
            )),
            _ => return ControlFlow::Continue(()),
        };
        match made {
            Ok(Some(made)) => *expr = made,
            Ok(None) => {}
            Err(e) => return ended(e),
        }
        ControlFlow::Continue(())
    }
}

/// Whether it has an OVER.
fn over(item: &SelectItem) -> bool {
    struct Over(bool);
    impl Visitor for Over {
        type Break = ();
        fn pre_visit_expr(&mut self, e: &Expr) -> ControlFlow<()> {
            self.0 |= matches!(e, Expr::Function(f) if f.over.is_some());
            ControlFlow::Continue(())
        }
    }
    let mut over = Over(false);
    let _whole = Visit::visit(item, &mut over);
    over.0
}

/// Unknown values last, where nothing else is said.
fn last(by: &mut [OrderByExpr]) {
    for one in by {
        one.options.nulls_first = Some(one.options.nulls_first.unwrap_or(false));
    }
}

fn is_whole(e: &Expr) -> bool {
    match e {
        Expr::Value(v) => matches!(&v.value, Value::Number(n, _) if n.bytes().all(|b| b.is_ascii_digit())),
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => is_whole(expr),
        _ => false,
    }
}

fn wide(e: &Expr) -> Result<Expr, FramesError> {
    expression(&format!("CAST({e} AS BIGINT)"))
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

pub(super) fn name_of(f: &Function) -> String {
    match f.name.0.last() {
        Some(ObjectNamePart::Identifier(name)) => name.value.to_ascii_lowercase(),
        _ => String::new(),
    }
}

fn arguments(f: &Function) -> Vec<&Expr> {
    let FunctionArguments::List(list) = &f.args else {
        return vec![];
    };
    let of = |a| match a {
        &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref e)) => Some(e),
        _ => None,
    };
    list.args.iter().filter_map(of).collect()
}

/// Whether a column is in it.
fn of_rows(e: &Expr) -> bool {
    struct Columns(bool);
    impl Visitor for Columns {
        type Break = ();
        fn pre_visit_expr(&mut self, e: &Expr) -> ControlFlow<()> {
            let counts = |f: &Function| COUNTS.contains(&name_of(f).as_str());
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

/// The call in the engine's words; `None`: as it stands.
fn call(f: &mut Function) -> Result<Option<Expr>, FramesError> {
    if name_of(f) == "mean" {
        f.name = ObjectName::from(vec![Ident::new("AVG")]);
    }
    let name = name_of(f);
    if let FunctionArguments::List(list) = &mut f.args {
        for clause in &mut list.clauses {
            if let FunctionArgumentClause::OrderBy(by) = clause {
                last(by);
            }
        }
    }
    if let Some(WindowType::WindowSpec(spec)) = &mut f.over {
        last(&mut spec.order_by);
        window(&name, spec)?;
    }
    let quantile = |of: &Expr, p: &str, disc: bool| {
        let called = if disc { "QUANTILE_DISC" } else { "QUANTILE_CONT" };
        let over = f.over.as_ref().map_or_else(String::new, |o| format!(" OVER {o}"));
        let filter = f
            .filter
            .as_ref()
            .map_or_else(String::new, |e| format!(" FILTER (WHERE {e})"));
        expression(&format!("{called}({of}, {p}){filter}{over}")).map(Some)
    };
    let args = arguments(f);
    match (name.as_str(), args.as_slice(), f.within_group.as_slice()) {
        ("percentile_cont" | "percentile_disc", [p], [by]) => {
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
            quantile(of, &p.to_string(), name == "percentile_disc")
        }
        ("approx_count_distinct", [of], []) => expression(&format!("CAST(COUNT(DISTINCT {of}) AS BIGINT)")).map(Some),
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

/// Refuses what the engine does not count row by row.
fn window(name: &str, spec: &WindowSpec) -> Result<(), FramesError> {
    if let Some(frame) = &spec.window_frame {
        let from_first = matches!(frame.start_bound, WindowFrameBound::Preceding(None));
        let to_here = matches!(frame.end_bound, None | Some(WindowFrameBound::CurrentRow));
        if frame.units != WindowFrameUnits::Rows || !from_first || !to_here {
            return Err(refused(
                "of frames only ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW is known: take single rows before this one with LAG(x, n)",
            ));
        }
    }
    let falls = |o: &OrderByExpr| o.options.asc == Some(false);
    if spec.order_by.iter().any(falls) && !spec.order_by.iter().all(falls) {
        return Err(refused(
            "OVER (ORDER BY x DESC, y) is not known: order all of it one way, a number the other way by its negative, ORDER BY -x, y",
        ));
    }
    match runs_wrong(name) && !spec.order_by.is_empty() {
        true => Err(refused(format!(
            "{name} OVER (ORDER BY ...) is not known for the rows up to this one: leave ORDER BY out for all rows of the partition, \
             or divide SUM(x) OVER (ORDER BY t) by COUNT(x) OVER (ORDER BY t)"
        ))),
        false => Ok(()),
    }
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
