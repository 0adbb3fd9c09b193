//! The stages of a path, one row each. Left: its share of all time, each bar starting where the one before ended (the parts of a ledger
//! sum to the whole, percentiles do not: so only shares are stacked). Right: p50 to p99 on a log axis, with p90 and the largest.

use plotters_backend::DrawingBackend;

use crate::chart::axis::Axis;
use crate::chart::canvas::{Canvas, ChartError, LINE};
use crate::chart::frame::{self, Frame};
use crate::chart::legend::Swatch;
use crate::chart::letters::{Align, Letters};
use crate::chart::spec::{Division, Stage, Unit, Waterfall};
use crate::chart::theme;
use crate::format;

const ROW: f64 = 25.0;
const HEAD: f64 = 26.0;
const BELOW: f64 = 42.0;

pub fn height(plot: &Waterfall) -> u32 {
    (HEAD + ROW * plot.stages.len().max(1) as f64 + BELOW) as u32
}

pub fn draw<DB: DrawingBackend>(plot: &Waterfall, canvas: &mut Canvas<DB>) -> Result<(), ChartError> {
    let names = plot
        .stages
        .iter()
        .map(|stage| canvas.text_width(stage.name.as_str(), Letters::NORMAL));
    let name_width = names.fold(60.0, f64::max).min(190.0);
    let counts = plot
        .stages
        .iter()
        .map(|stage| canvas.text_width(&format::count(stage.n), Letters::NOTE));
    let n_width = counts.fold(24.0, f64::max).min(90.0);

    let left = 8.0 + name_width + 10.0;
    let right = canvas.width() - n_width - 20.0;
    let top = canvas.top() + HEAD;
    let bottom = top + ROW * plot.stages.len().max(1) as f64;
    let middle = left + (right - left) * 0.40;
    let shares = Frame {
        left,
        top,
        right: middle - 8.0,
        bottom,
    };
    let times = Frame {
        left: middle + 8.0,
        top,
        right,
        bottom,
    };

    head(plot, canvas, shares, times, right + n_width + 12.0)?;
    let share_axis = Axis::new(Division::Linear, 0.0, 1.0, shares.left, shares.right - 46.0);
    let time_axis = time_axis(&plot.stages, times);
    frame::ground(canvas, shares)?;
    frame::ground(canvas, times)?;
    if let Some(axis) = &time_axis {
        frame::x_grid(canvas, times, axis, Unit::Nanoseconds)?;
    }

    let mut so_far = 0.0;
    for (row, stage) in plot.stages.iter().enumerate() {
        let y = top + ROW * (row as f64 + 0.5);
        let name = canvas.fit(stage.name.as_str(), Letters::NORMAL, name_width);
        canvas.open("h", &[("t", &told(stage))])?;
        canvas.text(left - 10.0, y, Align::End, Letters::NORMAL, &name)?;
        so_far = share(stage, canvas, &share_axis, y, so_far)?;
        if let Some(axis) = &time_axis {
            percentiles(stage, canvas, axis, times, y)?;
        }
        let n = canvas.fit(&format::count(stage.n), Letters::NOTE, n_width);
        canvas.text(right + n_width + 12.0, y, Align::End, Letters::NOTE, &n)?;
        canvas.close()?;
        canvas.line(&[(left, y + ROW / 2.0), (right, y + ROW / 2.0)], theme::GRID, 0.5)?;
    }
    match &time_axis {
        Some(axis) => {
            frame::x_axis(canvas, times, axis, Unit::Nanoseconds)?;
            frame::x_title(canvas, times, plot.unit_label.as_str())
        }
        None => frame::nothing(canvas, times, "nothing was measured"),
    }
}

/// A row's figures, a line each.
fn told(stage: &Stage) -> String {
    let time = |what: &str, ns: Option<i64>| ns.map(|ns| format!("{what} {}", format::duration(ns)));
    let parts = [
        Some(stage.name.as_str().to_owned()),
        stage
            .share
            .map(|share| format!("{} of the summed time", format::percent(share))),
        Some(format!("n = {}", format::count(stage.n))),
        time("p50", stage.p50_ns),
        time("p90", stage.p90_ns),
        time("p99", stage.p99_ns),
        time("largest", stage.max_ns),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(LINE)
}

fn head<DB: DrawingBackend>(
    plot: &Waterfall,
    canvas: &mut Canvas<DB>,
    shares: Frame,
    times: Frame,
    n_right: f64,
) -> Result<(), ChartError> {
    let y = shares.top - 10.0;
    let label = canvas.fit(plot.share_label.as_str(), Letters::NOTE, shares.width());
    canvas.text(shares.left, y, Align::Start, Letters::NOTE, &label)?;
    let marks = [
        ("p50".into(), Swatch::Tick(theme::INK)),
        ("p90".into(), Swatch::Tick(theme::MUTED)),
        ("p99".into(), Swatch::Tick(theme::AXIS)),
        ("largest".into(), Swatch::Dot(theme::AXIS)),
    ];
    canvas.legend(times.left, shares.top - 20.0, &marks)?;
    canvas.text(n_right, y, Align::End, Letters::NOTE, "n")
}

fn time_axis(stages: &[Stage], frame: Frame) -> Option<Axis> {
    let values = || {
        let all = stages
            .iter()
            .flat_map(|stage| [stage.p50_ns, stage.p90_ns, stage.p99_ns, stage.max_ns]);
        all.flatten().filter(|ns| *ns > 0).map(|ns| ns as f64)
    };
    let (lo, hi) = (values().min_by(f64::total_cmp)?, values().max_by(f64::total_cmp)?);
    Some(Axis::new(Division::Log, lo / 1.3, hi * 1.3, frame.left, frame.right))
}

/// The stage's bar in the cascade; returns where the next one starts.
fn share<DB: DrawingBackend>(
    stage: &Stage,
    canvas: &mut Canvas<DB>,
    axis: &Axis,
    y: f64,
    so_far: f64,
) -> Result<f64, ChartError> {
    let Some(share) = stage.share else {
        canvas.text(axis.px(so_far) + 4.0, y, Align::Start, Letters::NOTE, format::UNKNOWN)?;
        return Ok(so_far);
    };
    let end = so_far + share.max(0.0);
    if share > 0.0 {
        canvas.rect((axis.px(so_far), y - 8.0), (axis.px(end), y + 8.0), stage.tone.color())?;
    }
    canvas.text(
        axis.px(end) + 4.0,
        y,
        Align::Start,
        Letters::NOTE,
        &format::percent(share),
    )?;
    Ok(end)
}

fn percentiles<DB: DrawingBackend>(
    stage: &Stage,
    canvas: &mut Canvas<DB>,
    axis: &Axis,
    frame: Frame,
    y: f64,
) -> Result<(), ChartError> {
    let at = |ns: i64| if ns > 0 { axis.px(ns as f64) } else { frame.left };
    let (Some(p50), Some(p99)) = (stage.p50_ns, stage.p99_ns) else {
        return canvas.text(frame.left + 6.0, y, Align::Start, Letters::NOTE, "none was seen");
    };
    if stage.max_ns.is_some_and(|max| max <= 0) {
        return canvas.text(frame.left + 6.0, y, Align::Start, Letters::NOTE, "always 0");
    }
    if let Some(max) = stage.max_ns {
        canvas.line(&[(at(p99), y), (at(max), y)], theme::AXIS, 1.0)?;
        canvas.dot((at(max), y), 2.8, theme::AXIS)?;
    }
    canvas.rect((at(p50), y - 5.0), (at(p99), y + 5.0), stage.tone.color())?;
    for (ns, half, color) in [
        (Some(p99), 6.0, theme::AXIS),
        (stage.p90_ns, 7.0, theme::MUTED),
        (Some(p50), 8.0, theme::INK),
    ] {
        if let Some(ns) = ns {
            canvas.rect((at(ns) - 1.2, y - half), (at(ns) + 1.2, y + half), color)?;
        }
    }
    Ok(())
}
