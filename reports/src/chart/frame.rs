//! Grounds, grids and axis labels, the same in every chart.

use plotters_backend::DrawingBackend;

use crate::chart::axis::Axis;
use crate::chart::canvas::{Canvas, ChartError};
use crate::chart::letters::{Align, Letters};
use crate::chart::spec::Unit;
use crate::chart::theme;

/// The rectangle values are drawn in.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Left edge.
    pub left: f64,
    /// Top edge.
    pub top: f64,
    /// Right edge.
    pub right: f64,
    /// Bottom edge.
    pub bottom: f64,
}

impl Frame {
    /// Width.
    pub fn width(&self) -> f64 {
        self.right - self.left
    }
}

/// Space between two labels of the x axis.
pub const APART: f64 = 8.0;
/// From the x axis down to the middle of its labels.
pub const TICKS: f64 = 14.0;

/// Vertical grid lines.
pub fn x_grid<DB: DrawingBackend>(
    canvas: &mut Canvas<DB>,
    frame: Frame,
    axis: &Axis,
    unit: Unit,
) -> Result<(), ChartError> {
    for tick in axis.ticks(unit, x_room(frame)) {
        let x = axis.px(tick.value);
        let width = if tick.label.is_some() { 1.0 } else { 0.5 };
        canvas.line(&[(x, frame.top), (x, frame.bottom)], theme::GRID, width)?;
    }
    Ok(())
}

/// The x axis with tick labels below it; a label that would touch the one before it is left out.
pub fn x_axis<DB: DrawingBackend>(
    canvas: &mut Canvas<DB>,
    frame: Frame,
    axis: &Axis,
    unit: Unit,
) -> Result<(), ChartError> {
    x_axis_from(canvas, frame, (axis, unit), f64::NEG_INFINITY)
}

/// The same, where something else stands in the row of its labels up to `free_from`.
pub fn x_axis_from<DB: DrawingBackend>(
    canvas: &mut Canvas<DB>,
    frame: Frame,
    (axis, unit): (&Axis, Unit),
    mut free_from: f64,
) -> Result<(), ChartError> {
    canvas.line(
        &[(frame.left, frame.bottom), (frame.right, frame.bottom)],
        theme::AXIS,
        1.0,
    )?;
    for tick in axis.ticks(unit, x_room(frame)) {
        let x = axis.px(tick.value);
        let long = if tick.label.is_some() { 5.0 } else { 3.0 };
        canvas.line(&[(x, frame.bottom), (x, frame.bottom + long)], theme::AXIS, 1.0)?;
        let Some(label) = tick.label else { continue };
        let half = canvas.text_width(&label, Letters::NOTE) / 2.0;
        let middle = x.min(canvas.width() - half - 3.0).max(half + 3.0);
        if middle - half >= free_from {
            canvas.text(middle, frame.bottom + TICKS, Align::Middle, Letters::NOTE, &label)?;
            free_from = middle + half + APART;
        }
    }
    Ok(())
}

/// Begins what moves with the time axis that all charts of a page share: the script finds it by this group.
pub fn time<DB: DrawingBackend>(
    canvas: &mut Canvas<DB>,
    frame: Frame,
    (from, to): (i64, i64),
) -> Result<(), ChartError> {
    canvas.open(
        "time",
        &[
            ("from", &from.to_string()),
            ("to", &to.to_string()),
            ("left", &format!("{:.1}", frame.left)),
            ("right", &format!("{:.1}", frame.right)),
            ("scale", &format!("{:.0}", canvas.scale())),
        ],
    )
}

/// Begins a group of ECDFs, of which the script tells the share at or below a value.
pub fn curves<DB: DrawingBackend>(
    canvas: &mut Canvas<DB>,
    frame: Frame,
    axis: &Axis,
    unit: Unit,
) -> Result<(), ChartError> {
    let (lo, hi) = axis.ends();
    let log = if axis.is_log() { "log" } else { "linear" };
    canvas.open(
        "curves",
        &[
            ("x", &format!("{:.1} {:.1}", frame.left.max(axis.from()), frame.right)),
            ("y", &format!("{:.1} {:.1}", frame.top, frame.bottom)),
            ("v", &format!("{lo} {hi}")),
            ("d", log),
            ("u", unit.word()),
            ("scale", &format!("{:.0}", canvas.scale())),
        ],
    )
}

/// The time axis under `frame`, which the script replaces when it zooms.
pub fn time_axis<DB: DrawingBackend>(canvas: &mut Canvas<DB>, frame: Frame, axis: &Axis) -> Result<(), ChartError> {
    canvas.open("axis", &[("y", &format!("{:.1}", frame.bottom))])?;
    x_axis(canvas, frame, axis, Unit::Nanoseconds)?;
    canvas.close()
}

/// What the x axis counts, under its labels, at the right end.
pub fn x_title<DB: DrawingBackend>(canvas: &mut Canvas<DB>, frame: Frame, title: &str) -> Result<(), ChartError> {
    let title = canvas.fit(title, Letters::NOTE, frame.width());
    canvas.text(frame.right, frame.bottom + 31.0, Align::End, Letters::NOTE, &title)
}

/// Horizontal grid lines where there is a label, with the labels left of the frame; short marks at minor ticks.
pub fn y_axis<DB: DrawingBackend>(
    canvas: &mut Canvas<DB>,
    frame: Frame,
    axis: &Axis,
    unit: Unit,
    room: usize,
) -> Result<(), ChartError> {
    for tick in axis.ticks(unit, room) {
        let y = axis.px(tick.value);
        let Some(label) = tick.label else {
            // Lines at every one of them would hatch a panel of several decades.
            canvas.line(&[(frame.left - 3.0, y), (frame.left, y)], theme::AXIS, 1.0)?;
            continue;
        };
        canvas.line(&[(frame.left, y), (frame.right, y)], theme::GRID, 1.0)?;
        canvas.text(frame.left - 6.0, y, Align::End, Letters::NOTE, &label)?;
    }
    Ok(())
}

/// Width the labels of a y axis need.
pub fn y_label_width<DB: DrawingBackend>(canvas: &Canvas<DB>, axis: &Axis, unit: Unit, room: usize) -> f64 {
    let labels = axis.ticks(unit, room).into_iter().filter_map(|tick| tick.label);
    labels
        .map(|label| canvas.text_width(&label, Letters::NOTE))
        .fold(0.0, f64::max)
}

/// The ground of a frame.
pub fn ground<DB: DrawingBackend>(canvas: &mut Canvas<DB>, frame: Frame) -> Result<(), ChartError> {
    canvas.rect((frame.left, frame.top), (frame.right, frame.bottom), theme::GROUND)
}

/// A line of text where the picture would be, when there is nothing to draw.
pub fn nothing<DB: DrawingBackend>(canvas: &mut Canvas<DB>, frame: Frame, why: &str) -> Result<(), ChartError> {
    let (x, y) = ((frame.left + frame.right) / 2.0, (frame.top + frame.bottom) / 2.0);
    let why = canvas.fit(why, Letters::NOTE, frame.width());
    canvas.text(x, y, Align::Middle, Letters::NOTE, &why)
}

fn x_room(frame: Frame) -> usize {
    (frame.width() / 58.0).max(2.0) as usize
}
