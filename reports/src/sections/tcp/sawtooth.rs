//! One sender's picture.

use netmortem_analyzer::analyses::tcp::{Connection, Sawtooth, Segment};

use super::super::shared::{counted, figure, gaps, words};
use crate::chart::{ChartSpec, Lane, Line, Panel, Plot, Shape, Size, Span, Stroke, TimeSeries, Tone, Unit};
use crate::clean::Text;
use crate::document::Figure;
use crate::format;
use crate::sections::Input;

const CAPTION: &str = "cwnd and ssthresh are the kernel's own values (tcp_probe). A line ends where samples end: where events were lost (shaded) or the \
    socket was silent. ssthresh is drawn only while the kernel reduces the window (a dot where it was chosen); outside of that the event's value follows cwnd.";

pub fn picture(input: &Input<'_>, at: usize, data: &Sawtooth, connection: Option<&Connection>) -> Figure {
    let (start_ns, end_ns) = (input.since_start(data.window_ns.0), input.since_start(data.window_ns.1));
    let line = |name: &str, tone, stroke, segments: &[Segment], scale: f64| Line {
        name: name.into(),
        tone,
        shape: Shape::Step,
        stroke,
        segments: segments
            .iter()
            .map(|run| {
                run.iter()
                    .map(|(at, v)| (input.since_start(*at), f64::from(*v) * scale))
                    .collect()
            })
            .collect(),
    };
    let gaps = gaps(input);
    let mut ssthresh = line("ssthresh", Tone::Orange, Stroke::Bold, &data.ssthresh, 1.0);
    // A recovery may be shorter than a pixel: the threshold it chose is a dot besides.
    let chosen = data
        .reductions
        .iter()
        .filter_map(|reduction| Some((reduction.time_ns, reduction.ssthresh?)));
    ssthresh
        .segments
        .extend(chosen.map(|(at, packets)| vec![(input.since_start(at), f64::from(packets))]));
    let plot = TimeSeries {
        start_ns,
        end_ns,
        panels: vec![
            Panel {
                label: "window, packets".into(),
                unit: Unit::Count,
                lines: vec![line("cwnd", Tone::Blue, Stroke::Plain, &data.cwnd, 1.0), ssthresh],
            },
            Panel {
                label: "smoothed RTT".into(),
                unit: Unit::Nanoseconds,
                lines: vec![line("srtt", Tone::Purple, Stroke::Plain, &data.srtt_us, 1e3)],
            },
        ],
        lanes: lanes(input, data, &gaps, (start_ns, end_ns)),
        gaps,
    };
    let chart = ChartSpec {
        title: Text::from(&data.label),
        note: Some(note(data, connection)),
        size: Size::Full,
        plot: Plot::TimeSeries(plot),
    };
    figure(format!("sawtooth-{at}"), chart, CAPTION)
}

fn note(data: &Sawtooth, connection: Option<&Connection>) -> Text {
    let mut parts = Vec::new();
    if let Some(connection) = connection {
        if !connection.task.is_empty() {
            parts.push(Text::name(&connection.task).to_string());
        }
        parts.extend(connection.bytes_out.map(|n| format!("{} sent", format::bytes(n))));
        let calls = connection.retransmits.map(|n| counted(n, "call"));
        parts.extend(calls.map(|calls| match connection.retransmit_segments {
            Some(n) => format!("{} retransmitted by {calls}", counted(n, "segment")),
            None => format!("retransmitted by {calls}, segments not known"),
        }));
    }
    parts.push(format!("{} samples", format::count(data.samples)));
    if data.thinned {
        parts.push("thinned to the extremes of each time bin".to_owned());
    }
    Text::from(parts.join(" · "))
}

fn lanes(input: &Input<'_>, data: &Sawtooth, gaps: &[Span], (start_ns, end_ns): (i64, i64)) -> Vec<Lane> {
    let points = |label: String, tone, points: Vec<i64>| Lane {
        label: label.into(),
        tone,
        points,
        spans: Vec::new(),
    };
    let mut lanes = vec![Lane {
        label: "state".into(),
        tone: Tone::Grey,
        points: Vec::new(),
        spans: states(input, data, gaps, end_ns),
    }];
    let mut classes: Vec<&'static str> = data.retransmits.iter().map(|(_, class)| *class).collect();
    classes.sort_unstable();
    classes.dedup();
    for class in &classes {
        let of_class = data.retransmits.iter().filter(|(_, other)| other == class);
        lanes.push(points(
            format!("rtx {}", words(class)),
            Tone::Red,
            of_class.map(|(at, _)| input.since_start(*at)).collect(),
        ));
    }
    if classes.is_empty() {
        lanes.push(points("retransmits".to_owned(), Tone::Red, Vec::new()));
    }
    let lost = input
        .facts
        .drops
        .iter()
        .filter(|row| row.expected == Some(false))
        .map(|row| input.since_start(row.time_ns));
    let lost: Vec<i64> = lost.filter(|at| (start_ns..=end_ns).contains(at)).collect();
    lanes.push(points("host drops".to_owned(), Tone::Green, lost));
    lanes
}

/// Every state but Open as an interval: until the next change, the next gap (after it the state is not known) or the end.
fn states(input: &Input<'_>, data: &Sawtooth, gaps: &[Span], end_ns: i64) -> Vec<Span> {
    let mut spans = Vec::new();
    for (at, (time_ns, name)) in data.states.iter().enumerate() {
        let from_ns = input.since_start(*time_ns);
        let next = data
            .states
            .get(at + 1)
            .map_or(end_ns, |(next, _)| input.since_start(*next));
        let gap = gaps
            .iter()
            .map(|gap| gap.from_ns)
            .find(|gap| *gap >= from_ns)
            .unwrap_or(i64::MAX);
        if let Some(tone) = state_tone(name) {
            spans.push(Span {
                from_ns,
                to_ns: next.min(gap),
                tone,
                label: (*name).into(),
            });
        }
    }
    spans
}

/// The colour of a congestion state; `None`: not drawn.
fn state_tone(name: &str) -> Option<Tone> {
    match name.trim_start_matches("TCP_CA_") {
        "Open" => None,
        "Disorder" => Some(Tone::Teal),
        "CWR" => Some(Tone::Purple),
        "Recovery" => Some(Tone::Brown),
        "Loss" => Some(Tone::Red),
        _ => Some(Tone::Grey),
    }
}
