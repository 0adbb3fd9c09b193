//! Several ECDFs over one another: which one lies right of the others is slower.

use plotters_backend::DrawingBackend;

use crate::chart::axis::Axis;
use crate::chart::canvas::{Canvas, ChartError};
use crate::chart::distribution::steps;
use crate::chart::frame::{self, Frame};
use crate::chart::legend::Swatch;
use crate::chart::spec::{Division, EcdfPlot, Size, Unit};

const LEGEND_ROW: u32 = 19;

pub fn height(plot: &EcdfPlot, size: Size) -> u32 {
    // As many legend rows as the longest plausible names need; the panel takes what is left.
    let per_row = (size.width() / 150).max(1) as usize;
    let rows = plot.curves.len().div_ceil(per_row).min(6) as u32;
    250 + LEGEND_ROW * rows
}

pub fn draw<DB: DrawingBackend>(plot: &EcdfPlot, canvas: &mut Canvas<DB>) -> Result<(), ChartError> {
    let names: Vec<_> = plot
        .curves
        .iter()
        .map(|c| (c.name.clone(), Swatch::Line(c.tone.color())))
        .collect();
    let legend = canvas.legend(8.0, canvas.top(), &names)?;
    let panel = Frame {
        left: 56.0,
        top: canvas.top() + legend + 10.0,
        right: canvas.width() - 14.0,
        bottom: canvas.height() - 42.0,
    };
    let values = || {
        plot.curves
            .iter()
            .flat_map(|curve| curve.points.iter().map(|point| point.0))
    };
    let shown = |value: &i64| plot.division == Division::Linear || *value > 0;
    let (Some(lo), Some(hi)) = (values().filter(shown).min(), values().max()) else {
        frame::ground(canvas, panel)?;
        return frame::nothing(canvas, panel, "nothing was measured");
    };
    let axis = Axis::new(plot.division, lo as f64, hi as f64, panel.left, panel.right);
    let fractions = Axis::new(Division::Linear, 0.0, 1.0, panel.bottom, panel.top);
    frame::x_grid(canvas, panel, &axis, plot.unit)?;
    frame::y_axis(canvas, panel, &fractions, Unit::Fraction, 5)?;
    frame::curves(canvas, panel, &axis, plot.unit)?;
    for curve in plot.curves.iter().filter(|curve| !curve.points.is_empty()) {
        let name = canvas.legend_name(curve.name.as_str(), 8.0);
        canvas.open("ln", &[("n", &name)])?;
        canvas.line(
            &steps(&curve.points, &axis, &fractions, panel.left),
            curve.tone.color(),
            1.8,
        )?;
        canvas.close()?;
    }
    canvas.close()?;
    frame::x_axis(canvas, panel, &axis, plot.unit)?;
    frame::x_title(canvas, panel, plot.label.as_str())
}
