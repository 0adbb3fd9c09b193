//! One horizontal bar per row (CPU, reason, device), made of parts; the sum is written behind it.

use plotters_backend::DrawingBackend;

use crate::chart::axis::Axis;
use crate::chart::canvas::{Canvas, ChartError, LINE};
use crate::chart::frame::{self, Frame};
use crate::chart::legend::Swatch;
use crate::chart::letters::{Align, Letters};
use crate::chart::spec::{BarRow, Bars, Division, Size, Unit};
use crate::chart::theme::Tone;
use crate::format;

const ROW: f64 = 22.0;
/// Width of an entry of the legend without its name, and of a wide letter.
const MARK: f64 = 38.0;
const LETTER: f64 = 7.0;
const BELOW: f64 = 42.0;

pub fn height(plot: &Bars, size: Size) -> u32 {
    let widths = plot
        .parts
        .iter()
        .map(|(name, _)| MARK + LETTER * name.as_str().chars().count() as f64);
    // Entries are not cut in two: each row may have the widest one's room to spare.
    let room = f64::from(size.width()) - 16.0;
    let widest = widths.clone().fold(0.0, f64::max).min(room / 2.0);
    let legend = match plot.parts.len() {
        0 | 1 => 0.0,
        _ => 19.0 * (widths.sum::<f64>() / (room - widest)).ceil(),
    };
    (legend + 6.0 + ROW * plot.rows.len().max(1) as f64 + BELOW) as u32
}

pub fn draw<DB: DrawingBackend>(plot: &Bars, canvas: &mut Canvas<DB>) -> Result<(), ChartError> {
    let mut top = canvas.top() + 6.0;
    if plot.parts.len() > 1 {
        let names: Vec<_> = plot
            .parts
            .iter()
            .enumerate()
            .map(|(part, (name, tone))| match is_low(plot, part) {
                true => (name.clone(), Swatch::Low(tone.color())),
                false => (name.clone(), Swatch::Box(tone.color())),
            })
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
            let (from, to) = (axis.px(so_far), axis.px(so_far + value));
            let name = plot.parts.get(part).map_or("", |(name, _)| name.as_str());
            canvas.open("h", &[("t", &told(row, plot, name, *value))])?;
            let half = if is_low(plot, part) { 3.0 } else { 7.0 };
            canvas.rect((from, y - half), (to, y + half), tone.color())?;
            canvas.close()?;
            so_far += value;
        }
        let behind = canvas.fit(behind, Letters::NOTE, behind_width);
        canvas.text(axis.px(so_far) + 6.0, y, Align::Start, Letters::NOTE, &behind)?;
    }
    frame::x_axis(canvas, inner, &axis, plot.unit)?;
    frame::x_title(canvas, panel, plot.label.as_str())
}

/// A part whose tone another has before it is drawn low, in the legend too.
fn is_low(plot: &Bars, part: usize) -> bool {
    let tone = plot.parts.get(part).map(|(_, tone)| *tone);
    plot.parts.iter().take(part).any(|(_, before)| Some(*before) == tone)
}

/// A part's figures, a line each.
fn told(row: &BarRow, plot: &Bars, name: &str, value: f64) -> String {
    let label = row.label.as_str();
    let value = match plot.unit {
        Unit::Fraction => format!("{} of {}", format::percent(value), shown(row, plot.unit)),
        unit => written(value, unit),
    };
    match plot.parts.len() {
        0 | 1 => format!("{label}{LINE}{value}"),
        _ => format!("{label}{LINE}{name}{LINE}{value}"),
    }
}

fn sum(row: &BarRow) -> f64 {
    row.values.iter().filter(|value| value.is_finite()).sum()
}

fn shown(row: &BarRow, unit: Unit) -> String {
    let sum = sum(row);
    match &row.shown {
        Some(text) => text.as_str().to_owned(),
        None => written(sum, unit),
    }
}

fn written(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Nanoseconds => format::duration(value as i64),
        Unit::Bytes => format::bytes(value as u64),
        Unit::Count => format::count(value as u64),
        Unit::Fraction => format::percent(value),
    }
}
