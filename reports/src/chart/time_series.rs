//! Value panels and event lanes over one another on one time axis. Holes of the recording are shaded; a line ends where its run of
//! samples ends, and the next run starts anew: nothing is drawn across silence. A run of one sample is a dot.

use plotters_backend::DrawingBackend;

use crate::chart::axis::Axis;
use crate::chart::canvas::{Align, Canvas, ChartError, Letters, Swatch};
use crate::chart::decimate::decimate;
use crate::chart::frame::{self, Frame};
use crate::chart::spec::{Division, Lane, Line, Panel, Shape, Stroke, TimeSeries, Unit};
use crate::chart::theme::{self, Tone};
use crate::clean::Text;

const FIRST_PANEL: f64 = 190.0;
const OTHER_PANEL: f64 = 100.0;
const PANEL_HEAD: f64 = 28.0;
const LANE: f64 = 20.0;
const LANES_HEAD: f64 = 10.0;
const LANES_LEGEND: f64 = 30.0;
const BELOW: f64 = 42.0;

fn panel_height(at: usize) -> f64 {
    if at == 0 { FIRST_PANEL } else { OTHER_PANEL }
}

pub fn height(plot: &TimeSeries) -> u32 {
    let panels: f64 = (0..plot.panels.len()).map(|at| panel_height(at) + PANEL_HEAD).sum();
    let head = if span_legend(plot).is_empty() {
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

    for (at, panel) in plot.panels.iter().enumerate() {
        frame.top = frame.bottom + PANEL_HEAD;
        frame.bottom = frame.top + panel_height(at);
        draw_panel(plot, panel, at == 0, canvas, frame, &time)?;
    }
    let spans = span_legend(plot);
    if !spans.is_empty() {
        canvas.legend(frame.left, frame.bottom + 8.0, &spans)?;
        frame.bottom += LANES_LEGEND;
    } else if !plot.lanes.is_empty() {
        frame.bottom += LANES_HEAD;
    }
    for lane in &plot.lanes {
        frame.top = frame.bottom;
        frame.bottom = frame.top + LANE;
        draw_lane(plot, lane, canvas, frame, &time)?;
    }
    frame::x_axis(canvas, frame, &time, Unit::Nanoseconds)?;
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
    frame::x_grid(canvas, frame, time, Unit::Nanoseconds)?;
    gaps(plot, canvas, frame, time)?;
    frame::y_axis(canvas, frame, &values, panel.unit, if first { 5 } else { 3 })?;
    for line in &panel.lines {
        for segment in &line.segments {
            draw_segment(line, segment, canvas, time, &values)?;
        }
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
        entries.push((gap.label.clone(), Swatch::Box(hatch(gap.tone.color()))));
    }
    entries
}

/// The kinds of intervals in the lanes.
fn span_legend(plot: &TimeSeries) -> Vec<(Text, Swatch)> {
    let mut kinds: Vec<(Text, Tone)> = Vec::new();
    for span in plot
        .lanes
        .iter()
        .flat_map(|lane| &lane.spans)
        .filter(|span| !span.label.is_empty())
    {
        let kind = (span.label.clone(), span.tone);
        if !kinds.contains(&kind) && kinds.len() < 8 {
            kinds.push(kind);
        }
    }
    kinds
        .into_iter()
        .map(|(label, tone)| (label, Swatch::Box(tone.color())))
        .collect()
}

fn hatch(color: plotters_backend::BackendColor) -> plotters_backend::BackendColor {
    plotters_backend::BackendColor { alpha: 0.28, ..color }
}

fn gaps<DB: DrawingBackend>(
    plot: &TimeSeries,
    canvas: &mut Canvas<DB>,
    frame: Frame,
    time: &Axis,
) -> Result<(), ChartError> {
    for gap in &plot.gaps {
        let (from, to) = (time.px(gap.from_ns as f64), time.px(gap.to_ns as f64));
        // A gap too short to see is as important as a long one.
        canvas.rect(
            (from, frame.top),
            (to.max(from + 1.5), frame.bottom),
            hatch(gap.tone.color()),
        )?;
    }
    Ok(())
}

fn draw_segment<DB: DrawingBackend>(
    line: &Line,
    segment: &[(i64, f64)],
    canvas: &mut Canvas<DB>,
    time: &Axis,
    values: &Axis,
) -> Result<(), ChartError> {
    let mut points: Vec<(f64, f64)> = Vec::with_capacity(segment.len() * 2);
    for (at_ns, value) in segment
        .iter()
        .filter(|(at, value)| value.is_finite() && time.contains(*at as f64))
    {
        let point = (time.px(*at_ns as f64), values.px(*value));
        if let (Shape::Step, Some(before)) = (line.shape, points.last().copied()) {
            points.push((point.0, before.1));
        }
        points.push(point);
    }
    let points = decimate(&points, 2.0);
    let color = line.tone.color();
    match points.as_slice() {
        [] => Ok(()),
        [only] => canvas.dot(*only, if line.stroke == Stroke::Bold { 3.0 } else { 2.0 }, color),
        points => match line.stroke {
            Stroke::Dashed => canvas.dashes(points, color, 1.6),
            Stroke::Plain => canvas.line(points, color, 1.6),
            Stroke::Bold => canvas.line(points, color, 3.5),
        },
    }
}

fn draw_lane<DB: DrawingBackend>(
    plot: &TimeSeries,
    lane: &Lane,
    canvas: &mut Canvas<DB>,
    frame: Frame,
    time: &Axis,
) -> Result<(), ChartError> {
    let inner = Frame {
        top: frame.top + 2.0,
        bottom: frame.bottom - 2.0,
        ..frame
    };
    frame::ground(canvas, inner)?;
    gaps(plot, canvas, inner, time)?;
    let middle = (frame.top + frame.bottom) / 2.0;
    let label = canvas.fit(lane.label.as_str(), Letters::NOTE, frame.left - 14.0);
    canvas.text(frame.left - 6.0, middle, Align::End, Letters::NOTE, &label)?;
    for span in &lane.spans {
        let (from, to) = (time.px(span.from_ns as f64), time.px(span.to_ns as f64));
        canvas.rect((from, inner.top), (to.max(from + 1.0), inner.bottom), span.tone.color())?;
        let letters = Letters {
            size: 11.0,
            bold: false,
            color: theme::ON_TONE,
        };
        if canvas.text_width(span.label.as_str(), letters) + 6.0 < to - from {
            canvas.text((from + to) / 2.0, middle, Align::Middle, letters, span.label.as_str())?;
        }
    }
    let mut before = f64::NEG_INFINITY;
    for at_ns in lane.points.iter().filter(|at| time.contains(**at as f64)) {
        let x = time.px(*at_ns as f64);
        if x - before >= 0.5 {
            canvas.rect((x - 0.75, inner.top), (x + 0.75, inner.bottom), lane.tone.color())?;
            before = x;
        }
    }
    Ok(())
}
