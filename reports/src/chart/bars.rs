//! One horizontal bar per row (CPU, reason, device), made of parts; the sum is written behind it.

use plotters_backend::DrawingBackend;

use crate::chart::axis::Axis;
use crate::chart::canvas::{Canvas, ChartError};
use crate::chart::frame::{self, Frame};
use crate::chart::legend::Swatch;
use crate::chart::letters::{Align, Letters};
use crate::chart::spec::{BarRow, Bars, Division, Unit};
use crate::chart::theme::Tone;
use crate::format;

const ROW: f64 = 22.0;
const BELOW: f64 = 42.0;

pub fn height(plot: &Bars) -> u32 {
    // Two legend rows at most: parts are few.
    let legend = if plot.parts.len() > 1 { 38.0 } else { 0.0 };
    (legend + 6.0 + ROW * plot.rows.len().max(1) as f64 + BELOW) as u32
}

pub fn draw<DB: DrawingBackend>(plot: &Bars, canvas: &mut Canvas<DB>) -> Result<(), ChartError> {
    let mut top = canvas.top() + 6.0;
    if plot.parts.len() > 1 {
        let names: Vec<_> = plot
            .parts
            .iter()
            .map(|(name, tone)| (name.clone(), Swatch::Box(tone.color())))
            .collect();
        top += canvas.legend(8.0, canvas.top(), &names)?;
    }
    let labels = plot
        .rows
        .iter()
        .map(|row| canvas.text_width(row.label.as_str(), Letters::NORMAL));
    let label_width = labels.fold(30.0, f64::max).min(canvas.width() * 0.42);
    let behind: Vec<String> = plot.rows.iter().map(|row| shown(row, plot.unit)).collect();
    let behind_width = behind
        .iter()
        .map(|text| canvas.text_width(text, Letters::NOTE))
        .fold(20.0, f64::max);
    let behind_width = behind_width.min(canvas.width() * 0.3);

    let left = 8.0 + label_width + 8.0;
    let bottom = top + ROW * plot.rows.len().max(1) as f64;
    let panel = Frame {
        left,
        top,
        right: canvas.width() - 14.0,
        bottom,
    };
    let most = plot.rows.iter().map(sum).fold(0.0, f64::max);
    if most <= 0.0 {
        frame::ground(canvas, panel)?;
        return frame::nothing(canvas, panel, "nothing was counted");
    }
    let inner = Frame {
        right: panel.right - behind_width - 8.0,
        ..panel
    };
    let axis = Axis::new(Division::Linear, 0.0, most, inner.left, inner.right);
    frame::x_grid(canvas, inner, &axis, plot.unit)?;
    for (at, (row, behind)) in plot.rows.iter().zip(&behind).enumerate() {
        let y = top + ROW * (at as f64 + 0.5);
        let label = canvas.fit(row.label.as_str(), Letters::NORMAL, label_width);
        canvas.text(left - 8.0, y, Align::End, Letters::NORMAL, &label)?;
        let mut so_far = 0.0;
        for (part, value) in row.values.iter().enumerate().filter(|(_, value)| **value > 0.0) {
            let tone = plot.parts.get(part).map_or(Tone::nth(part), |(_, tone)| *tone);
            canvas.rect(
                (axis.px(so_far), y - 7.0),
                (axis.px(so_far + value), y + 7.0),
                tone.color(),
            )?;
            so_far += value;
        }
        let behind = canvas.fit(behind, Letters::NOTE, behind_width);
        canvas.text(axis.px(so_far) + 6.0, y, Align::Start, Letters::NOTE, &behind)?;
    }
    frame::x_axis(canvas, inner, &axis, plot.unit)?;
    frame::x_title(canvas, panel, plot.label.as_str())
}

fn sum(row: &BarRow) -> f64 {
    row.values.iter().filter(|value| value.is_finite()).sum()
}

fn shown(row: &BarRow, unit: Unit) -> String {
    let sum = sum(row);
    match (&row.shown, unit) {
        (Some(text), _) => text.as_str().to_owned(),
        (None, Unit::Nanoseconds) => format::duration(sum as i64),
        (None, Unit::Bytes) => format::bytes(sum as u64),
        (None, Unit::Count) => format::count(sum as u64),
        (None, Unit::Fraction) => format::percent(sum),
    }
}
