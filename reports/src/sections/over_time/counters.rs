//! What the kernel counted between two readings, one panel for each counter: a few retransmissions beside thousands of squeezes would be no line.

use netmortem_analyzer::analyses::overtime::{Counted, Rate};

use crate::chart::{ChartSpec, Line, Panel, Plot, Shape, Size, Stroke, TimeSeries, Tone, Unit};
use crate::clean::Text;
use crate::document::Figure;
use crate::format;
use crate::sections::{Input, shared};

/// The figure; none where no reading tells, or nothing rose.
pub fn figure(input: &Input<'_>, counted: &Counted) -> Option<Figure> {
    if counted.counters.is_empty() {
        return None;
    }
    let panel = |(at, rate): (usize, &Rate)| Panel {
        label: Text::from(format!("{} per second, {}", rate.name, rose(rate))),
        unit: Unit::Count,
        lines: vec![Line {
            name: rate.name.into(),
            tone: Tone::nth(at),
            shape: Shape::Step,
            stroke: Stroke::Plain,
            segments: vec![steps(counted, rate)],
        }],
    };
    let plot = TimeSeries {
        start_ns: 0,
        end_ns: input.facts.capture.duration_ns,
        panels: counted.counters.iter().enumerate().map(panel).collect(),
        lanes: Vec::new(),
        gaps: Vec::new(),
    };
    let chart = ChartSpec {
        title: "What the kernel counted over time".into(),
        note: Some(Text::from(format!(
            "{} of the recorder, in its own network namespace, and in others as long as that cost little; softnet is of the whole host",
            shared::counted(counted.edges_ns.len().saturating_sub(2) as u64, "reading")
        ))),
        size: Size::Full,
        plot: Plot::TimeSeries(plot),
    };
    Some(shared::figure(
        "counted",
        chart,
        "Those of the counters of loss and shortage that rose, each with a scale of its own: the rise between two readings, divided by the \
         time between them. The first and the last part reach to the readings before and after the recording. Lost events change nothing here. \
         All counters: netmortem show counters_over_time INPUT.",
    ))
}

fn rose(rate: &Rate) -> String {
    let least = if rate.whole { "" } else { "at least " };
    format!("{least}{} in all", format::count(rate.rose))
}

fn steps(counted: &Counted, rate: &Rate) -> Vec<(i64, f64)> {
    let parts = counted.edges_ns.windows(2).zip(&rate.per_second);
    let ends = parts.flat_map(|(edges, rate)| edges.iter().map(|ns| (*ns, *rate)));
    ends.collect()
}
