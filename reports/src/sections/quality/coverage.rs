//! A lane per CPU: what is recorded, and the holes.

use std::collections::BTreeMap;

use super::super::shared::figure;
use crate::chart::{ChartSpec, Lane, Plot, Size, Span, TimeSeries, Tone};
use crate::clean::Text;
use crate::document::Figure;
use crate::sections::Input;

/// CPUs drawn at most: those with gaps first.
const CPUS: usize = 32;

const CAPTION: &str =
    "Teal: recorded. Red: events of that CPU are missing; a loss too short to be seen is drawn wider than it is.";

pub fn picture(input: &Input<'_>) -> Figure {
    let capture = &input.facts.capture;
    let gaps = &input.facts.gaps;
    // First and last record of each CPU, over its ring buffers that are used.
    let mut covered: BTreeMap<u32, Option<(i64, i64)>> = BTreeMap::new();
    for stream in capture.streams.iter().filter(|stream| stream.used) {
        let of_cpu = covered.entry(stream.cpu).or_default();
        if let Some((from, to)) = stream.first_ns.zip(stream.last_ns) {
            *of_cpu = Some(of_cpu.map_or((from, to), |(first, last)| (first.min(from), last.max(to))));
        }
    }
    let mut cpus: Vec<(u32, Option<(i64, i64)>)> = covered.into_iter().collect();
    let whole = cpus.len();
    if whole > CPUS {
        cpus.sort_by_key(|(cpu, _)| (!gaps.iter().any(|gap| gap.cpu == *cpu), *cpu));
        cpus.truncate(CPUS);
    }
    let (start, end) = (capture.start_ns.unwrap_or(0), capture.end_ns.unwrap_or(0));
    let lane = |(cpu, covered): &(u32, Option<(i64, i64)>)| {
        let holes = gaps.iter().filter(|gap| gap.cpu == *cpu);
        let holes = holes.map(|gap| {
            span(
                input,
                gap.start_ns.unwrap_or(start),
                gap.end_ns.unwrap_or(end),
                Tone::Red,
            )
        });
        let covered = covered.map(|(from, to)| span(input, from, to, Tone::Teal));
        Lane {
            label: Text::from(format!("CPU {cpu}")),
            tone: Tone::Red,
            points: Vec::new(),
            spans: covered.into_iter().chain(holes).collect(),
        }
    };
    let plot = TimeSeries {
        start_ns: 0,
        end_ns: capture.duration_ns,
        panels: Vec::new(),
        lanes: cpus.iter().map(lane).collect(),
        gaps: Vec::new(),
    };
    let chart = ChartSpec {
        title: "Where events are missing".into(),
        note: (whole > CPUS).then(|| Text::from(format!("{CPUS} of {whole} CPUs, those with losses first"))),
        size: Size::Full,
        plot: Plot::TimeSeries(plot),
    };
    figure("coverage", chart, CAPTION)
}

fn span(input: &Input<'_>, from: i64, to: i64, tone: Tone) -> Span {
    Span {
        from_ns: input.since_start(from),
        to_ns: input.since_start(to),
        tone,
        label: Text::default(),
    }
}
