//! NAPI and softirq: work per poll and budget exhaustion per device, run time and start delay of the network softirqs per CPU. In: `Answers::napi`, `cpus`, `forwarding`.

use netmortem_analyzer::analyses::Outcome;
use netmortem_analyzer::analyses::napi::{CpuVector, DevicePolls, Napi, NapiThread};
use netmortem_analyzer::reconstruct::thread::IDLE;

mod cpus;
mod forwarding;
mod squeezes;

use super::shared::{compared, counted, figure, had_cpu, id_cell, name_cell, truncation, unanswered, words};
use crate::chart::{BarRow, Bars, Bin, ChartSpec, Distribution, Division, Plot, Size, Tone, Unit};
use crate::clean::Text;
use crate::document::{Block, Cell, Column, Figure, Section, Table};
use crate::format;
use crate::sections::Input;

const ID: &str = "napi";
const TITLE: &str = "NAPI and softirq";
/// Devices with a picture of their polls.
const DEVICES: usize = 6;
/// CPUs in a picture of bars.
const CPUS: usize = 32;
/// Curves in a picture.
const CURVES: usize = 6;
/// Parts of a softirq's wait in the analyzer's words and order.
const PARTS: [(&str, Tone); 7] = [
    ("irq", Tone::Blue),
    ("softirq", Tone::Orange),
    ("bh_off", Tone::Purple),
    ("ksoftirqd", Tone::Brown),
    ("task", Tone::Green),
    ("idle", Tone::Teal),
    ("unknown", Tone::Grey),
];
/// Rows of the tables.
const ROWS: usize = 64;

/// Builds the section.
#[must_use]
pub fn section(input: &Input<'_>) -> Section {
    match &input.answers.napi {
        Outcome::Unknown(reasons) => unanswered(ID, TITLE, reasons),
        Outcome::Findings(napi) => Section {
            id: ID,
            title: TITLE.into(),
            lead: lead(napi),
            blocks: blocks(napi, input),
        },
    }
}

fn lead(napi: &Napi) -> Text {
    let (polls, exhausted): (u64, u64) = napi.devices.iter().fold((0, 0), |(polls, exhausted), device| {
        (polls + device.polls, exhausted + device.exhausted)
    });
    Text::from(format!(
        "{} on {}; {} ({}) used their whole budget.",
        counted(polls, "poll"),
        counted(napi.devices.len() as u64, "device"),
        format::count(exhausted),
        format::share(exhausted, polls)
    ))
}

fn is_network(vector: &CpuVector) -> bool {
    matches!(vector.vector, "NET_RX" | "NET_TX")
}

fn blocks(napi: &Napi, input: &Input<'_>) -> Vec<Block> {
    let mut devices: Vec<&DevicePolls> = napi.devices.iter().collect();
    devices.sort_by_key(|device| std::cmp::Reverse(device.polls));
    let mut figures: Vec<Figure> = devices.iter().take(DEVICES).enumerate().map(work).collect();
    figures.extend(softirq_time(napi));
    let (network, others): (Vec<&CpuVector>, Vec<&CpuVector>) = napi.cpus.iter().partition(|vector| is_network(vector));

    let mut busiest: Vec<&CpuVector> = network
        .iter()
        .copied()
        .filter(|vector| vector.vector == "NET_RX")
        .collect();
    busiest.sort_by_key(|vector| std::cmp::Reverse(vector.runs));
    let name = |vector: &CpuVector| Text::from(format!("CPU {}", vector.cpu));
    let delays = busiest.iter().take(CURVES).map(|vector| (name(vector), &vector.wait));
    figures.extend(compared(
        "delay",
        "NET_RX: raised to started",
        Size::Half,
        delays,
        "Runs whose raise was seen. A curve further right starts later.",
    ));
    let runs = busiest.iter().take(CURVES).map(|vector| (name(vector), &vector.run));
    figures.extend(compared(
        "run",
        "NET_RX: run time",
        Size::Half,
        runs,
        "A curve further right runs longer.",
    ));
    figures.extend(waited_for(&busiest));
    let mut blocks = squeezes::strip(napi);
    blocks.push(Block::Figures(figures));
    blocks.extend(input.answers.cpus.findings().map(cpus::table));
    blocks.extend(forwarding::table(&input.answers.forwarding));
    blocks.extend((!devices.is_empty()).then(|| Block::Table(polls(&devices))));
    blocks.extend(threads(napi));
    blocks.extend((!network.is_empty()).then(|| Block::Table(vectors("Network softirqs per CPU", &network))));
    if !others.is_empty() {
        let table = Block::Table(vectors("", &others));
        blocks.push(Block::Details {
            summary: "The other softirqs".into(),
            blocks: vec![table],
        });
    }
    blocks.push(Block::Code(vec![
        "netmortem show polls INPUT --format csv".into(),
        "netmortem show softirqs INPUT --format csv".into(),
    ]));
    blocks
}

fn work((at, device): (usize, &&DevicePolls)) -> Figure {
    let bins = device.work.iter().map(|(work, polls)| Bin {
        lo: i64::from(*work),
        hi: i64::from(*work) + 1,
        count: *polls,
    });
    let plot = Distribution {
        label: "packets received in one poll".into(),
        unit: Unit::Count,
        division: Division::Linear,
        counted: "polls".into(),
        bins: bins.collect(),
        ecdf: Vec::new(),
        marks: Vec::new(),
        tone: Tone::nth(at),
    };
    let note = format!(
        "{} polls; {} used their whole budget, {} received nothing",
        format::count(device.polls),
        format::count(device.exhausted),
        format::count(device.without_work)
    );
    let title = Text::from(format!("Work per poll, {}", Text::name(&device.dev)));
    figure(
        format!("work-{at}"),
        ChartSpec {
            title,
            note: Some(note.into()),
            size: Size::Half,
            plot: Plot::Distribution(plot),
        },
        "",
    )
}

fn softirq_time(napi: &Napi) -> Option<Figure> {
    let mut cpus: Vec<u16> = napi
        .cpus
        .iter()
        .filter(|vector| is_network(vector))
        .map(|vector| vector.cpu)
        .collect();
    cpus.dedup();
    let time = |cpu: u16, name: &str| {
        let found = napi
            .cpus
            .iter()
            .find(|vector| vector.cpu == cpu && vector.vector == name);
        found.map_or((0.0, 0.0), |vector| (vector.run.sum_ns as f64, vector.share))
    };
    let row = |cpu: &u16| {
        let ((rx, rx_share), (tx, tx_share)) = (time(*cpu, "NET_RX"), time(*cpu, "NET_TX"));
        let shown = format!(
            "{} ({})",
            format::duration((rx + tx) as i64),
            format::percent(rx_share + tx_share)
        );
        BarRow {
            label: Text::from(format!("CPU {cpu}")),
            values: vec![rx, tx],
            shown: Some(shown.into()),
        }
    };
    let rows: Vec<BarRow> = cpus.iter().take(CPUS).map(row).collect();
    if rows.is_empty() {
        return None;
    }
    let note = (cpus.len() > CPUS).then(|| Text::from(format!("the first {CPUS} of {} CPUs", cpus.len())));
    let parts = vec![("NET_RX".into(), Tone::Blue), ("NET_TX".into(), Tone::Orange)];
    let plot = Bars {
        label: "time in the softirq".into(),
        unit: Unit::Nanoseconds,
        parts,
        rows,
    };
    let chart = ChartSpec {
        title: "Network softirq time per CPU".into(),
        note,
        size: Size::Half,
        plot: Plot::Bars(plot),
    };
    Some(figure("softirq", chart, "In brackets: the share of the recording."))
}

/// What each CPU did while its NET_RX was raised and did not run.
fn waited_for(rx: &[&CpuVector]) -> Option<Figure> {
    let all: Vec<&&CpuVector> = rx.iter().filter(|vector| !vector.waited_for.is_empty()).collect();
    let present = |part: &&str| all.iter().any(|vector| vector.waited_for.contains_key(part));
    let parts: Vec<&str> = PARTS.iter().map(|(part, _)| *part).filter(present).collect();
    let row = |vector: &&&CpuVector| BarRow {
        label: Text::from(format!("CPU {}", vector.cpu)),
        values: parts
            .iter()
            .map(|part| vector.waited_for.get(part).copied().unwrap_or(0).max(0) as f64)
            .collect(),
        shown: None,
    };
    let rows: Vec<BarRow> = all.iter().take(CPUS).map(row).collect();
    if rows.is_empty() {
        return None;
    }
    let tones = parts.iter().map(|part| {
        let tone = PARTS.iter().find(|(other, _)| other == part);
        (Text::from(words(part)), tone.map_or(Tone::Grey, |(_, tone)| *tone))
    });
    let plot = Bars {
        label: "summed delay".into(),
        unit: Unit::Nanoseconds,
        parts: tones.collect(),
        rows,
    };
    let said: Vec<String> = parts
        .iter()
        .map(|part| format!("{}: {}", words(part), had_cpu(part)))
        .collect();
    let chart = ChartSpec {
        title: "What delayed NET_RX".into(),
        note: (all.len() > CPUS).then(|| Text::from(format!("{CPUS} of {} CPUs, most runs first", all.len()))),
        size: Size::Half,
        plot: Plot::Bars(plot),
    };
    let caption = format!("What the CPU did from the raise to the start. {}.", said.join("; "));
    Some(figure("waited-for", chart, &caption))
}

fn polls(devices: &[&DevicePolls]) -> Table {
    let row = |device: &&DevicePolls| {
        let time = |ns| Cell::known(ns, Cell::Ns);
        vec![
            name_cell(&device.dev),
            Cell::Count(device.polls),
            Cell::Count(device.packets),
            Cell::Count(device.exhausted),
            Cell::Count(device.without_work),
            time(device.duration.p50_ns),
            time(device.duration.p99_ns),
            time(device.duration.max_ns),
            id_cell(device.longest),
            Cell::Count(device.duration.unknown),
        ]
    };
    Table {
        caption: "Polls per device".into(),
        columns: vec![
            Column::text("device"),
            Column::number("polls"),
            Column::number("packets"),
            Column::number("whole budget"),
            Column::number("no packet"),
            Column::time("length p50"),
            Column::time("p99"),
            Column::time("max"),
            Column::text("the longest"),
            Column::number("length unknown"),
        ],
        rows: devices.iter().take(ROWS).map(row).collect(),
        note: Some(
            truncation(
                devices.len().min(ROWS),
                devices.len(),
                "most polls first",
                "show polls INPUT",
            )
            .unwrap_or_else(|| {
                "napi_poll marks the end of a poll; its start is inferred. (no_device) is the per-CPU backlog.".into()
            }),
        ),
    }
}

/// NAPI threads, when there are any.
fn threads(napi: &Napi) -> Option<Block> {
    let row = |thread: &NapiThread| {
        let time = |ns| Cell::known(ns, Cell::Ns);
        let behind = thread.behind.first().map(|(who, share)| match who.as_str() {
            IDLE => format!("nobody {}", format::percent(*share)),
            who => format!("{} {}", Text::name(who), format::percent(*share)),
        });
        vec![
            name_cell(&thread.task),
            name_cell(&thread.dev),
            Cell::Count(thread.polls),
            time(thread.wait.p50_ns),
            time(thread.wait.p99_ns),
            time(thread.wait.max_ns),
            id_cell(thread.worst),
            Cell::Count(thread.wait.unknown),
            Cell::known(behind, |who| Cell::Text(who.into())),
        ]
    };
    let table = Table {
        caption: "NAPI threads: woken to running".into(),
        columns: vec![
            Column::text("thread"),
            Column::text("device"),
            Column::number("polls"),
            Column::time("waited p50"),
            Column::time("p99"),
            Column::time("max"),
            Column::text("the longest"),
            Column::number("not known"),
            Column::text("mostly behind"),
        ],
        rows: napi.threads.iter().take(ROWS).map(row).collect(),
        note: truncation(
            napi.threads.len().min(ROWS),
            napi.threads.len(),
            "the longest wait first",
            "show polls INPUT",
        ),
    };
    (!napi.threads.is_empty()).then_some(Block::Table(table))
}

fn vectors(caption: &str, vectors: &[&CpuVector]) -> Table {
    let row = |vector: &&CpuVector| {
        let time = |ns| Cell::known(ns, Cell::Ns);
        let runners: Vec<String> = vector
            .runners
            .iter()
            .map(|(runner, n)| format!("{} {}", words(runner), format::count(*n)))
            .collect();
        vec![
            Cell::Count(u64::from(vector.cpu)),
            Cell::Text(vector.vector.into()),
            Cell::Count(vector.runs),
            Cell::Fraction(vector.share),
            time(vector.run.p50_ns),
            time(vector.run.p99_ns),
            time(vector.run.max_ns),
            time(vector.wait.p50_ns),
            time(vector.wait.p99_ns),
            time(vector.wait.max_ns),
            id_cell(vector.worst),
            Cell::Text(runners.join(", ").into()),
        ]
    };
    Table {
        caption: caption.into(),
        columns: vec![
            Column::number("CPU"),
            Column::text("softirq"),
            Column::number("runs"),
            Column::number("share of the CPU"),
            Column::time("run p50"),
            Column::time("p99"),
            Column::time("max"),
            Column::time("delay p50"),
            Column::time("p99"),
            Column::time("max"),
            Column::text("longest delay, else run"),
            Column::text("run by"),
        ],
        rows: vectors.iter().take(ROWS).map(row).collect(),
        note: truncation(
            vectors.len().min(ROWS),
            vectors.len(),
            "in order of CPU",
            "show softirqs INPUT",
        ),
    }
}

#[cfg(test)]
mod tests;
