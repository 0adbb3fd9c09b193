//! Value panels and event lanes over one another on one time axis. Holes of the recording are shaded; a line ends where its run of
//! samples ends, and the next run starts anew: nothing is drawn across silence. A run of one sample is a dot.

use plotters_backend::DrawingBackend;

use crate::chart::axis::Axis;
use crate::chart::canvas::{Canvas, ChartError};
use crate::chart::decimate::decimate;
use crate::chart::frame::{self, Frame};
use crate::chart::lanes;
use crate::chart::legend::Swatch;
use crate::chart::letters::{Align, Letters};
use crate::chart::spec::{Division, Line, Panel, Shape, Stroke, TimeSeries, Unit};
use crate::chart::theme;
use crate::clean::Text;

const FIRST_PANEL: f64 = 190.0;
const OTHER_PANEL: f64 = 100.0;
const PANEL_HEAD: f64 = 28.0;
const LANE: f64 = 20.0;
const LANES_HEAD: f64 = 10.0;
const LANES_LEGEND: f64 = 30.0;
const BELOW: f64 = 42.0;

/// Columns per logical pixel of which the extremes are kept: finer than a screen shows, for who zooms in.
const COLUMNS: f64 = 4.0;

fn panel_height(at: usize) -> f64 {
    if at == 0 { FIRST_PANEL } else { OTHER_PANEL }
}

pub fn height(plot: &TimeSeries) -> u32 {
    let panels: f64 = (0..plot.panels.len()).map(|at| panel_height(at) + PANEL_HEAD).sum();
    let head = if lanes::legend(plot).is_empty() {
        LANES_HEAD
    } else {
        LANES_LEGEND
    };
    let lanes = if plot.lanes.is_empty() {
        0.0
    } else {
        head + LANE * plot.lanes.len() as f64
    };
    (panels + lanes + BELOW) as u32
}

pub fn draw<DB: DrawingBackend>(plot: &TimeSeries, canvas: &mut Canvas<DB>) -> Result<(), ChartError> {
    let labels = plot
        .lanes
        .iter()
        .map(|lane| canvas.text_width(lane.label.as_str(), Letters::NOTE));
    let left = 16.0 + labels.fold(56.0, f64::max).min(120.0);
    let mut frame = Frame {
        left,
        top: 0.0,
        right: canvas.width() - 14.0,
        bottom: canvas.top(),
    };
    let time = Axis::new(
        Division::Linear,
        plot.start_ns as f64,
        plot.end_ns as f64,
        frame.left,
        frame.right,
    );

    frame::time(canvas, frame, (plot.start_ns, plot.end_ns))?;
    for (at, panel) in plot.panels.iter().enumerate() {
        frame.top = frame.bottom + PANEL_HEAD;
        frame.bottom = frame.top + panel_height(at);
        draw_panel(plot, panel, at == 0, canvas, frame, &time)?;
    }
    let spans = lanes::legend(plot);
    if !spans.is_empty() {
        canvas.legend(frame.left, frame.bottom + 8.0, &spans)?;
        frame.bottom += LANES_LEGEND;
    } else if !plot.lanes.is_empty() {
        frame.bottom += LANES_HEAD;
    }
    for lane in &plot.lanes {
        frame.top = frame.bottom;
        frame.bottom = frame.top + LANE;
        lanes::draw(plot, lane, canvas, frame, &time)?;
    }
    frame::time_axis(canvas, frame, &time)?;
    canvas.close()?;
    frame::x_title(canvas, frame, "time since the start of the recording")
}

fn draw_panel<DB: DrawingBackend>(
    plot: &TimeSeries,
    panel: &Panel,
    first: bool,
    canvas: &mut Canvas<DB>,
    frame: Frame,
    time: &Axis,
) -> Result<(), ChartError> {
    let label = canvas.fit(panel.label.as_str(), Letters::NOTE.colored(theme::INK), 260.0);
    canvas.text(
        8.0,
        frame.top - 11.0,
        Align::Start,
        Letters::NOTE.colored(theme::INK),
        &label,
    )?;
    let legend_from = frame.left.max(8.0 + canvas.text_width(&label, Letters::NOTE) + 24.0);
    canvas.legend(legend_from, frame.top - 21.0, &legend(plot, panel, first))?;

    let most = panel
        .lines
        .iter()
        .flat_map(|line| line.segments.iter().flatten())
        .map(|point| point.1);
    let most = most.filter(|value| value.is_finite()).fold(0.0, f64::max);
    let values = Axis::new(Division::Linear, 0.0, most * 1.05, frame.bottom, frame.top);
    canvas.open("grid", &[])?;
    frame::x_grid(canvas, frame, time, Unit::Nanoseconds)?;
    canvas.close()?;
    canvas.open("z", &[])?;
    lanes::gaps(plot, canvas, frame, time)?;
    canvas.close()?;
    frame::y_axis(canvas, frame, &values, panel.unit, if first { 5 } else { 3 })?;
    let span = format!(
        "{:.1} {:.1} {} {}",
        frame.top,
        frame.bottom,
        most * 1.05,
        panel.unit.word()
    );
    for line in &panel.lines {
        let name = canvas.legend_name(line.name.as_str(), legend_from);
        let shape = if line.shape == Shape::Step { "step" } else { "line" };
        let class = if line.stroke == Stroke::Bold {
            "z ln bold"
        } else {
            "z ln"
        };
        canvas.open(class, &[("n", &name), ("y", &span), ("s", shape)])?;
        draw_line(line, canvas, time, &values)?;
        canvas.close()?;
    }
    canvas.line(
        &[(frame.left, frame.bottom), (frame.right, frame.bottom)],
        theme::AXIS,
        1.0,
    )
}

fn legend(plot: &TimeSeries, panel: &Panel, first: bool) -> Vec<(Text, Swatch)> {
    let swatch = |line: &Line| match line.stroke {
        Stroke::Dashed => Swatch::Dashed(line.tone.color()),
        Stroke::Plain => Swatch::Line(line.tone.color()),
        Stroke::Bold => Swatch::Bold(line.tone.color()),
    };
    let mut entries: Vec<(Text, Swatch)> = Vec::new();
    if panel.lines.len() > 1 {
        entries.extend(panel.lines.iter().map(|line| (line.name.clone(), swatch(line))));
    }
    if let (true, Some(gap)) = (first, plot.gaps.first()) {
        entries.push((gap.label.clone(), Swatch::Box(lanes::shade(gap.tone.color()))));
    }
    entries
}

/// Every run of samples alone; the runs of one sample as dots.
fn draw_line<DB: DrawingBackend>(
    line: &Line,
    canvas: &mut Canvas<DB>,
    time: &Axis,
    values: &Axis,
) -> Result<(), ChartError> {
    let color = line.tone.color();
    let mut dots: Vec<(f64, f64)> = Vec::new();
    for segment in &line.segments {
        let points = decimate(&pixels(line.shape, segment, time, values), COLUMNS);
        match (points.as_slice(), line.stroke) {
            ([], _) => {}
            ([only], _) => dots.push(*only),
            (points, Stroke::Dashed) => canvas.dashes(points, color, 1.6)?,
            (points, Stroke::Plain) => canvas.line(points, color, 1.6)?,
            (points, Stroke::Bold) => canvas.line(points, color, 3.5)?,
        }
    }
    let radius = if line.stroke == Stroke::Bold { 3.0 } else { 2.0 };
    dots.sort_by(|a, b| a.0.total_cmp(&b.0));
    decimate(&dots, 1.0)
        .into_iter()
        .try_for_each(|dot| canvas.dot(dot, radius, color))
}

/// Samples as pixels; a step goes level to the next sample's time, then up or down.
fn pixels(shape: Shape, segment: &[(i64, f64)], time: &Axis, values: &Axis) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::with_capacity(segment.len() * 2);
    let shown = |(at, value): &&(i64, f64)| value.is_finite() && time.contains(*at as f64);
    for (at_ns, value) in segment.iter().filter(shown) {
        let point = (time.px(*at_ns as f64), values.px(*value));
        if let (Shape::Step, Some(before)) = (shape, points.last().copied()) {
            points.push((point.0, before.1));
        }
        points.push(point);
    }
    points
}
