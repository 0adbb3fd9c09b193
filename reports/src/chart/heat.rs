//! Counts over time and value: time right, value up on a log axis, the darker a cell the more in it. The time axis is that of the other
//! charts over time.

use plotters_backend::{BackendColor, DrawingBackend};

use crate::chart::axis::Axis;
use crate::chart::canvas::{Canvas, ChartError};
use crate::chart::frame::{self, Frame};
use crate::chart::letters::{Align, Letters};
use crate::chart::spec::{Division, Heat, Unit};
use crate::chart::theme::{self, Tone};
use crate::format;

const PANEL: f64 = 190.0;
const HEAD: f64 = 26.0;
const BELOW: f64 = 42.0;
/// Steps of the scale, from one to the most.
const STEPS: i32 = 6;

pub const fn height() -> u32 {
    (HEAD + PANEL + BELOW) as u32
}

/// The darkness of a count: by its logarithm, so that one unit can be seen beside a million.
fn shade(count: u64, most: u64) -> BackendColor {
    let share = (count.max(1) as f64).ln_1p() / (most.max(1) as f64).ln_1p();
    let step = (share * f64::from(STEPS)).ceil().clamp(1.0, f64::from(STEPS));
    BackendColor {
        alpha: 0.1 + 0.9 * step / f64::from(STEPS),
        ..Tone::Blue.color()
    }
}

pub fn draw<DB: DrawingBackend>(plot: &Heat, canvas: &mut Canvas<DB>) -> Result<(), ChartError> {
    let panel = Frame {
        left: 72.0,
        top: canvas.top() + HEAD,
        right: canvas.width() - 14.0,
        bottom: canvas.top() + HEAD + PANEL,
    };
    let label = canvas.fit(plot.label.as_str(), Letters::NOTE.colored(theme::INK), 400.0);
    let ink = Letters::NOTE.colored(theme::INK);
    canvas.text(8.0, panel.top - 12.0, Align::Start, ink, &label)?;
    let least = plot.cells.iter().map(|cell| cell.lo.max(1)).min();
    let (Some(least), Some(highest)) = (least, plot.cells.iter().map(|cell| cell.hi).max()) else {
        frame::ground(canvas, panel)?;
        return frame::nothing(canvas, panel, "nothing was measured");
    };
    let most = plot.cells.iter().map(|cell| cell.count).max().unwrap_or(1);
    scale(plot, canvas, panel, most)?;
    frame::ground(canvas, panel)?;
    let time = Axis::new(
        Division::Linear,
        plot.start_ns as f64,
        plot.end_ns as f64,
        panel.left,
        panel.right,
    );
    let values = Axis::new(Division::Log, least as f64, highest as f64, panel.bottom, panel.top);
    frame::time(canvas, panel, (plot.start_ns, plot.end_ns))?;
    frame::y_axis(canvas, panel, &values, Unit::Nanoseconds, 6)?;
    canvas.open("z", &[])?;
    for cell in plot.cells.iter().filter(|cell| cell.count > 0) {
        let from = plot
            .start_ns
            .saturating_add(i64::from(cell.bin).saturating_mul(plot.bin_ns));
        // The script says the moment.
        let said = format!(
            "{} to {}: {} {}",
            format::duration(cell.lo),
            format::duration(cell.hi),
            format::count(cell.count),
            plot.counted
        );
        canvas.open("h", &[("t", &said)])?;
        canvas.rect(
            (time.px(from as f64), values.px(cell.hi as f64)),
            (
                time.px(from.saturating_add(plot.bin_ns) as f64),
                values.px(cell.lo as f64),
            ),
            shade(cell.count, most),
        )?;
        canvas.close()?;
    }
    canvas.close()?;
    frame::time_axis(canvas, panel, &time)?;
    canvas.close()?;
    frame::x_title(canvas, panel, "time since the start of the recording")
}

/// What a colour means, at the right above the panel.
fn scale<DB: DrawingBackend>(plot: &Heat, canvas: &mut Canvas<DB>, panel: Frame, most: u64) -> Result<(), ChartError> {
    let most_text = format!("{} {} a cell", format::count(most), plot.counted);
    let width = canvas.text_width(&most_text, Letters::NOTE);
    let right = panel.right - width - 8.0;
    let y = panel.top - 12.0;
    canvas.text(panel.right, y, Align::End, Letters::NOTE, &most_text)?;
    for step in 0..STEPS {
        let x = right - f64::from(STEPS - step) * 16.0;
        let color = BackendColor {
            alpha: 0.1 + 0.9 * f64::from(step + 1) / f64::from(STEPS),
            ..Tone::Blue.color()
        };
        canvas.rect((x, y - 6.0), (x + 15.0, y + 6.0), color)?;
    }
    canvas.text(right - f64::from(STEPS) * 16.0 - 6.0, y, Align::End, Letters::NOTE, "1")
}
