//! OVER: what the engine does not count row by row is refused; what is of all rows alone has a row for each all the same.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, GroupByExpr, OrderByExpr, Query, Select, SelectItem, SetExpr, Visit, VisitMut, Visitor, VisitorMut,
    WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};

use super::functions::{Over, with_over};
use super::names::column;
use super::{done, ended, query_of, quoted, refused};
use crate::FramesError;

/// Refuses what the engine does not count row by row.
pub(super) fn window(name: &str, spec: &WindowSpec) -> Result<(), FramesError> {
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
    if name == "last_value" && spec.order_by.is_empty() {
        return Err(refused(
            "LAST_VALUE OVER without ORDER BY is not known: name the order, and take the first of the other one, \
             FIRST_VALUE(x) OVER (PARTITION BY k ORDER BY t DESC)",
        ));
    }
    match with_over(name) {
        Over::Wrong => Err(refused(format!(
            "{name} OVER (...) is not known: join with a subquery that has it for each group, \
             JOIN (SELECT k, {name}(...) AS v FROM t GROUP BY k) AS g ON g.k = t.k"
        ))),
        Over::RunsWrong if !spec.order_by.is_empty() => Err(refused(format!(
            "{name} OVER (ORDER BY ...) is not known for the rows up to this one: leave ORDER BY out for all rows of the partition, \
             or divide SUM(x) OVER (ORDER BY t) by COUNT(x) OVER (ORDER BY t)"
        ))),
        _ => Ok(()),
    }
}

/// Puts `SELECT COUNT(*) OVER () FROM t` beside all columns, and takes it from there: alone the engine has one row of it.
pub(super) fn spread(query: &mut Query) -> Result<(), FramesError> {
    done(VisitMut::visit(query, &mut Spread))
}

struct Spread;

impl VisitorMut for Spread {
    type Break = FramesError;
    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<FramesError> {
        match one(select) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => ended(e),
        }
    }
}

fn one(select: &mut Select) -> Result<(), FramesError> {
    let grouped = !matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
    let mut of = Whole::default();
    for item in &select.projection {
        match item {
            SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. } => {
                let _whole = Visit::visit(e, &mut of);
            }
            _ => return Ok(()),
        }
    }
    if grouped || of.rows || !of.over || select.qualify.is_some() || select.distinct.is_some() {
        return Ok(());
    }
    let mut inner = select.clone();
    let mut outer = vec![];
    for (n, item) in inner.projection.iter_mut().enumerate() {
        let (SelectItem::UnnamedExpr(e) | SelectItem::ExprWithAlias { expr: e, .. }) = &*item else {
            continue;
        };
        let (e, name) = (e.clone(), column(item).map_or_else(|| e.to_string(), str::to_owned));
        let alias = quoted(&format!("over {}", n + 1));
        outer.push(format!("{alias} AS {}", quoted(&name)));
        *item = SelectItem::ExprWithAlias { expr: e, alias };
    }
    let text = inner.to_string();
    let text = text.strip_prefix("SELECT").unwrap_or(&text);
    let made = query_of(&format!(
        "SELECT {} FROM (SELECT *, {text}) AS \"rows\"",
        outer.join(", ")
    ))?;
    if let SetExpr::Select(made) = *made.body {
        *select = *made;
    }
    Ok(())
}

/// Whether there are calls of all rows, and anything that is of each row.
#[derive(Default)]
struct Whole {
    over: bool,
    rows: bool,
    /// Calls of all rows around.
    within: usize,
}

impl Whole {
    fn is(e: &Expr) -> bool {
        matches!(e, Expr::Function(f) if matches!(&f.over, Some(WindowType::WindowSpec(s)) if s.partition_by.is_empty() && s.order_by.is_empty()))
    }
}

impl Visitor for Whole {
    type Break = ();
    fn pre_visit_expr(&mut self, e: &Expr) -> ControlFlow<()> {
        if Whole::is(e) {
            self.over = true;
            self.within += 1;
        } else if self.within == 0 {
            self.rows |= match e {
                Expr::Identifier(_) | Expr::CompoundIdentifier(_) => true,
                Expr::Function(f) => f.over.is_some(),
                _ => false,
            };
        }
        ControlFlow::Continue(())
    }
    fn post_visit_expr(&mut self, e: &Expr) -> ControlFlow<()> {
        self.within -= usize::from(Whole::is(e));
        ControlFlow::Continue(())
    }
}
