//! Histograms of groups, one row each on one axis: whose values lie where, and whether one group has two heaps.

use plotters_backend::DrawingBackend;

use crate::chart::axis::Axis;
use crate::chart::canvas::{Canvas, ChartError};
use crate::chart::distribution::written;
use crate::chart::frame::{self, Frame};
use crate::chart::letters::{Align, Letters};
use crate::chart::spec::{Division, HistogramRow, Histograms};
use crate::chart::theme;
use crate::format;

const ROW: f64 = 34.0;
/// Of a row, what its fullest bin takes.
const BAR: f64 = 28.0;
const BELOW: f64 = 42.0;

pub fn height(plot: &Histograms) -> u32 {
    (10.0 + ROW * plot.rows.len().max(1) as f64 + BELOW) as u32
}

pub fn draw<DB: DrawingBackend>(plot: &Histograms, canvas: &mut Canvas<DB>) -> Result<(), ChartError> {
    let widest = |canvas: &Canvas<DB>, of: &dyn Fn(&HistogramRow) -> String, letters| {
        let widths = plot.rows.iter().map(|row| canvas.text_width(&of(row), letters));
        widths.fold(24.0, f64::max)
    };
    let name_width = widest(canvas, &|row| row.name.as_str().to_owned(), Letters::NORMAL).min(canvas.width() * 0.3);
    let n_width = widest(canvas, &|row| format::count(row.n), Letters::NOTE).min(90.0);
    let top = canvas.top() + 10.0;
    let panel = Frame {
        left: 8.0 + name_width + 8.0,
        top,
        right: canvas.width() - n_width - 16.0,
        bottom: top + ROW * plot.rows.len().max(1) as f64,
    };
    let filled = || plot.rows.iter().flat_map(|row| &row.bins).filter(|bin| bin.count > 0);
    let (lo, hi) = (
        filled().map(|bin| bin.lo.max(1)).min(),
        filled().map(|bin| bin.hi).max(),
    );
    let Some((lo, hi)) = lo.zip(hi) else {
        frame::ground(canvas, panel)?;
        return frame::nothing(canvas, panel, "nothing was measured");
    };
    let axis = Axis::new(Division::Log, lo as f64, hi as f64, panel.left, panel.right);
    frame::x_grid(canvas, panel, &axis, plot.unit)?;
    for (nth, row) in plot.rows.iter().enumerate() {
        let bottom = top + ROW * (nth + 1) as f64;
        let middle = bottom - ROW / 2.0;
        let name = canvas.fit(row.name.as_str(), Letters::NORMAL, name_width);
        canvas.text(panel.left - 8.0, middle, Align::End, Letters::NORMAL, &name)?;
        let most = row.bins.iter().map(|bin| bin.count).max().unwrap_or(0).max(1) as f64;
        for bin in row.bins.iter().filter(|bin| bin.count > 0) {
            let (x0, x1) = (axis.px(bin.lo.max(1) as f64), axis.px(bin.hi as f64));
            let said = format!(
                "{name}: {} to {}: {}",
                written(bin.lo.max(0), plot.unit),
                written(bin.hi, plot.unit),
                format::count(bin.count)
            );
            canvas.open("h", &[("t", &said)])?;
            // What is there is seen, however little.
            let high = (BAR * bin.count as f64 / most).max(1.0);
            canvas.rect((x0, bottom - high), (x1.max(x0 + 1.0), bottom), row.tone.color())?;
            canvas.close()?;
        }
        canvas.line(&[(panel.left, bottom), (panel.right, bottom)], theme::AXIS, 0.5)?;
        let n = canvas.fit(&format::count(row.n), Letters::NOTE, n_width);
        canvas.text(canvas.width() - 8.0, middle, Align::End, Letters::NOTE, &n)?;
    }
    frame::x_axis(canvas, panel, &axis, plot.unit)?;
    frame::x_title(canvas, panel, plot.label.as_str())
}
