//! Histogram over ECDF on one axis, with the quantiles as lines through both.

use plotters_backend::DrawingBackend;

use crate::chart::axis::Axis;
use crate::chart::canvas::{Canvas, ChartError};
use crate::chart::frame::{self, Frame};
use crate::chart::letters::{Align, Letters};
use crate::chart::spec::{Distribution, Division, Size, Unit};
use crate::chart::theme;
use crate::format;

const MARK_ROW: f64 = 15.0;
const LABELS_APART: f64 = 8.0;
const ECDF: f64 = 72.0;
const BETWEEN: f64 = 12.0;
const BELOW: f64 = 42.0;
/// Width of the bin that a log axis cannot show (0 and below).
const ZERO_BIN: f64 = 26.0;
/// What is written under it.
const BELOW_AXIS: &str = "≤0";

fn bars_height(size: Size) -> f64 {
    match size {
        Size::Full => 140.0,
        Size::Half => 110.0,
    }
}

pub fn height(plot: &Distribution, size: Size) -> u32 {
    let ecdf = if plot.ecdf.is_empty() { 0.0 } else { ECDF + BETWEEN };
    (mark_rows(plot) * MARK_ROW + 18.0 + bars_height(size) + ecdf + BELOW) as u32
}

fn mark_rows(plot: &Distribution) -> f64 {
    if plot.marks.is_empty() { 0.0 } else { 2.0 }
}

pub fn draw<DB: DrawingBackend>(plot: &Distribution, canvas: &mut Canvas<DB>) -> Result<(), ChartError> {
    let size = if canvas.width() > 600.0 { Size::Full } else { Size::Half };
    let most = plot.bins.iter().map(|bin| bin.count).max().unwrap_or(0);
    let counts = Axis::new(Division::Linear, 0.0, (most as f64 * 1.04).max(1.0), 0.0, 0.0);
    let left = 14.0 + frame::y_label_width(canvas, &counts, Unit::Count, 4).max(40.0);
    let zero_bin = plot.division == Division::Log && plot.bins.iter().any(|bin| bin.lo <= 0 && bin.count > 0);
    let axis_left = if zero_bin { left + ZERO_BIN + 6.0 } else { left };

    let top = canvas.top() + mark_rows(plot) * MARK_ROW + 18.0;
    let bars = Frame {
        left,
        top,
        right: canvas.width() - 14.0,
        bottom: top + bars_height(size),
    };
    let counted = canvas.fit(plot.counted.as_str(), Letters::NOTE, 200.0);
    // Clear of the uppermost label of the axis, which may stand at its very end.
    canvas.text(8.0, top - 12.0, Align::Start, Letters::NOTE, &counted)?;

    let Some((lo, hi)) = range(plot) else {
        frame::ground(canvas, bars)?;
        return frame::nothing(canvas, bars, "nothing was measured");
    };
    let values = Axis::new(plot.division, lo, hi, axis_left, bars.right);
    let counts = Axis::new(
        Division::Linear,
        0.0,
        (most as f64 * 1.04).max(1.0),
        bars.bottom,
        bars.top,
    );

    frame::x_grid(canvas, bars, &values, plot.unit)?;
    frame::y_axis(canvas, bars, &counts, Unit::Count, 4)?;
    draw_bars(plot, canvas, bars, &values, &counts)?;

    let last = if plot.ecdf.is_empty() {
        bars
    } else {
        canvas.line(&[(bars.left, bars.bottom), (bars.right, bars.bottom)], theme::AXIS, 1.0)?;
        let ecdf = Frame {
            top: bars.bottom + BETWEEN,
            bottom: bars.bottom + BETWEEN + ECDF,
            ..bars
        };
        let fractions = Axis::new(Division::Linear, 0.0, 1.0, ecdf.bottom, ecdf.top);
        frame::x_grid(canvas, ecdf, &values, plot.unit)?;
        frame::y_axis(canvas, ecdf, &fractions, Unit::Fraction, 2)?;
        frame::curves(canvas, ecdf, &values, plot.unit)?;
        canvas.open("ln", &[("n", "")])?;
        canvas.line(
            &steps(&plot.ecdf, &values, &fractions, ecdf.left),
            plot.tone.color(),
            1.8,
        )?;
        canvas.close()?;
        canvas.close()?;
        ecdf
    };
    let mut free_from = f64::NEG_INFINITY;
    if zero_bin {
        let x = bars.left + (2.0 + ZERO_BIN) / 2.0;
        canvas.text(x, last.bottom + frame::TICKS, Align::Middle, Letters::NOTE, BELOW_AXIS)?;
        free_from = x + canvas.text_width(BELOW_AXIS, Letters::NOTE) / 2.0 + frame::APART;
    }
    frame::x_axis_from(canvas, last, (&values, plot.unit), free_from)?;
    frame::x_title(canvas, last, plot.label.as_str())?;
    draw_marks(
        plot,
        canvas,
        Frame {
            bottom: last.bottom,
            ..bars
        },
        &values,
    )
}

/// Whole numbers on a linear axis stand in the middle of their bars.
fn shift(plot: &Distribution) -> f64 {
    if plot.unit == Unit::Count && plot.division == Division::Linear {
        0.5
    } else {
        0.0
    }
}

/// The values the axis spans: from the first to the last bin that holds something, and every mark.
fn range(plot: &Distribution) -> Option<(f64, f64)> {
    let held = || plot.bins.iter().filter(|bin| bin.count > 0);
    let shown = |value: i64| plot.division == Division::Linear || value > 0;
    let marks = || plot.marks.iter().map(|mark| mark.value).filter(|value| shown(*value));
    let lo = held().map(|bin| bin.lo).filter(|lo| shown(*lo)).chain(marks()).min();
    let hi = held().map(|bin| bin.hi).chain(marks()).max()?;
    let lo = lo.unwrap_or(if plot.division == Division::Log { 1 } else { 0 });
    Some((lo as f64 - shift(plot), hi as f64 - shift(plot)))
}

fn draw_bars<DB: DrawingBackend>(
    plot: &Distribution,
    canvas: &mut Canvas<DB>,
    bars: Frame,
    values: &Axis,
    counts: &Axis,
) -> Result<(), ChartError> {
    for bin in plot.bins.iter().filter(|bin| bin.count > 0) {
        let below_axis = plot.division == Division::Log && bin.lo <= 0;
        let (x0, x1) = if below_axis {
            (bars.left + 2.0, bars.left + ZERO_BIN)
        } else {
            (
                values.px(bin.lo as f64 - shift(plot)),
                values.px(bin.hi as f64 - shift(plot)),
            )
        };
        // A hair between bars, where they are wide enough.
        let x1 = if x1 - x0 > 3.0 { x1 - 0.5 } else { x1 };
        let said = format!(
            "{} to {}: {}",
            written(bin.lo.max(0), plot.unit),
            written(bin.hi, plot.unit),
            format::count(bin.count)
        );
        canvas.open("h", &[("t", &said)])?;
        canvas.rect((x0, counts.px(bin.count as f64)), (x1, bars.bottom), plot.tone.color())?;
        canvas.close()?;
    }
    Ok(())
}

/// An ECDF as a staircase in pixels, from 0 at the left edge to its last value at the right one.
pub fn steps(points: &[(i64, f64)], values: &Axis, fractions: &Axis, left: f64) -> Vec<(f64, f64)> {
    let mut out = vec![(left, fractions.px(0.0))];
    let mut fraction_before = 0.0;
    for (value, fraction) in points {
        let x = values.px(*value as f64).max(left);
        out.push((x, fractions.px(fraction_before)));
        out.push((x, fractions.px(*fraction)));
        fraction_before = *fraction;
    }
    out.push((values.px(f64::MAX), fractions.px(fraction_before)));
    super::decimate::decimate(&out, 2.0)
}

/// Lines through both panels; labels in turn in two rows above, moved so that they neither touch nor leave the picture.
fn draw_marks<DB: DrawingBackend>(
    plot: &Distribution,
    canvas: &mut Canvas<DB>,
    through: Frame,
    values: &Axis,
) -> Result<(), ChartError> {
    let ink = Letters {
        color: theme::INK,
        ..Letters::NOTE
    };
    let labels = labels(plot);
    for (value, _) in &labels {
        let x = values.px(*value as f64);
        canvas.dashes(&[(x, through.top), (x, through.bottom)], theme::MUTED, 1.0)?;
    }
    for row in 0..2 {
        let y = through.top - 10.0 - MARK_ROW * (2.0 - f64::from(row));
        // Wanted left edge and width of each label of the row.
        let mut placed: Vec<(f64, f64)> = Vec::new();
        let of_row = || labels.iter().skip(row as usize).step_by(2);
        let mut free_from = 4.0;
        for (value, label) in of_row() {
            let width = canvas.text_width(label, ink);
            let start = (values.px(*value as f64) - width / 2.0).max(free_from);
            placed.push((start, width));
            free_from = start + width + LABELS_APART;
        }
        let mut free_to = canvas.width() - 4.0;
        for (start, width) in placed.iter_mut().rev() {
            *start = start.min(free_to - *width);
            free_to = *start - LABELS_APART;
        }
        for ((value, label), (start, _)) in of_row().zip(placed) {
            let x = values.px(*value as f64);
            canvas.text(start, y, Align::Start, ink, label)?;
            canvas.line(&[(x, y + 8.0), (x, through.top)], theme::GRID, 1.0)?;
        }
    }
    Ok(())
}

/// The marks in ascending order, those at the same value as one.
fn labels(plot: &Distribution) -> Vec<(i64, String)> {
    let mut marks: Vec<(i64, String)> = Vec::new();
    for mark in &plot.marks {
        match marks.last_mut() {
            Some((value, label)) if *value == mark.value => *label = format!("{label} = {}", mark.label),
            _ => marks.push((mark.value, mark.label.to_owned())),
        }
    }
    marks
        .into_iter()
        .map(|(value, label)| (value, format!("{label} {}", written(value, plot.unit))))
        .collect()
}

pub fn written(value: i64, unit: Unit) -> String {
    match unit {
        Unit::Nanoseconds => format::duration(value),
        Unit::Bytes => u64::try_from(value).map_or_else(|_| format::signed(value), format::bytes),
        Unit::Count | Unit::Fraction => format::signed(value),
    }
}
