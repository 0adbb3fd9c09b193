//! What happened when: heat maps of latency over time, how busy each CPU was with network softirqs, what lay in the sockets' queues, where
//! drops and retransmits fell, and what the kernel counted each second. In: `Answers::over_time`, and from the fact tables moments of drops, retransmits and polls.
//!
//! ```text
//! heat map of receive | heat map of transmit | panels: softirq share per CPU, bytes and packets in queues; lanes: softirqs per CPU, whole budgets, ...
//!                                            | panels: rise per second of each counter that tells of trouble and rose
//! ```
//! All of them, and the sawtooths of TCP, share one time axis.

use netmortem_analyzer::analyses::overtime::{BINS, Busy, DEVICES, HeatCell, Lay, OverTime, Polled, QUEUES};

use super::shared::{figure, gaps};
use crate::chart::{self, ChartSpec, Heat, Lane, Line, Panel, Plot, Shape, Size, Span, Stroke, TimeSeries, Tone, Unit};
use crate::clean::Text;
use crate::document::{Block, Figure, Section};
use crate::format;
use crate::sections::Input;

mod counters;

/// CPUs with lines and lanes, those busiest with network softirqs.
const CPUS: usize = 6;
/// Moments of a lane; more fall on the same pixels and are thinned to one for each of this many parts of the recording.
const MOMENTS: i64 = 5_600;

/// Builds the section.
#[must_use]
pub fn section(input: &Input<'_>) -> Section {
    let data = &input.answers.over_time;
    let bin = format::duration(data.bin_ns);
    let mut blocks = Vec::new();
    blocks.extend(heat(
        input,
        "receive",
        "Latency of received packets over time",
        "units",
        &data.receive,
    ));
    blocks.extend(heat(
        input,
        "transmit",
        "Latency of sent TCP segments over time",
        "segments",
        &data.transmit,
    ));
    blocks.extend(lanes(input, data));
    blocks.extend(counters::figure(input, &data.counted));
    let lead = match blocks.is_empty() {
        true => "Nothing in this recording can be drawn over time.".to_owned(),
        false => format!(
            "One time axis for all charts over time: zoom into one and all follow. Data are counted in {BINS} parts of the recording, {bin} each; nothing is sampled."
        ),
    };
    Section {
        id: "over-time",
        title: "Over time".into(),
        lead: lead.into(),
        blocks: blocks
            .into_iter()
            .map(|figure| Block::Figure(Box::new(figure)))
            .collect(),
    }
}

fn heat(input: &Input<'_>, id: &str, title: &str, counted: &str, cells: &[HeatCell]) -> Option<Figure> {
    if cells.is_empty() {
        return None;
    }
    let plot = Heat {
        label: "whole time, log scale".into(),
        counted: counted.into(),
        start_ns: 0,
        end_ns: input.facts.capture.duration_ns,
        bin_ns: input.answers.over_time.bin_ns,
        cells: cells
            .iter()
            .map(|cell| chart::HeatCell {
                bin: cell.bin,
                lo: cell.lo_ns,
                hi: cell.hi_ns,
                count: cell.count,
            })
            .collect(),
    };
    let n: u64 = cells.iter().map(|cell| cell.count).sum();
    let chart = ChartSpec {
        title: title.into(),
        note: Some(Text::from(format!(
            "n = {}, by their start; of all confidences",
            format::count(n)
        ))),
        size: Size::Full,
        plot: Plot::Heat(plot),
    };
    Some(figure(
        id,
        chart,
        "The stronger the colour, the more. Rows are half an octave high. What has no whole time in the recording is not in it.",
    ))
}

/// Moments as pixels have them.
fn thinned(input: &Input<'_>, moments: impl Iterator<Item = i64>) -> Vec<i64> {
    let part = (input.facts.capture.duration_ns / MOMENTS).max(1);
    let mut kept: Vec<i64> = moments.map(|ns| input.since_start(ns)).collect();
    kept.sort_unstable();
    kept.dedup_by_key(|ns| *ns / part);
    kept
}

fn lanes(input: &Input<'_>, data: &OverTime) -> Option<Figure> {
    let capture = &input.facts.capture;
    let gaps = gaps(input);
    let mut busiest: Vec<(f64, u16)> = Vec::new();
    for busy in &data.softirqs {
        let sum: f64 = busy.share.iter().sum();
        match busiest.iter_mut().find(|(_, cpu)| *cpu == busy.cpu) {
            Some((whole, _)) => *whole += sum,
            None => busiest.push((sum, busy.cpu)),
        }
    }
    busiest.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let left_out = busiest.len().saturating_sub(CPUS);
    let mut cpus: Vec<u16> = busiest.into_iter().take(CPUS).map(|(_, cpu)| cpu).collect();
    cpus.sort_unstable();

    let share = |(at, cpu): (usize, &u16)| {
        let of = || data.softirqs.iter().filter(|busy| busy.cpu == *cpu);
        let sum = |bin: usize| of().filter_map(|busy| busy.share.get(bin)).sum::<f64>().min(1.0);
        Line {
            name: Text::from(format!("CPU {cpu}")),
            tone: Tone::nth(at),
            shape: Shape::Step,
            stroke: Stroke::Plain,
            segments: runs(data.bin_ns, capture.duration_ns, &gaps, sum),
        }
    };
    let mut panels = Vec::new();
    if !cpus.is_empty() {
        panels.push(Panel {
            label: "share of a CPU in NET_RX and NET_TX".into(),
            unit: Unit::Fraction,
            lines: cpus.iter().enumerate().map(share).collect(),
        });
    }
    let queues = [
        ("readable, not read yet", Tone::Teal, &data.receive_queue),
        ("sent, not acknowledged yet", Tone::Purple, &data.unacknowledged),
    ];
    let lines: Vec<Line> = queues
        .into_iter()
        .filter(|(_, _, bins)| !bins.is_empty())
        .map(|(name, tone, bins)| Line {
            name: name.into(),
            tone,
            shape: Shape::Step,
            stroke: Stroke::Plain,
            segments: runs(data.bin_ns, capture.duration_ns, &gaps, |bin| {
                bins.get(bin).copied().unwrap_or(0) as f64
            }),
        })
        .collect();
    if !lines.is_empty() {
        panels.push(Panel {
            label: "most bytes in socket queues".into(),
            unit: Unit::Bytes,
            lines,
        });
    }
    let queues = data.device_queues.iter().enumerate();
    let lines: Vec<Line> = queues.map(|(nth, lay)| queue(input, data, &gaps, nth, lay)).collect();
    let label = match lines.as_slice() {
        [] => None,
        // A line alone has no legend.
        [one] => Some(Text::from(format!("most packets in the queue of {}", one.name))),
        _ => Some("most packets in queues of devices".into()),
    };
    panels.extend(label.map(|label| Panel {
        label,
        unit: Unit::Count,
        lines,
    }));
    let mut rows: Vec<Lane> = data
        .softirqs
        .iter()
        .filter(|busy| cpus.contains(&busy.cpu))
        .map(stretches)
        .collect();
    rows.extend(data.polls.iter().map(polls));
    rows.extend(moments(input, &cpus));
    if panels.is_empty() && rows.is_empty() {
        return None;
    }
    let cpus_told = match left_out {
        0 => String::new(),
        n => format!("The {CPUS} CPUs busiest with network softirqs; {n} more are in the table of NAPI and softirq. "),
    };
    let devices_told = match data.polls_left_out {
        0 => String::new(),
        n => format!("The {DEVICES} devices polled longest; {n} more are in that table."),
    };
    let told = format!("{cpus_told}{devices_told}");
    let note = (!told.is_empty()).then(|| Text::from(told.trim_end().to_owned()));
    let plot = TimeSeries {
        start_ns: 0,
        end_ns: capture.duration_ns,
        panels,
        lanes: rows,
        gaps,
    };
    let chart = ChartSpec {
        title: "CPUs, queues and trouble over time".into(),
        note,
        size: Size::Full,
        plot: Plot::TimeSeries(plot),
    };
    let caption = format!(
        "Lines: the share, and the largest size, of each of {BINS} parts of the recording; none where events were lost. Lanes: softirqs by CPU, and polls by device on any CPU; stretches nearer than {} are drawn as one. What a socket's queues held is known of units whose read or acknowledgement was seen; what a device's queue held (of the {QUEUES} fullest), of packets that were seen given to the driver.",
        format::duration(data.joined_ns)
    );
    Some(figure("lanes", chart, &caption))
}

/// What lay in the queue of a device.
fn queue(input: &Input<'_>, data: &OverTime, gaps: &[Span], nth: usize, lay: &Lay) -> Line {
    // Devices of two namespaces may share their name; an index then tells them apart.
    let twice = data.device_queues.iter().filter(|other| other.dev == lay.dev).count() > 1;
    let index = lay
        .ifindex
        .filter(|_| twice)
        .map_or_else(String::new, |n| format!(" (index {n})"));
    let dev = if lay.dev.is_empty() {
        "device not known"
    } else {
        &lay.dev
    };
    let kind = if lay.qdisc.is_empty() {
        String::new()
    } else {
        format!(" {}", lay.qdisc)
    };
    Line {
        name: Text::name(&format!("{dev}{index}{kind}")),
        tone: Tone::nth(nth),
        shape: Shape::Step,
        stroke: Stroke::Plain,
        segments: runs(data.bin_ns, input.facts.capture.duration_ns, gaps, |bin| {
            lay.packets.get(bin).copied().unwrap_or(0) as f64
        }),
    }
}

/// Values of bins as a line; no value where events of any CPU were lost.
fn runs(bin_ns: i64, duration_ns: i64, gaps: &[Span], value: impl Fn(usize) -> f64) -> Vec<Vec<(i64, f64)>> {
    let mut runs: Vec<Vec<(i64, f64)>> = Vec::new();
    let mut run: Vec<(i64, f64)> = Vec::new();
    for bin in 0..BINS {
        let from = (bin as i64).saturating_mul(bin_ns);
        let to = from.saturating_add(bin_ns).min(duration_ns);
        if from >= duration_ns {
            break;
        }
        if gaps.iter().any(|gap| gap.from_ns < to && gap.to_ns > from) {
            runs.push(std::mem::take(&mut run));
            continue;
        }
        run.push((from, value(bin)));
        run.push((to, value(bin)));
    }
    runs.push(run);
    runs.retain(|run| !run.is_empty());
    runs
}

fn stretches(busy: &Busy) -> Lane {
    let tone = if busy.vector == "NET_RX" {
        Tone::Blue
    } else {
        Tone::Orange
    };
    Lane {
        label: Text::from(format!("CPU {} {}", busy.cpu, busy.vector.trim_start_matches("NET_"))),
        tone,
        points: Vec::new(),
        spans: spans(&busy.stretches, tone),
    }
}

fn polls(of: &Polled) -> Lane {
    let dev = match of.dev.as_str() {
        "(no_device)" => "backlog",
        "" => "not known",
        dev => dev,
    };
    Lane {
        label: Text::name(&format!("poll {dev}")),
        tone: Tone::Teal,
        points: Vec::new(),
        spans: spans(&of.stretches, Tone::Teal),
    }
}

fn spans(stretches: &[(i64, i64)], tone: Tone) -> Vec<Span> {
    let span = |(from, to): &(i64, i64)| Span {
        from_ns: *from,
        to_ns: *to,
        tone,
        label: Text::default(),
    };
    stretches.iter().map(span).collect()
}

fn moments(input: &Input<'_>, cpus: &[u16]) -> Vec<Lane> {
    let facts = input.facts;
    let lane = |label: &str, tone, points| Lane {
        label: label.into(),
        tone,
        points,
        spans: Vec::new(),
    };
    let spent = facts.polls.iter().filter(|poll| {
        cpus.contains(&poll.cpu)
            && poll
                .budget
                .zip(poll.work)
                .is_some_and(|(budget, work)| budget > 0 && work >= budget)
    });
    let lost = facts.drops.iter().filter(|row| row.expected == Some(false));
    let (start, end) = (facts.capture.start_ns, facts.capture.end_ns);
    let inside = |at: i64| start.is_none_or(|ns| at >= ns) && end.is_none_or(|ns| at <= ns);
    let changed = facts
        .announced
        .rows
        .iter()
        .filter(|row| !row.comes_and_goes && inside(row.at_ns));
    [
        lane("full polls", Tone::Brown, thinned(input, spent.map(|poll| poll.end_ns))),
        lane(
            "retransmits",
            Tone::Red,
            thinned(input, facts.retransmits.iter().map(|row| row.time_ns)),
        ),
        lane(
            "changes of host",
            Tone::Purple,
            thinned(input, changed.map(|row| row.at_ns)),
        ),
        lane("host drops", Tone::Green, thinned(input, lost.map(|row| row.time_ns))),
    ]
    .into_iter()
    .filter(|lane| !lane.points.is_empty())
    .collect()
}

#[cfg(test)]
mod tests;
