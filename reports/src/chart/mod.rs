//! Charts: data in ([`ChartSpec`]), one drawing for every output.
//!
//! ```text
//! ChartSpec --draw()--> Canvas<any plotters DrawingBackend> --> SVG text  (svg.rs, for the HTML file)
//!                                                          \-> bitmap     (crate::png)
//! ```
//! A chart draws what it is given: bins, quantiles and fractions come computed. It may drop points that fall on the same pixel column
//! (`decimate.rs`), nothing else. Text is measured with the embedded font before it is placed; what does not fit is shortened with `…`.
//! No line is drawn across a hole in the data: a series is a list of segments, each drawn alone.

mod axis;
mod bars;
mod canvas;
mod decimate;
mod distribution;
mod ecdf;
pub(crate) mod font;
mod frame;
mod heat;
mod histograms;
mod hop_map;
mod lanes;
mod legend;
mod letters;
mod spec;
mod svg;
mod theme;
mod time_series;
mod waterfall;

pub use canvas::{Canvas, ChartError, TextBox};
pub use spec::*;
#[cfg(test)]
pub(crate) use svg::render;
pub use svg::svg;
pub use theme::Tone;

use plotters_backend::DrawingBackend;

/// Height of a chart in logical pixels (its width is its size's).
#[must_use]
pub fn height(spec: &ChartSpec) -> u32 {
    let body = match &spec.plot {
        Plot::Distribution(plot) => distribution::height(plot, spec.size),
        Plot::Ecdf(plot) => ecdf::height(plot, spec.size),
        Plot::Waterfall(plot) => waterfall::height(plot),
        Plot::TimeSeries(plot) => time_series::height(plot),
        Plot::Bars(plot) => bars::height(plot, spec.size),
        Plot::Heat(_) => heat::height(),
        Plot::Histograms(plot) => histograms::height(plot),
        Plot::HopMap(plot) => hop_map::height(plot),
    };
    canvas::header_height(spec) + body
}

/// Draws a chart; what text was placed where is in the canvas afterwards.
///
/// # Errors
/// When the backend cannot draw or the embedded font cannot be read.
pub fn draw<DB: DrawingBackend>(spec: &ChartSpec, canvas: &mut Canvas<DB>) -> Result<(), ChartError> {
    canvas.header(spec)?;
    match &spec.plot {
        Plot::Distribution(plot) => distribution::draw(plot, canvas),
        Plot::Ecdf(plot) => ecdf::draw(plot, canvas),
        Plot::Waterfall(plot) => waterfall::draw(plot, canvas),
        Plot::TimeSeries(plot) => time_series::draw(plot, canvas),
        Plot::Bars(plot) => bars::draw(plot, canvas),
        Plot::Heat(plot) => heat::draw(plot, canvas),
        Plot::Histograms(plot) => histograms::draw(plot, canvas),
        Plot::HopMap(plot) => hop_map::draw(plot, canvas),
    }
}

#[cfg(test)]
mod tests;
