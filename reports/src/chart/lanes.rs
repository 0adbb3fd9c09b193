//! Lanes of a time series: moments and intervals on the time axis, and the holes of the recording. What falls on the same pixels is one
//! rectangle, so that a lane of a million events costs no more than the pixels it has.

use plotters_backend::{BackendColor, DrawingBackend};

use crate::chart::axis::Axis;
use crate::chart::canvas::{Canvas, ChartError};
use crate::chart::frame::{self, Frame};
use crate::chart::legend::Swatch;
use crate::chart::letters::{Align, Letters};
use crate::chart::spec::{Lane, Span, TimeSeries};
use crate::chart::theme::Tone;
use crate::clean::Text;

/// Kinds of intervals named in the legend.
const KINDS: usize = 8;

/// The kinds of intervals in the lanes.
pub fn legend(plot: &TimeSeries) -> Vec<(Text, Swatch)> {
    let mut kinds: Vec<(Text, Tone)> = Vec::new();
    let named = plot.lanes.iter().flat_map(|lane| &lane.spans);
    for span in named.filter(|span| !span.label.is_empty()) {
        if kinds.len() < KINDS
            && !kinds
                .iter()
                .any(|(label, tone)| *label == span.label && *tone == span.tone)
        {
            kinds.push((span.label.clone(), span.tone));
        }
    }
    let boxes = kinds
        .into_iter()
        .map(|(label, tone)| (label, Swatch::Box(tone.color())));
    boxes.collect()
}

/// The colour of a hole over data.
pub fn shade(color: BackendColor) -> BackendColor {
    BackendColor { alpha: 0.28, ..color }
}

/// Shades the holes of the recording; one too short to be seen is drawn wider, because it matters as much.
pub fn gaps<DB: DrawingBackend>(
    plot: &TimeSeries,
    canvas: &mut Canvas<DB>,
    frame: Frame,
    time: &Axis,
) -> Result<(), ChartError> {
    let Some(first) = plot.gaps.first() else { return Ok(()) };
    for (from, to) in runs(plot.gaps.iter().filter_map(|gap| pixels(gap, time, 1.5))) {
        canvas.rect((from, frame.top), (to, frame.bottom), shade(first.tone.color()))?;
    }
    Ok(())
}

/// One lane.
pub fn draw<DB: DrawingBackend>(
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
    let middle = (frame.top + frame.bottom) / 2.0;
    let label = canvas.fit(lane.label.as_str(), Letters::NOTE, frame.left - 14.0);
    canvas.text(frame.left - 6.0, middle, Align::End, Letters::NOTE, &label)?;
    frame::ground(canvas, inner)?;
    canvas.open(
        "z ln",
        &[
            ("n", lane.label.as_str()),
            ("y", &format!("{:.1} {:.1}", frame.top, frame.bottom)),
        ],
    )?;
    gaps(plot, canvas, inner, time)?;
    // Grave over harmless where both fall on one pixel: red is drawn last.
    let mut tones = Tone::ALL;
    tones.sort_by_key(|tone| *tone == Tone::Red);
    for tone in tones {
        let of_tone = lane.spans.iter().filter(|span| span.tone == tone);
        for (from, to) in runs(of_tone.filter_map(|span| pixels(span, time, 1.0))) {
            canvas.rect((from, inner.top), (to, inner.bottom), tone.color())?;
        }
    }
    let moments = lane.points.iter().filter(|at| time.contains(**at as f64));
    let moments = moments.map(|at| time.px(*at as f64)).map(|x| (x - 0.75, x + 0.75));
    for (from, to) in runs(moments) {
        canvas.rect((from, inner.top), (to, inner.bottom), lane.tone.color())?;
    }
    canvas.close()?;
    canvas.open("zt", &[])?;
    for span in &lane.spans {
        let Some((from, to)) = pixels(span, time, 0.0) else {
            continue;
        };
        let letters = Letters {
            size: 11.0,
            bold: false,
            color: span.tone.letters(),
        };
        if to - from > 20.0 && canvas.text_width(span.label.as_str(), letters) + 6.0 < to - from {
            canvas.text((from + to) / 2.0, middle, Align::Middle, letters, span.label.as_str())?;
        }
    }
    canvas.close()
}

/// Where an interval is drawn, at least `least` wide; nowhere when it lies outside the axis.
fn pixels(span: &Span, time: &Axis, least: f64) -> Option<(f64, f64)> {
    let outside = !time.reaches(span.from_ns as f64, span.to_ns as f64);
    let (from, to) = (time.px(span.from_ns as f64), time.px(span.to_ns as f64));
    (!outside).then_some((from, to.max(from + least)))
}

/// Intervals of pixels, those that touch or overlap as one; order of the input does not matter.
fn runs(intervals: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut sorted: Vec<(f64, f64)> = intervals.collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut merged: Vec<(f64, f64)> = Vec::new();
    for (from, to) in sorted {
        match merged.last_mut() {
            // An eighth of a pixel cannot be seen between them, and half a one only by who zooms in.
            Some(run) if from <= run.1 + 0.125 => run.1 = run.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}
