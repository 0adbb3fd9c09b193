//! The names of series, each behind what it is drawn as.

use plotters_backend::{BackendColor, DrawingBackend};

use crate::chart::canvas::{Canvas, ChartError};
use crate::chart::letters::{Align, Letters};
use crate::clean::Text;

/// What stands before a name in a legend.
#[derive(Clone, Copy)]
pub enum Swatch {
    /// A filled box.
    Box(BackendColor),
    /// A low part of a bar.
    Low(BackendColor),
    /// A line.
    Line(BackendColor),
    /// A thick line.
    Bold(BackendColor),
    /// A dashed line.
    Dashed(BackendColor),
    /// A dot.
    Dot(BackendColor),
    /// An upright bar.
    Tick(BackendColor),
}

impl<DB: DrawingBackend> Canvas<'_, DB> {
    /// A name as [`Self::legend`] at `x` writes it: series are known to the script by it.
    pub fn legend_name(&self, name: &str, x: f64) -> String {
        self.fit(name, Letters::NOTE, (self.width() - 8.0 - x - 26.0).min(240.0))
    }

    /// A row of swatches with names, from `x` to the right edge; returns the height used (0 without entries).
    pub fn legend(&mut self, x: f64, y: f64, entries: &[(Text, Swatch)]) -> Result<f64, ChartError> {
        const ROW: f64 = 19.0;
        let (mut at, mut row) = (x, y + ROW / 2.0);
        let right = self.width() - 8.0;
        for (name, swatch) in entries {
            let name = self.legend_name(name.as_str(), x);
            let width = 22.0 + self.text_width(&name, Letters::NOTE);
            if at > x && at + width > right {
                at = x;
                row += ROW;
            }
            self.open("lg", &[("n", &name)])?;
            match swatch {
                Swatch::Box(color) => self.rect((at, row - 5.0), (at + 12.0, row + 5.0), *color)?,
                Swatch::Low(color) => self.rect((at, row - 2.0), (at + 12.0, row + 2.0), *color)?,
                Swatch::Bold(color) => self.line(&[(at, row), (at + 16.0, row)], *color, 3.5)?,
                Swatch::Line(color) => self.line(&[(at, row), (at + 16.0, row)], *color, 2.0)?,
                Swatch::Dashed(color) => self.dashes(&[(at, row), (at + 17.0, row)], *color, 2.0)?,
                Swatch::Dot(color) => self.dot((at + 8.0, row), 3.5, *color)?,
                Swatch::Tick(color) => self.rect((at + 7.0, row - 6.0), (at + 9.0, row + 6.0), *color)?,
            }
            self.text(at + 21.0, row, Align::Start, Letters::NOTE, &name)?;
            self.close()?;
            at += width + 16.0;
        }
        Ok(if entries.is_empty() { 0.0 } else { row - y + ROW / 2.0 })
    }
}
